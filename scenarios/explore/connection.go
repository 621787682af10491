package explore

import (
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/network"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// conn is the network of one connection: commands, replies and messages arrive when
// the run lets them.
type conn struct {
	*network.Conn
	control *controller
	client  *client

	channels []string // that it listens to
	heard    int      // messages that have arrived or got lost
}

// carry connects the explorer's end of a connection.
func (c *controller) carry(k *network.Conn) network.Carrier {
	for _, client := range c.clients {
		if client.Endpoint == k.Client {
			return &conn{Conn: k, control: c, client: client}
		}
	}
	panic("explore: a connection of no client")
}

func (k *conn) Refuse(args []string) string {
	if k.control.unknown(args[0], args[1:]) {
		return "-ERR unknown to the explorer\r\n"
	}
	return ""
}

// busy is an error that any command may be answered with, and then it has done nothing.
const busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."

func (k *conn) Command(args []string) bool {
	c, n := k.client, k.Port.Index
	command := strings.ToUpper(args[0])
	sent := time.Now()
	// A script that the node does not know is sent again with its source: that
	// is one step, as it is when the node knows it.
	p := &flight{kind: aRequest, conn: k, args: args}
	if !c.cold[n] || command != "EVAL" {
		c.arrivals.Add(1)
		c.commands.Add(1)
		if !k.hold(p, sent) {
			return false
		}
	}
	if k.control.flooded.Load() {
		if k.control.world.Over() {
			return k.Write("-ERR the run is over\r\n")
		}
		k.Names.Learn(args) // the walk begins with scripts that the nodes know
		return k.Write(k.Server.Execute(args))
	}
	// A request that has left its client arrives even when that has died. Time stands still
	// while commands are sent, so a grant that this one makes began only now.
	owned := c.owns(n, c.name)
	p.describe()
	reply := "-" + busy + "\r\n"
	if !p.fail {
		reply = k.Execute(network.Exchange{Args: args, Text: p.text, Sent: sent,
			Began: time.Now(), Ask: k.ask})
		k.subscribes(command, args[1:])
	}
	c.asked |= 1 << n
	if owned {
		c.owned |= 1 << n
		if !c.owns(n, c.name) {
			c.freed |= 1 << n
		}
	}
	c.seen[n] = k.control.version(n)
	c.cold[n] = command == "EVALSHA" && strings.HasPrefix(reply, "-NOSCRIPT")
	if c.cold[n] {
		return k.Write(reply)
	}
	if k.Gone() {
		return false
	}
	f := &flight{kind: aReply, args: args, raw: reply, after: k.published(),
		text: p.text, exact: p.exact}
	return k.hold(f, sent) && !f.lose && k.Write(reply)
}

// ask lets the node execute a command, see node.Scripts: scripts cost the most time.
func (k *conn) ask(args []string) string {
	c := k.control
	return c.scripts.Execute(k.Port.Node.(*node.Embedded), c.world.Now(), args, k.Server.Execute)
}

func (k *conn) Answer(reply string) bool { return k.Write(reply) }

func (k *conn) Message(message node.Pushed, text string) bool {
	f := &flight{kind: aMessage, text: text, exact: k.control.frame(message.Frame)}
	if !k.hold(f, time.Now()) || k.client.Dead() {
		return false
	}
	k.heard++
	switch {
	case f.lose:
		k.Close()
		return false
	case f.drop, k.Gone():
		return true
	}
	k.Log.Add(&history.Entry{Client: k.client.Name, Node: k.Port.Index, Text: text})
	return k.Write(message.Frame)
}

// published is how many messages the node has sent on the connection.
func (k *conn) published() int { return k.Server.(node.Queue).Published() }

// subscribes keeps the channels that the connection listens to after a command.
func (k *conn) subscribes(command string, channels []string) {
	switch command {
	case "SUBSCRIBE", "PSUBSCRIBE":
		for _, channel := range channels {
			if !slices.Contains(k.channels, channel) {
				k.channels = append(k.channels, channel)
			}
		}
	case "UNSUBSCRIBE", "PUNSUBSCRIBE":
		k.channels = slices.DeleteFunc(k.channels, func(channel string) bool {
			return len(channels) == 0 || slices.Contains(channels, channel)
		})
	}
}

// hold waits until the run lets something pass that was sent at a time.
func (k *conn) hold(p *flight, sent time.Time) bool {
	p.conn, p.sent, p.act = k, sent, k.client.acts.Load()
	return k.control.hold(p)
}

// listens says whether a client has subscribed to something.
func (c *controller) listens(of *client) bool {
	return slices.ContainsFunc(c.conns(), func(k *conn) bool {
		return k.client == of && len(k.channels) > 0
	})
}

// conns are the open connections.
func (c *controller) conns() (all []*conn) {
	for n := range c.world.Nodes {
		for _, open := range c.world.Node(n).Port().Conns() {
			all = append(all, open.Carrier.(*conn))
		}
	}
	return all
}
