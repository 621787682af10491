package network

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/lab/node"
)

// faulty is the network with its latency and its faults.
type faulty struct {
	*Conn
	answers chan answer  // late replies; nil until there is one
	late    atomic.Int32 // how many have not arrived
}

// Refuse is Carrier's: everything may reach the server.
func (k *faulty) Refuse([]string) string { return "" }

func (k *faulty) Command(args []string) bool {
	c, p := k.Client, k.Port
	text := k.Names.Command(c.Name, args)
	sent := time.Now()
	if !k.turn(sent.Add(c.latency()), text) {
		return false
	}
	k.Real.Take()
	fault, nth, _ := c.fate()
	sends := c.sends(p, fault, nth, text)
	k.Real.Give()
	if !sends {
		return false
	}
	if fault.Deliver > 0 {
		c.hold(fault)
	}
	delayed := fault.Deliver > 0 || c.Far > 0
	for {
		due := k.Log.Moment(fault.Deliver)
		if held := c.held(); held.After(due) {
			due = held
		}
		if !time.Now().Before(due) {
			break
		}
		delayed = true
		if !k.turn(due, text) {
			return false
		}
	}
	if k.severed.Load() {
		return false
	}
	k.Real.Take()
	if p.Silent.Load() || fault.Hang {
		c.says(p, nth, text, "no answer")
		k.Real.Give()
		<-k.ended
		return false
	}
	exchange := Exchange{Args: args, Text: text, Sent: sent, Began: sent, Nth: nth,
		Fault: fault}
	// Redis executes these while it is full, busy or loading.
	queues := []string{"WATCH", "UNWATCH", "MULTI"}
	if fault.Error != "" && !slices.Contains(queues, strings.ToUpper(args[0])) {
		exchange.Ask = func(args []string) string {
			// The transaction is lost: EXEC refuses one with a command that lacks its arguments.
			k.Server.Execute([]string{"GET"})
			if strings.EqualFold(args[0], "EXEC") {
				k.Server.Execute(args)
			}
			return "-" + fault.Error + "\r\n"
		}
	}
	reply := k.Execute(exchange)
	if fault.CrashAfter {
		c.Crash()
	}
	if !delayed && reply != "" {
		k.Real.Took(time.Since(sent))
	}
	k.Real.Give()
	if fault.CrashAfter || fault.LoseReply || reply == "" {
		return false
	}
	return k.answer(answer{reply, text, sent, time.Now(), fault})
}

// answer is a reply on its way back.
type answer struct {
	frame string
	text  string // of the command
	sent  time.Time
	given time.Time // when the server gave it
	fault Fault
}

// answer takes a reply back. A late one keeps the later ones of its connection
// waiting, but not the commands: a driver may send them without waiting.
func (k *faulty) answer(a answer) bool {
	if k.late.Load() == 0 && !time.Now().Before(k.due(a)) {
		return k.Write(a.frame)
	}
	if k.answers == nil {
		k.answers = make(chan answer, cap(k.commands))
		go k.deliver()
	}
	k.late.Add(1)
	k.answers <- a
	return true
}

// Answer takes a reply back that is on its way for no time. It must not overtake
// the others: a driver that sends without waiting knows them by their order.
func (k *faulty) Answer(frame string) bool {
	if k.late.Load() == 0 {
		return k.Write(frame)
	}
	now := time.Now()
	return k.answer(answer{frame: frame, text: "handshake", sent: now,
		given: now.Add(-k.Client.latency())})
}

// due is when a reply reaches the client.
func (k *faulty) due(a answer) time.Time {
	due := k.Client.answered(a.fault, a.sent)
	if arrives := a.given.Add(k.Client.latency()); arrives.After(due) {
		due = arrives
	}
	if held := k.Client.held(); held.After(due) {
		due = held
	}
	return due
}

// deliver takes late replies back, in their order.
func (k *faulty) deliver() {
	defer k.far.Close()
	for {
		var a answer
		select {
		case a = <-k.answers:
		case <-k.ended:
			return
		}
		if a.fault.Answer > 0 {
			k.Client.hold(a.fault)
		}
		for {
			due := k.due(a)
			if !time.Now().Before(due) {
				break
			}
			if !k.turn(due, "reply to "+a.text) || k.severed.Load() {
				return
			}
		}
		if !k.Write(a.frame) {
			return
		}
		k.late.Add(-1)
	}
}

// Message is Carrier's: messages have their turns, like commands.
func (k *faulty) Message(message node.Pushed, text string) bool {
	c, p := k.Client, k.Port
	if !k.turn(message.At.Add(c.latency()), text) {
		return false
	}
	if k.Gone() {
		return true // nobody is there to hear it
	}
	if p.Muted.Load() {
		k.Real.Take()
		c.says(p, 0, text, "which is lost")
		k.Real.Give()
		return true
	}
	if held := c.held(); held.After(time.Now()) && !k.turn(held, text) {
		return false
	}
	k.Real.Take()
	k.Log.Add(&history.Entry{Client: c.Name, Node: p.Index, Text: text})
	k.Real.Give()
	return k.Write(message.Frame)
}

// Call is what a client is doing when it sends a command.
type Call string

// The calls of a lock. Outside of a call, the lock sends commands on its own
// account, which count as renewals.
const (
	Acquire Call = "acquire"
	Release Call = "release"
	Renewal Call = "renewal"
)

// Fault is what happens to one command. Times are virtual, since the beginning.
type Fault struct {
	Deliver     time.Duration // when the request reaches the node
	Answer      time.Duration // when the reply reaches the client
	AnswerAfter time.Duration // how long the reply takes, from the sending
	LoseReply   bool          // executed; the connection breaks, not a reply
	Refuse      bool          // the connection breaks before it is sent
	Hang        bool          // it is never executed, and never answered
	Error       string        // what the server answers instead of executing it
	CrashBefore bool          // the client dies instead of sending it
	CrashAfter  bool          // executed; the client dies before the reply

	// IfSent says that the scenario is the same when there is no such command.
	IfSent bool

	// Until is the event that Deliver or Answer stands for: in real time the
	// command, or the reply, is held until it has happened.
	Until func() bool
}

// happens says whether anything happens at all.
func (f Fault) happens() bool {
	return f.Deliver > 0 || f.Answer > 0 || f.AnswerAfter > 0 || f.LoseReply ||
		f.Refuse || f.Hang || f.Error != "" || f.CrashBefore || f.CrashAfter
}
