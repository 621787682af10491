package node

import "sync"

// inbox has the messages that have come on a connection, until they are taken.
type inbox struct {
	arrived chan struct{}

	mu       sync.Mutex
	messages []Pushed
}

func newInbox() inbox { return inbox{arrived: make(chan struct{}, 1)} }

func (i *inbox) put(message Pushed) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.messages = append(i.messages, message)
	select {
	case i.arrived <- struct{}{}:
	default:
	}
}

func (i *inbox) News() <-chan struct{} { return i.arrived }

func (i *inbox) Message() Pushed {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.messages) == 0 {
		return Pushed{}
	}
	message := i.messages[0]
	i.messages = i.messages[1:]
	return message
}
