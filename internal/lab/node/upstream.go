package node

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// upstream is a connection to a real server.
type upstream struct {
	conn    net.Conn
	replies chan string
	inbox
}

// read tells replies and messages apart until the connection ends. The first
// reply may be that to AUTH. Nobody waits for it: a stopped server would let the
// client hang. A refusal is the reply to all that follows.
func (u *upstream) read(auth bool) {
	defer close(u.replies)
	r := bufio.NewReader(u.conn)
	var refusal string
	for {
		frame, err := readReply(r)
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
		u.put(Pushed{Frame: frame})
	}
}

// readReply reads a reply as it is. Miniredis's own reader doesn't know all kinds of
// RESP3, see redis.io/docs/latest/develop/reference/protocol-spec: a driver that asks
// for INFO gets a verbatim string.
func readReply(r *bufio.Reader) (string, error) {
	reply, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(reply[1:])) // -1 is nothing
	switch reply[0] {
	case '+', '-', ':', ',', '_', '(', '#':
		return reply, nil
	case '$', '=', '!':
		if n < 0 {
			return reply, nil
		}
		b := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(r, b)
		return reply + string(b), err
	case '*', '>', '~':
	case '%':
		n *= 2
	case '|': // attributes, and what they belong to
		n = 2*n + 1
	default:
		return "", fmt.Errorf("not a reply of Redis: %q", reply)
	}
	for range n {
		part, err := readReply(r)
		if err != nil {
			return "", err
		}
		reply += part
	}
	return reply, nil
}

// silence is how long a server may take for a reply. The world stands still
// meanwhile, so one that takes longer is cut off.
const silence = 10 * time.Second

func (u *upstream) Execute(args []string) string {
	if proto.Write(u.conn, args) != nil {
		return ""
	}
	frames := 1
	if strings.Contains(strings.ToUpper(args[0]), "SUBSCRIBE") {
		frames = max(len(args)-1, 1) // a reply for each channel
	}
	var reply strings.Builder
	late := time.NewTimer(silence)
	defer late.Stop()
	for range frames {
		select {
		case frame, ok := <-u.replies:
			if !ok {
				return ""
			}
			reply.WriteString(frame)
		case <-late.C:
			u.conn.Close()
			return ""
		}
	}
	return reply.String()
}

func (u *upstream) Close() { u.conn.Close() }
