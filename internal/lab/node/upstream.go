package node

import (
	"bufio"
	"cmp"
	"net"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/proto"
)

// upstream is a connection to a real server.
type upstream struct {
	conn    net.Conn
	replies chan string
	arrived chan struct{}

	mu       sync.Mutex
	messages []string
}

// read tells replies and messages apart until the connection ends. The first
// reply may be that to AUTH. Nobody waits for it: a stopped server would let the
// client hang. A refusal is the reply to all that follows.
func (u *upstream) read(auth bool) {
	defer close(u.replies)
	r := bufio.NewReader(u.conn)
	var refusal string
	for {
		frame, err := proto.Read(r)
		if err != nil {
			return
		}
		if auth {
			auth = false
			if !strings.HasPrefix(frame, "+OK") {
				refusal = frame
			}
			continue
		}
		if !isMessage(frame) {
			u.replies <- cmp.Or(refusal, frame)
			continue
		}
		u.mu.Lock()
		u.messages = append(u.messages, frame)
		u.mu.Unlock()
		select {
		case u.arrived <- struct{}{}:
		default:
		}
	}
}

// Execute is Conn's.
func (u *upstream) Execute(args []string) string {
	if proto.Write(u.conn, args) != nil {
		return ""
	}
	frames := 1
	if strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") {
		frames = max(len(args)-1, 1) // a reply for each channel
	}
	var reply strings.Builder
	for range frames {
		frame, ok := <-u.replies
		if !ok {
			return ""
		}
		reply.WriteString(frame)
	}
	return reply.String()
}

// Subscribe does nothing: messages are told from replies.
func (u *upstream) Subscribe() {}

// News is Conn's.
func (u *upstream) News() <-chan struct{} { return u.arrived }

// Close is Conn's.
func (u *upstream) Close() { u.conn.Close() }

// Message is Conn's.
func (u *upstream) Message() Pushed {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.messages) == 0 {
		return Pushed{}
	}
	message := u.messages[0]
	u.messages = u.messages[1:]
	return Pushed{Frame: message}
}
