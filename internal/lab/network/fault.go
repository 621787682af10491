package network

import "time"

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
