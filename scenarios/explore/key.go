package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
)

// stateKey stands for the state that a run is in: two runs in states of one key go on
// in the same way. It has a part for each client, and before them one for the rest.
type stateKey []part

type part [sha256.Size]byte

// key is the key of the state that the run is in.
func (r *run) key() stateKey {
	k := make(stateKey, 1+len(r.processes))
	for i := range k {
		k[i] = r.part(i, nil)
	}
	return k
}

// part is the i-th part of the key, with clients exchanged.
func (r *run) part(i int, e *exchange) part {
	if i == 0 {
		return r.rest(e)
	}
	return r.client(i-1, e)
}

// rest stands for what is no client's: the nodes, the storage, who believes to hold the
// lock, the clock, and what the adversary has done. It is written with clients exchanged.
func (r *run) rest(e *exchange) part {
	b := r.control.snapshot(make([]byte, 0, 1024), e)
	b = r.forgottenListeners(b, e)
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
// its process, whose next steps follow from the answers it got, and when. It is written
// with clients exchanged.
func (r *run) client(i int, e *exchange) part {
	p := r.processes[i]
	b := p.snapshot(make([]byte, 0, 1024), r.flights, e)
	if p.Dead() {
		b = append(b, "\ndead"...)
	} else if r.isThrough(i) {
		b = append(b, "\ndone"...)
	} else {
		history := p.told(e)
		b = append(append(b, '\n'), history[:]...)
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

// isThrough says whether a client's programs are done, and it does nothing more. While it
// still listens to a channel, a message may wake it.
func (r *run) isThrough(i int) bool {
	p := r.processes[i]
	return p.done() && r.finished[r.moment(i)] && !r.busy(p) &&
		!r.control.listens(p.client)
}

// number gives the parts of a key their numbers, which take less room.
func (g *graph) number(key stateKey) []int32 {
	numbers := make([]int32, len(key))
	for i, p := range key {
		numbers[i] = g.numberOf(p)
	}
	return numbers
}

func (g *graph) numberOf(p part) int32 {
	n, known := g.parts[p]
	if !known {
		n = int32(len(g.parts))
		g.parts[p] = n
	}
	return n
}

// find is the state with these parts, or nil.
func (g *graph) find(parts []int32) *state {
	return g.states[string(appendParts(make([]byte, 0, 64), parts))]
}

// keep lets find find a state.
func (g *graph) keep(s *state) { g.states[string(appendParts(nil, s.parts))] = s }

func appendParts(b []byte, parts []int32) []byte {
	for _, n := range parts {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return b
}
