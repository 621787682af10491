package bench

import (
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
)

// Measurement is what one round of a row has measured, and how.
type Measurement struct {
	Counts
	Subject      Subject
	Nodes        int // Redis servers that the lock was on
	Clients      int // that ran at the same time
	TableClients int // that the other rows of the table have
	Stock        int
	Turns        int           // of all clients together
	Services     int           // processes that the clients lived in
	Limit        time.Duration // ends the round
	Loop         time.Duration // every client took turns for so long; 0: so many turns
	Poll         time.Duration // the longest pause of a refused client
	FixedPoll    bool          // every pause was as long
	Unlocked     bool          // no client is ever inside a critical section
	Usage        nodes.Usage

	// What it is compared with, in the same run or, with several rounds, in the same
	// round: the acquisitions a second of the serial limit, nil when not measured,
	// and in a closed loop of several rounds its sections.
	Serial         *float64
	SerialSections []Stamp
}

// Finished says that no client was cut off. Those of a closed loop always are: by its
// end.
func (m *Measurement) Finished() bool {
	if m.Loop > 0 {
		return m.Absent == 0 && m.Took >= m.Loop
	}
	return m.Absent == 0 && m.Cut == 0
}

// PerSecond are the acquisitions a second.
func (m *Measurement) PerSecond() *float64 {
	if m.Took <= 0 {
		return nil
	}
	return new(Rounded(float64(m.Sections)/m.Took.Seconds(), 3))
}

// sent is so many of what clients sent, for each section. What other programs send,
// and what other drivers do, nobody counts.
func (m *Measurement) sent(n int64) *float64 {
	if m.Subject.Nodes == 0 || m.Subject.Sell != nil {
		return nil
	}
	return Per(n, m.Sections)
}

// cpu is processor time of a section in microseconds, nil on embedded servers.
func (m *Measurement) cpu(of time.Duration) *float64 {
	if !m.Usage.Known || m.Usage.CPU <= 0 {
		return nil
	}
	return Per(of.Microseconds(), m.Sections)
}

// calls is what the servers executed for each section, by their own word: also
// publish/subscribe, and the calls inside scripts.
func (m *Measurement) calls() *float64 {
	if !m.Usage.Known || m.Subject.Nodes == 0 {
		return nil
	}
	return Per(m.Usage.Calls, m.Sections)
}

// loop is how long every client took turns, nil when each had a number of them.
func (m *Measurement) loop() *float64 {
	if m.Loop == 0 {
		return nil
	}
	return new(m.Loop.Seconds())
}

// inside is how many clients were inside the critical section at one time, at most.
func (m *Measurement) inside() *int64 {
	if m.Unlocked {
		return nil
	}
	return &m.Most
}

// longestWait may have been cut off, and is at most as long as the round then.
func (m *Measurement) longestWait() *float64 {
	granted := percentile(m.Stamps, 100)
	if granted == nil {
		return nil
	}
	return new(max(*granted, Milliseconds(min(time.Duration(m.Waiting), m.Limit))))
}

func (m *Measurement) firstFailure() *string {
	if m.First == "" {
		return nil
	}
	return &m.First
}

// retries are the attempts that were refused, nil when none was seen.
func (m *Measurement) retries() *int64 {
	if m.Asked == 0 {
		return nil
	}
	return &m.Refused
}

// stuck are the clients that the end of the round cut off.
func (m *Measurement) stuck() int {
	if m.Loop > 0 {
		return 0
	}
	return m.Cut
}

// ratio compares the acquisitions a second with those of the serial limit.
func (m *Measurement) ratio() *float64 {
	own := m.PerSecond()
	if own == nil || m.Serial == nil || *m.Serial == 0 {
		return nil
	}
	return new(Rounded(*own / *m.Serial, 4))
}

// unevenness tells what of the longest wait is the machine's. It is of the serial
// limit, where nobody queues: the longest time of as many sections as take the median
// wait, in units of their median time.
func (m *Measurement) unevenness() *float64 {
	p50 := percentile(m.Stamps, 50)
	if p50 == nil {
		return nil
	}
	return unevenness(m.SerialSections,
		time.Duration(*p50*float64(time.Millisecond)))
}

// jain is Jain's index over the sections of each client.
func (m *Measurement) jain() *float64 {
	if m.Absent > 0 {
		return nil
	}
	return jain(m.Served)
}
