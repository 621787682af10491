package protocol

import "time"

// Impatient waits for programs no longer than a test likes to.
func Impatient() {
	patient = patience{hello: 3 * time.Second, unanswered: time.Second,
		tried: time.Second, ends: 3 * time.Second}
}

// PID is the process of the system that stands for a process of a scenario.
func PID(p *Program, of any) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.processes[of].cmd.Process.Pid
}
