package bench

import (
	"time"
)

// Measurement is what one round of a row has measured, and how.
type Measurement struct {
	Counts
	Settings // its Poll is the longest pause of a refused client
	Subject  Subject
	Nodes    int  // Redis servers that the lock was on
	Turns    int  // of all clients together
	Services int  // processes that the clients lived in
	Unlocked bool // no client is ever inside a critical section

	// What it is compared with, in the same run or, with several rounds, in the same
	// round: the acquisitions a second of the serial limit, nil when not measured,
	// and in a closed loop of several rounds its sections.
	Serial         *float64
	SerialSections []Stamp
}

// clients is how many of them ran at the same time.
func (m *Measurement) clients() int {
	if isSerialLimit(m.Subject) {
		return 1
	}
	return m.Clients
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
func (m *Measurement) sent(n int64) any {
	return when(m.Subject.Nodes > 0 && m.Subject.Sell == nil, Per(n, m.Sections))
}

// cpu is processor time of a section in microseconds, nil on embedded servers.
func (m *Measurement) cpu(of time.Duration) any {
	return when(m.Usage.Known && m.Usage.CPU > 0, Per(of.Microseconds(), m.Sections))
}

// longestWait may have been cut off, and is at most as long as the round then.
func (m *Measurement) longestWait() *float64 {
	granted := waits(m.Stamps).at(100)
	if granted == nil {
		return nil
	}
	return new(max(*granted, Milliseconds(min(time.Duration(m.Waiting), m.limit()))))
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
	p50 := waits(m.Stamps).at(50)
	if p50 == nil {
		return nil
	}
	return unevenness(m.SerialSections,
		time.Duration(*p50*float64(time.Millisecond)))
}
