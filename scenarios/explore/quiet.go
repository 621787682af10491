package explore

import (
	"slices"
)

// busy says whether anything of the process is on its way.
func (r *run) busy(c *client) bool {
	return slices.ContainsFunc(r.flights, func(f *flight) bool {
		return f.conn.client == c
	})
}

// unsure is a process of which it matters whether it does anything more by itself,
// when that is not known: its programs are done, or one of them waits for what
// only a timer can bring. It is nil when there is none.
func (r *run) unsure() *client {
	var waits []*player
	for _, p := range r.clients {
		if _, known := r.finished[r.moment(p)]; known || p.Dead() || r.busy(p) {
			continue
		}
		if p.isDone() {
			return p
		}
		if waits == nil {
			waits = r.waitForTimers()
		}
		if slices.ContainsFunc(waits, func(w *player) bool {
			return w.client == p
		}) {
			return p
		}
	}
	return nil
}

// finish finds that out. It ends the run.
func (r *run) finish(p *client) {
	m := r.moment(p)
	r.finished[m] = r.control.silent(p)
}

// isThrough says whether a client's programs are done, and it does nothing more. While it
// still listens to a channel, a message may wake it.
func (r *run) isThrough(p *client) bool {
	return p.isDone() && r.finished[r.moment(p)] && !r.busy(p) &&
		!r.control.listens(p)
}
