package explore

import (
	"slices"
)

// busy says whether anything of the process is on its way.
func (r *run) busy(p *process) bool {
	return slices.ContainsFunc(r.flights, func(f flight) bool {
		return f.client == p.client
	})
}

// unsure is a process of which it matters whether it does anything more by itself,
// when that is not known: its programs are done, or one of them waits for what
// only a timer can bring. It is nil when there is none.
func (r *run) unsure() *process {
	var waits []*player
	for i, p := range r.processes {
		if _, known := r.finished[r.moment(i)]; known || p.Dead() || r.busy(p) {
			continue
		}
		if p.done() {
			return p
		}
		if waits == nil {
			waits = r.waitForTimers()
		}
		if slices.ContainsFunc(waits, func(w *player) bool {
			return w.process == p
		}) {
			return p
		}
	}
	return nil
}

// finish finds that out. It ends the run.
func (r *run) finish(p *process) {
	m := r.moment(slices.Index(r.processes, p))
	r.finished[m] = r.control.silent(p.client)
}

// isThrough says whether a client's programs are done, and it does nothing more. While it
// still listens to a channel, a message may wake it.
func (r *run) isThrough(i int) bool {
	p := r.processes[i]
	return p.done() && r.finished[r.moment(i)] && !r.busy(p) &&
		!r.control.listens(p.client)
}
