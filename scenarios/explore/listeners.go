package explore

import (
	"fmt"
	"slices"
)

// subscribes keeps the channels that the connection listens to after a command.
func (k *conn) subscribes(command string, channels []string) {
	switch command {
	case "SUBSCRIBE", "PSUBSCRIBE":
		for _, channel := range channels {
			if !slices.Contains(k.channels, channel) {
				k.channels = append(k.channels, channel)
			}
		}
		k.control.mu.Lock()
		defer k.control.mu.Unlock()
		if !slices.Contains(k.control.subscribers, k) {
			k.control.subscribers = append(k.control.subscribers, k)
		}
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		k.channels = slices.DeleteFunc(k.channels, func(channel string) bool {
			return len(channels) == 0 || slices.Contains(channels, channel)
		})
	}
}

// listeners are the open connections that have subscribed to something. The others are
// forgotten.
func (c *controller) listeners() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = slices.DeleteFunc(c.subscribers, func(k *conn) bool {
		return !k.Port.Has(k.Conn)
	})
	return c.subscribers
}

// listens says whether a client has subscribed to something.
func (c *controller) listens(of *client) bool {
	return slices.ContainsFunc(c.listeners(), func(k *conn) bool {
		return k.client == of && len(k.channels) > 0
	})
}

// receivers is how many receivers the nodes' channels have: PUBLISH replies with their
// number.
func (c *controller) receivers() (n int) {
	for _, k := range c.listeners() {
		n += len(k.channels)
	}
	return n
}

// hears keeps the number of receivers, and whether it has changed. A connection that ends
// changes it, whatever has ended it.
func (r *run) hears() {
	now := r.control.receivers()
	if now != r.receivers {
		r.touched.writes |= listening
	}
	r.receivers = now
}

// forgottenListeners appends which channels those clients listen to whose part of the key
// doesn't have the answers from which that follows.
func (r *run) forgottenListeners(b []byte, e *exchange) []byte {
	var lines []string
	for _, k := range r.control.listeners() {
		if !k.client.Dead() && !r.isThrough(r.index(k.client)) {
			continue
		}
		for _, channel := range k.channels {
			lines = append(lines, e.text(fmt.Sprintf("%d %s hears %s\n", k.Port.Index,
				k.client.Name, r.control.alias(channel))))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		b = append(b, line...)
	}
	return b
}
