package network

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// Conn is the server's end of a connection, and the network in between. It reads
// what the client sends as soon as it is sent: a client that waits for its own
// bytes to leave may hold a mutex of its driver.
type Conn struct {
	*Net
	Client  *Endpoint
	Port    *Port
	Server  node.Conn
	Carrier Carrier

	far      net.Conn
	commands chan []string
	writing  chan struct{} // holds one element while somebody writes
	pushing  bool          // the goroutine for messages runs
	ended    chan struct{} // the server has closed the connection
	end      func()
	severed  atomic.Bool // the network or the server cut it, not the client
	gone     atomic.Bool // the client has closed it
}

// Close cuts the connection.
func (k *Conn) Close() {
	k.severed.Store(true)
	k.end()
	k.far.Close()
}

// Gone says whether the client has closed the connection.
func (k *Conn) Gone() bool { return k.gone.Load() }

func (k *Conn) read() {
	defer close(k.commands)
	r := bufio.NewReaderSize(k.far, 512)
	for {
		args, err := readCommand(r)
		if err != nil {
			k.gone.Store(true)
			return
		}
		select {
		case k.commands <- args:
		case <-k.ended:
			return
		}
	}
}

// turn waits for the client's turn, not before due. It is false when the world has
// ended or the client is dead.
func (k *Conn) turn(due time.Time, text string) bool {
	return k.Order.Wait(order.Turn{Due: due, Client: k.Client.Name,
		Node: k.Port.Index, Text: text}) && !k.Client.dead.Load()
}

// readCommand reads a request: an array of bulk strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(line[1:])))
	if line[0] != kind || err != nil || n < 0 || kind == '*' && n == 0 {
		return 0, fmt.Errorf("not a Redis request: %q", line)
	}
	return n, nil
}

func (k *Conn) serve() {
	for args := range k.commands {
		if !k.handle(args) {
			break
		}
	}
	k.Port.conns.Delete(k)
	k.end()
	k.far.Close()
	k.Server.Close()
}

// handle takes one command to the server and its reply back. It is false when
// the connection is over. The driver's own commands neither wait for their turn
// nor are recorded.
func (k *Conn) handle(args []string) bool {
	// The driver subscribes anew in the order of a map. A run must be the same
	// each time, and the order of channels means nothing.
	if strings.HasSuffix(strings.ToUpper(args[0]), "SUBSCRIBE") {
		slices.Sort(args[1:])
	}
	if reply := k.Carrier.Refuse(args); reply != "" {
		return k.Write(reply)
	}
	if node.Tracks(args) {
		k.listen()
	}
	if node.OfDriver(args[0]) {
		k.Order.Busy()
		reply := k.Server.Execute(args)
		return reply != "" && k.Carrier.Answer(reply)
	}
	return k.Carrier.Command(args)
}

// Exchange is a command that is executed.
type Exchange struct {
	Args  []string
	Text  string    // as a person writes it
	Sent  time.Time // by the client
	Began time.Time // see history.Command
	Nth   int       // which of the client's it is, see history.Entry
	Fault Fault     // what happens to the reply

	// Ask executes it; nil lets the server do so.
	Ask func(args []string) (reply string)
}

// Execute lets the server execute a command and records it, with what it did to
// the lock. It returns no reply when the server is gone.
func (k *Conn) Execute(x Exchange) string {
	c, log, server := k.Client, k.Log, k.Port.Node
	before := make([]history.State, len(log.Keys))
	for i, key := range log.Keys {
		before[i] = server.Observe(key)
	}
	if strings.Contains(strings.ToUpper(x.Args[0]), "SUBSCRIBE") && !k.pushing {
		k.listen()
	}
	ask := x.Ask
	if ask == nil {
		ask = k.Server.Execute
	}
	asked := time.Now()
	reply := ask(x.Args)
	if reply == "" {
		return ""
	}
	for i, key := range slices.Backward(log.Keys) { // a reading that is over ends before a new grant
		after := server.Observe(key)
		altered := before[i].Altered(after)
		if altered {
			c.decides()
		}
		if altered && i == 0 {
			log.Leased[k.Port.Index] = history.Span{From: asked, To: time.Now()}
		}
		log.Executed(history.Command{Client: c.Name, Text: x.Text, Sent: x.Sent,
			Began: x.Began, Late: c.late(x.Sent)},
			history.Place{Node: k.Port.Index, Key: key}, before[i], after)
	}
	k.Names.Learn(x.Args)
	e := &history.Entry{Client: c.Name, Node: k.Port.Index, Text: x.Text,
		Reply: k.Names.Reply(c.Name, reply), Command: strings.ToUpper(x.Args[0]) +
			strings.TrimPrefix(strings.Join(x.Args, " "), x.Args[0]),
		Sent: log.Of(x.Sent), Line: c.Line(x.Args), Nth: x.Nth}
	c.records(e, x.Fault, x.Sent)
	return reply
}

// listen starts the goroutine that takes messages to the client.
func (k *Conn) listen() {
	if !k.pushing {
		k.pushing = true
		go k.push()
	}
}

// push takes messages to a subscriber.
func (k *Conn) push() {
	for over := false; !over; {
		select {
		case <-k.Server.News():
		case <-k.ended:
			// A message that was published before the end takes its turn all the same:
			// which of the two comes first here is chance.
			over = true
		}
		for {
			message := k.Server.Message()
			if message.Frame == "" {
				break
			}
			text := k.Names.Reply(k.Client.Name,
				strings.TrimPrefix(message.Frame, node.Invalidation))
			if !strings.HasPrefix(text, "message ") {
				text = "message " + text
			}
			if !k.Carrier.Message(message, text) {
				return
			}
		}
	}
}

// Write sends a reply or a message to the client. It is false when the connection
// is over.
func (k *Conn) Write(frame string) bool {
	select {
	case k.writing <- struct{}{}:
	case <-k.ended:
		return false
	}
	defer func() { <-k.writing }()
	_, err := io.WriteString(k.far, frame)
	return err == nil
}

// Crash ends the process: it sends nothing more, ever.
func (c *Endpoint) Crash() {
	if c.Kill() {
		c.net.Log.Leave(c.Name, "")
		c.net.Log.Note(c.Name, "dies")
	}
}

// Kill is Crash without a word. It is false when the process was dead.
func (c *Endpoint) Kill() bool {
	if c.dead.Swap(true) {
		return false
	}
	if c.End != nil {
		c.End()
	}
	for _, p := range c.net.Ports {
		for _, k := range p.Conns() {
			if k.Client == c {
				k.Close()
			}
		}
	}
	return true
}
