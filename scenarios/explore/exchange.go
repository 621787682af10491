package explore

import (
	"cmp"
	"crypto/sha256"
	"iter"
	"slices"
)

// Clients with the same program and settings differ in nothing but their names. A state
// in which such clients are exchanged goes on as the state itself does, with its clients
// exchanged. So one of the two is walked, and the other one is known from it. This is
// called symmetry reduction, and an exchange is a permutation of the clients.
//
// A lock may see a difference all the same: when it compares the names in its tokens, or
// when it pauses for times that it draws from a seed, which each client has for itself. So
// one in so many edges that would be known is taken too. If it leads elsewhere, or if a run
// doesn't come to the state that it is to come to, the graph is walked again without
// exchanges.

// exchange says who plays the part of whom: client i becomes client e.client[i]. The
// nil one changes nothing.
type exchange struct {
	client []uint8
	texts  map[string]string // those that were written before
}

// exchanges are a group: whatever comes of two of them one after the other is one of
// them. The first changes nothing.
type exchanges struct {
	all   []*exchange
	after [][]uint8 // after[i][j] is what comes of j and then i
}

// mostExchanged is how many clients are exchanged: five have 120 orders.
const mostExchanged = 4

// exchangesOf are all exchanges of the clients from first to last of a world, the last
// not included.
func exchangesOf(clients, first, last int) *exchanges {
	x := &exchanges{}
	order := make([]uint8, clients)
	for i := range order {
		order[i] = uint8(i)
	}
	last = min(last, first+mostExchanged)
	var permute func(i int)
	permute = func(i int) {
		if i >= last {
			x.all = append(x.all, &exchange{client: slices.Clone(order),
				texts: map[string]string{}})
			return
		}
		for j := i; j < last; j++ {
			order[i], order[j] = order[j], order[i]
			permute(i + 1)
			order[i], order[j] = order[j], order[i]
		}
	}
	permute(first)
	for _, e := range x.all {
		row := make([]uint8, len(x.all))
		for j, f := range x.all {
			both := make([]uint8, clients)
			for i := range both {
				both[i] = e.client[f.client[i]]
			}
			row[j] = uint8(slices.IndexFunc(x.all, func(g *exchange) bool {
				return slices.Equal(g.client, both)
			}))
		}
		x.after = append(x.after, row)
	}
	return x
}

// none are the exchanges without all that change something.
func (x *exchanges) none() *exchanges {
	return &exchanges{all: x.all[:1], after: [][]uint8{{0}}}
}

// exchanges are those that a run's program allows. A client with several owners is like
// no other one.
func (r *run) exchanges() *exchanges {
	first, last := 1, len(r.clients)
	switch r.program {
	case Once, Wait:
		first = 0
	case Read:
		first, last = 0, last-1
	}
	if r.bounds.Owners > 1 {
		first = 1
	}
	if !r.reduced || r.draws {
		last = first
	}
	return exchangesOf(len(r.clients), first, last)
}

// text is a text in which the clients' names are exchanged. A name stands alone, or
// before the number of a token: "A", "A#1".
func (e *exchange) text(s string) string {
	if e == nil {
		return s
	}
	var exchanged []byte
	for i := range len(s) {
		c := s[i]
		if c < 'A' || int(c-'A') >= len(e.client) || i > 0 && letter(s[i-1]) ||
			i+1 < len(s) && letter(s[i+1]) {
			continue
		}
		if exchanged == nil {
			exchanged = []byte(s)
		}
		exchanged[i] = 'A' + e.client[c-'A']
	}
	if exchanged == nil {
		return s
	}
	return string(exchanged)
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// action is what the action is once the clients are exchanged.
func (e *exchange) action(a action) action {
	if !a.moves() {
		a.client = e.client[a.client]
	}
	return a
}

// bits are the bits of the clients' processes in a footprint, and the others as they are.
func (e *exchange) bits(old uint64) uint64 {
	var clients, bits uint64
	for i, to := range e.client {
		clients |= mine(i)
		if old&mine(i) != 0 {
			bits |= mine(int(to))
		}
	}
	return old&^clients | bits
}

// broken are the breaches, with the names exchanged in what people read.
func (e *exchange) broken(breaches []Breach) []Breach {
	if len(breaches) == 0 {
		return breaches
	}
	exchanged := make([]Breach, len(breaches))
	for i, b := range breaches {
		text, known := e.texts[b.Event]
		if !known {
			text = e.text(b.Event)
			e.texts[b.Event] = text
		}
		exchanged[i] = Breach{b.Invariant, text}
	}
	return ordered(exchanged)
}

// ordered puts breaches in an order that doesn't say whether clients were exchanged.
func ordered(broken []Breach) []Breach {
	slices.SortStableFunc(broken, func(a, b Breach) int {
		return cmp.Or(cmp.Compare(a.Invariant, b.Invariant),
			cmp.Compare(a.Event, b.Event))
	})
	return broken
}

// edge is an edge whose end is not known yet.
func (e *exchange) edge(old edge) edge {
	return edge{action: e.action(old.action), broken: e.broken(old.broken),
		touched: footprint{e.bits(old.touched.reads), e.bits(old.touched.writes),
			old.touched.asked}}
}

// told is the process's history, once the clients are exchanged.
func (p *process) told(e *exchange) [sha256.Size]byte {
	if e == nil {
		return p.history.sum
	}
	if p.exchanged == nil {
		p.exchanged = map[*exchange]digest{}
	}
	d := p.exchanged[e]
	for _, answer := range p.answers[d.answers:] {
		d.add(e.text(answer))
	}
	p.exchanged[e] = d
	return d.sum
}

// exchangedPart is a part of a key, once clients are exchanged.
type exchangedPart struct {
	exchange *exchange
	part     int32
}

// exchanged are the parts of the key of the state that the run is in, once clients are
// exchanged: by exchange, without the first. What becomes of a part follows from it, and
// most parts of a new state are parts of others.
func (w *walker) exchanged(parts []int32) [][]int32 {
	all := make([][]int32, 0, len(w.exchanges.all))
	for _, e := range w.exchanges.all[1:] {
		exchanged := make([]int32, len(parts))
		for i, number := range parts {
			is := exchangedPart{e, number}
			if _, known := w.becoming[is]; !known {
				w.becoming[is] = w.numberOf(w.run.part(i, e))
			}
			at := 0
			if i > 0 {
				at = 1 + int(e.client[i-1])
			}
			exchanged[at] = w.becoming[is]
		}
		all = append(all, exchanged)
	}
	return all
}

// becomes is the state that s becomes with an exchange.
func (w *walker) becomes(s *state, exchange int, parts []int32) *state {
	if known := w.find(parts); known != nil {
		// It belongs to s, unless clients differ in more than their names: then s
		// would be known.
		w.differ(known.exchanged != nil)
		return known
	}
	e := w.exchanges.all[exchange]
	t := &state{parts: parts, cost: s.cost, by: e.action(s.by), broken: e.broken(s.broken)}
	for _, a := range s.todo {
		t.todo = append(t.todo, e.action(a))
	}
	if s.from == nil {
		w.differ(true) // there is one beginning
	} else {
		t.from = w.all[s.from.exchanged[exchange]]
	}
	w.add(t)
	return t
}

// differ ends the walk if clients differ in more than their names.
func (w *walker) differ(differ bool) {
	w.unlike = w.unlike || differ
	w.failed = w.failed || differ
}

// connect makes an edge, and those that it becomes once clients are exchanged.
func (w *walker) connect(s *state, e edge) {
	w.join(s, e)
	for from, e := range w.alike(s, e) {
		if !w.sample.takes(from, e.action) && w.join(from, e) {
			w.walk.Exchanged++
		}
	}
}

// alike are the edges that an edge becomes once clients are exchanged, each with the state
// that it begins at.
func (w *walker) alike(s *state, e edge) iter.Seq2[*state, edge] {
	return func(yield func(*state, edge) bool) {
		for i, x := range w.exchanges.all[1:] {
			exchanged := x.edge(e)
			exchanged.to = w.all[e.to].exchanged[i+1]
			if !yield(w.all[s.exchanged[i+1]], exchanged) {
				return
			}
		}
	}
}

// isQuiet says that no timer acts in a state, whatever its clients are called.
func (w *walker) isQuiet(s *state) {
	w.Lock()
	defer w.Unlock()
	for _, number := range s.exchanged {
		t := w.all[number]
		t.todo = slices.DeleteFunc(t.todo, func(a action) bool { return a.sign == timer })
	}
}

// sample are the edges that are taken although an exchange says where they lead: the
// first ones, and then one in so many.
type sample struct {
	seen  int
	taken map[sampled]bool
}

type sampled struct {
	state  int32
	action action
}

// Most of these edges take a run of their own. One in 32 took half of the time of a walk
// with three clients.
const (
	firstTaken = 64
	oneIn      = 1000
)

// takes says whether an edge, which is known from an exchange, is taken all the same.
func (s *sample) takes(from *state, a action) bool {
	if a.sign == timer || from.edge(a) != nil || s.has(from, a) {
		return s.has(from, a)
	}
	s.seen++
	if s.seen > firstTaken && s.seen%oneIn != 0 {
		return false
	}
	if s.taken == nil {
		s.taken = map[sampled]bool{}
	}
	s.taken[sampled{from.number, a}] = true
	return true
}

// has says whether an edge is to be taken.
func (s *sample) has(from *state, a action) bool {
	return s.taken[sampled{from.number, a}]
}
