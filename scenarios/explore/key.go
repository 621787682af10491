package explore

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
)

// key is the key of the state that the run is in.
func (r *run) key() stateKey {
	k := make(stateKey, 1+len(r.clients))
	for i := range k {
		k[i] = r.part(i)
	}
	return k
}

// part is the i-th part of the key.
func (r *run) part(i int) part {
	if i == 0 {
		return r.rest()
	}
	return r.client(i - 1)
}

// rest stands for what is no client's: the nodes, the storage, who believes to hold the
// lock, the clock, and what the adversary has done.
func (r *run) rest() part {
	b := r.control.snapshot(make([]byte, 0, 1024))
	b = r.forgottenListeners(b)
	b = append(b, r.storage.Snapshot()...)
	for _, used := range r.used.adversary() {
		b = strconv.AppendInt(append(b, ' '), int64(*used.n), 10)
	}
	b = strconv.AppendBool(b, r.dropped)
	b = strconv.AppendBool(b, r.expired)
	b = strconv.AppendBool(b, r.mustMove)
	return sha256.Sum256(b)
}

// client stands for a client: the facts known about it, its messages on their way, and
// its process, whose next steps follow from the answers it got, and when.
func (r *run) client(i int) part {
	p := r.clients[i]
	b := p.snapshot(make([]byte, 0, 1024), r.flights)
	if p.Dead() {
		b = append(b, "\ndead"...)
	} else if r.isThrough(p) {
		b = append(b, "\ndone"...)
	} else {
		b = append(append(b, '\n'), p.history[:]...)
	}
	b = strconv.AppendBool(b, p.refused)
	for _, p := range p.players {
		if !p.Dead() {
			b = strconv.AppendBool(b, p.waiting)
		}
		if a := p.access; a != nil {
			b = fmt.Appendf(b, " %t %d %d %d %d", a.write, a.holding.Number,
				a.token, a.value, a.version)
		}
		if p.parked != nil {
			b = fmt.Appendf(b, " %v", *p.parked)
		}
	}
	return sha256.Sum256(b)
}

// forgottenListeners appends which channels those clients listen to whose part of the key
// doesn't have the answers from which that follows.
func (r *run) forgottenListeners(b []byte) []byte {
	var lines []string
	for _, k := range r.control.listeners() {
		if !k.client.Dead() && !r.isThrough(k.client) {
			continue
		}
		for _, channel := range k.channels {
			lines = append(lines, fmt.Sprintf("%d %s hears %s\n", k.Port.Index,
				k.client.Name, r.control.alias(channel)))
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		b = append(b, line...)
	}
	return b
}
