package explore

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The explorer's own words: a *run* takes *actions*, one after the other, in a
// world; *players* are its clients with their programs. A *walk* makes runs until
// it has seen every state.

// action is one move of a schedule. It is written as the client's letter and a
// sign, then the node where there are several, then which of several such things
// when it is not the oldest: "A>", "B<2", "A>1.2".
type action struct {
	sign              byte
	client, node, nth uint8
}

// The signs.
const (
	request = '>' // a command of the client reaches its node
	stray   = '?' // one reaches it after the client has given it up
	reply   = '<' // a reply reaches the client
	message = '~' // a published message reaches the client
	storage = '=' // a request reaches the storage, and is answered
	lose    = '!' // a reply is lost: its connection breaks
	cut     = '/' // a message is lost: its connection breaks
	drop    = '-' // a message is lost, and its connection lives on
	giveUp  = 'g' // the context of the client's Lock ends
	crash   = 'x' // the client dies
	pause   = 'z' // the client's process stops
	wake    = 'w' // and goes on
	leaseUp = 'E' // the clock moves to the next end of a lease
	timer   = 'R' // the clock moves to when a client's timer makes it do something
)

// adversary says whether the action is the adversary's, and so has a budget.
func (a action) adversary() bool {
	return strings.IndexByte("!?/-gxzER", a.sign) >= 0
}

// travels says whether the action is about something on its way between a client
// and a node.
func (a action) travels() bool { return strings.IndexByte("><~!?/-", a.sign) >= 0 }

func (a action) write(nodes int) string {
	if a.sign == leaseUp || a.sign == timer {
		return string(a.sign)
	}
	text := string([]byte{'A' + a.client, a.sign})
	if nodes > 1 && a.travels() {
		text += strconv.Itoa(int(a.node) + 1)
	}
	if a.nth > 1 {
		text += "." + strconv.Itoa(int(a.nth))
	}
	return text
}

// compare puts what clients do before what happens to them, and before the clock.
func (a action) compare(b action) int {
	const order = "><~=w ?!/-gxz ER"
	group := func(a action) int {
		return strings.Count(order[:strings.IndexByte(order, a.sign)], " ")
	}
	return cmp.Or(
		cmp.Compare(group(a), group(b)),
		cmp.Compare(a.client, b.client),
		cmp.Compare(strings.IndexByte(order, a.sign),
			strings.IndexByte(order, b.sign)),
		cmp.Compare(a.node, b.node),
		cmp.Compare(a.nth, b.nth))
}

// parse reads what write writes.
func parse(text string) (action, error) {
	bad := fmt.Errorf("%q is no action: write a client and a sign, such as A> B<"+
		" A~ A= A! A/ A- A? Ag Ax Az Aw, or E, or R", text)
	if text == "E" || text == "R" {
		return action{sign: text[0]}, nil
	}
	if len(text) < 2 || text[0] < 'A' || text[0] > 'Z' ||
		strings.IndexByte("><~=!?/-gxzw", text[1]) < 0 {
		return action{}, bad
	}
	a := action{client: text[0] - 'A', sign: text[1]}
	if a.travels() {
		a.nth = 1
	}
	node, nth, found := strings.Cut(text[2:], ".")
	if found {
		n, err := strconv.ParseUint(nth, 10, 8)
		if err != nil || n == 0 {
			return action{}, bad
		}
		a.nth = uint8(n)
	}
	if node != "" {
		n, err := strconv.ParseUint(node, 10, 8)
		if err != nil || n == 0 {
			return action{}, bad
		}
		a.node = uint8(n - 1)
	}
	return a, nil
}

// write writes a schedule down.
func write(actions []action, nodes int) string {
	words := make([]string, len(actions))
	for i, a := range actions {
		words[i] = a.write(nodes)
	}
	return strings.Join(words, " ")
}

// run is one schedule under way, or the one after it: everything in it is made
// anew but the world.
type run struct {
	records bool // for a replay: the timeline
	draws   bool // for a graph: what states look like
	reduced bool // see explore

	world   *lab.World
	control *controller
	beside  *beside // nil where one world is enough
	build   lock.Build
	bounds  Bounds
	epoch   time.Time     // what the clients' clocks say when a run begins
	ahead   time.Duration // by how much the world's clock is ahead of them
	program Program
	clients []*client

	processes []*process
	players   []*player // their owners
	storage   *lab.Storage
	used      budget
	expired   bool // the lock is free because its lease has ended
	mustMove  bool // somebody was stopped: only the clock matters now
	flights   []flight
	gaveUp    bool // somebody has asked as often as the bounds allow
	touched   footprint

	// Known from other runs: until when no timer of the client does anything, and
	// of a client whose program is done whether one ever does.
	silence  map[moment]time.Duration
	finished map[moment]bool
}

// footprint is what an action has read and written: a bit for each client's
// process, for each node, for who believes to hold the lock, for the storage, and
// for how many strays there were. Two actions that do not touch what the other one
// writes come to the same in either order.
type footprint struct{ reads, writes uint64 }

const (
	beliefs    uint64 = 1 << 62
	storages   uint64 = 1 << 61
	strayed    uint64 = 1 << 60 // what of a client's commands still arrives
	allNodes   uint64 = 1<<60 - 1<<30
	everything        = ^uint64(0)
)

func mine(client int) uint64 { return 1 << client }

func onNode(n int) uint64 { return 1 << (30 + n) }

// apart says whether two actions come to the same in either order.
func (f footprint) apart(g footprint) bool {
	return f.writes&(g.reads|g.writes) == 0 && g.writes&f.reads == 0
}

// Breach is an invariant that was just broken, and by what.
type Breach struct {
	Invariant Invariant
	Event     string
}

// budget counts the adversary's actions.
type budget struct {
	expiries, timers, crashes, lost, strays, pauses, messages, giveUps int

	dropped bool // a message got lost without anybody's notice
}

// errDiverged says that the same schedule went another way.
var errDiverged = errors.New("the lock does not do the same thing twice, so its" +
	" schedules can't be explored (take times that are sent from Env.Now, and" +
	" tokens from Env.Options or random words of 16 letters or more)")

// begin starts a new run; the programs' first commands are then on their way.
func (r *run) begin() error {
	for _, p := range r.players {
		p.stop()
	}
	r.control.rewind()
	r.storage = r.world.Storage(0)
	if r.records {
		r.world.Record()
	}
	r.ahead = time.Since(r.epoch)
	r.used, r.expired, r.mustMove = budget{}, false, false
	r.processes, r.players = r.processes[:0], r.players[:0]
	for i, c := range r.clients {
		process := &process{client: c}
		r.processes = append(r.processes, process)
		c.Skew = -r.ahead
		for _, owner := range r.owners(i) {
			l, err := r.build(c.EnvOf(owner, key))
			if err != nil {
				return fmt.Errorf("the lock can't be built: %w", err)
			}
			p := &player{client: c, owner: owner, process: process, run: r,
				lock: l, program: Once, wake: make(chan answer, 1)}
			if i == 0 || r.program == Wait {
				p.program = r.program
			}
			process.players = append(process.players, p)
			r.players = append(r.players, p)
		}
	}
	for _, p := range r.players {
		p.start()
		r.control.settle()
	}
	r.settle()
	return r.failed()
}

// owners are the names of a client's owners: its own, when there is one.
func (r *run) owners(client int) []string {
	name := r.clients[client].Name
	if client > 0 || r.bounds.Owners == 1 {
		return []string{name}
	}
	owners := make([]string, r.bounds.Owners)
	for i := range owners {
		owners[i] = name + strconv.Itoa(i+1)
	}
	return owners
}

// failed is the first thing that the world can't go on with.
func (r *run) failed() error {
	if failures := r.world.Failures(); len(failures) > 0 {
		return failures[0]
	}
	return nil
}

// stop ends the player's program where it waits.
func (p *player) stop() {
	if p.giveUp != nil {
		p.giveUp()
	}
	select {
	case p.wake <- answer{stop: true}:
	default:
	}
}

// breaks notes that an invariant is broken at this moment.
func (r *run) breaks(invariant Invariant, format string, args ...any) {
	r.world.Report(string(invariant), format, args...)
}

// underWay says whether a command of the player's process has not reached its node
// yet.
func (r *run) underWay(p *player) bool {
	return slices.ContainsFunc(r.control.onTheWay(), func(f flight) bool {
		return f.client == p.client && f.kind == aRequest && (!f.stray ||
			r.used.strays < r.bounds.Strays)
	})
}

// settle lets everything happen that happens by itself: programs go on whose calls
// have returned, and who waits for a change of the lock asks again.
func (r *run) settle() {
	r.control.settle()
	r.turns()
	r.flights = r.control.onTheWay()
	if r.used.strays >= r.bounds.Strays {
		// Those that are left never arrive.
		r.flights = slices.DeleteFunc(r.flights, func(f flight) bool {
			return f.stray
		})
	}
}

// turns wakes the programs that can go on, one at a time.
func (r *run) turns() {
	for moved := true; moved; {
		moved = false
		for _, p := range r.players {
			switch {
			case p.Dead() || p.Asleep():
				continue
			case p.turning.CompareAndSwap(true, false):
			case p.waiting && p.stale():
				p.waiting = false
				p.remember("asks again", r.world.Now())
			default:
				continue
			}
			r.touched.writes |= mine(slices.Index(r.processes, p.process))
			p.wake <- answer{}
			r.control.settle()
			moved = true
		}
	}
}

// broken are the invariants that the state itself breaks, whatever led to it.
func (r *run) broken() []Breach {
	var broken []Breach
	if believers := r.world.Log().Believers(); len(believers) > 1 {
		broken = append(broken, Breach{TwoHolders, fmt.Sprintf("%s and %s believe"+
			" to hold the lock", believers[0], believers[1])})
	}
	for _, p := range r.players {
		switch {
		case r.underWay(p):
			// What is on its way may free the lock yet.
		case (p.Dead() || p.done) && r.control.endless(p.client):
			broken = append(broken, Breach{Orphaned, p.owner + " will never free" +
				" its grant, and no lease ends it"})
		case !p.Dead() && p.waiting && p.ownsLock():
			broken = append(broken, Breach{SelfDeadlock, p.owner + " waits for its" +
				" own grant"})
		}
	}
	return append(broken, r.lostWakeUps()...)
}

// enabled are the actions that are possible now, in a fixed order.
func (r *run) enabled() []action {
	var actions, lost []action
	if !r.mustMove {
		var nth map[action]uint8
		for _, f := range r.flights {
			if f.behind {
				continue
			}
			a := action{client: uint8(r.index(f.client)), node: uint8(f.node)}
			asleep := f.client.Asleep()
			switch f.kind {
			case aRequest:
				if a.sign = request; f.stray {
					a.sign = stray
				}
				asleep = asleep && !f.left
			case aReply:
				a.sign = reply
			default:
				a.sign = message
			}
			if nth == nil {
				nth = map[action]uint8{}
			}
			nth[a]++
			a.nth = nth[action{sign: a.sign, client: a.client, node: a.node}]
			if asleep {
				continue
			}
			actions = append(actions, a)
			if a.sign == reply && r.used.lost < r.bounds.LostReplies {
				a.sign = lose
				lost = append(lost, a)
			}
			if a.sign == message && r.used.messages < r.bounds.LostMessages {
				for _, a.sign = range []byte{cut, drop} {
					lost = append(lost, a)
				}
			}
		}
		for _, p := range r.players {
			if p.access != nil {
				actions = append(actions, r.by(p, storage))
			}
		}
		for i, p := range r.processes {
			if p.Asleep() && !p.Dead() {
				actions = append(actions, action{sign: wake, client: uint8(i)})
			}
		}
		actions = append(actions, lost...)
		for _, p := range r.players {
			if r.used.giveUps < r.bounds.GiveUps && !p.Dead() && p.locking &&
				!p.gaveUp && !p.Asleep() {
				actions = append(actions, r.by(p, giveUp))
			}
		}
		for i, p := range r.processes {
			if r.used.crashes < r.bounds.Crashes && !p.Dead() && !p.done() {
				actions = append(actions, action{sign: crash, client: uint8(i)})
			}
		}
	}
	return append(actions, r.clock()...)
}

// clock are the moves of the clock, and the stops of a process that come right
// before one. A process that has stopped does what it does when its messages
// take long, but for one thing: it has been told nothing meanwhile. So only those
// stop who believe to hold a lock that would tell them, and only right before
// the clock moves.
func (r *run) clock() []action {
	if !slices.ContainsFunc(r.players, func(p *player) bool {
		return !p.Dead() && !p.done
	}) {
		return nil // nobody is left for whom it matters
	}
	var actions []action
	if r.used.expiries < r.bounds.Expiries && r.control.leased() {
		actions = append(actions, action{sign: leaseUp})
	}
	if r.used.timers < r.bounds.Timers && !r.quiet() {
		actions = append(actions, action{sign: timer})
	}
	if len(actions) == 0 || r.used.pauses == r.bounds.Pauses {
		return actions
	}
	for i, p := range r.processes {
		if !p.Dead() && !p.Asleep() && slices.ContainsFunc(p.players, told) {
			actions = append(actions, action{sign: pause, client: uint8(i)})
		}
	}
	return actions
}

// told says whether the player believes to hold a lock that would tell it of a
// loss.
func told(p *player) bool {
	_, ok := p.lock.(lock.LossNotifier)
	return ok && p.holding != nil && p.depth > 0
}

// by is an action of a player.
func (r *run) by(p *player, sign byte) action {
	a := action{sign: sign, client: uint8(slices.Index(r.processes, p.process))}
	if i := slices.Index(p.process.players, p); i > 0 {
		a.nth = uint8(i + 1)
	}
	return a
}

// player is the one whose action it is, or nil.
func (r *run) player(a action) *player {
	players := r.processes[a.client].players
	if i := max(int(a.nth), 1) - 1; i < len(players) {
		return players[i]
	}
	return nil
}

// done says whether the programs of all its owners are.
func (p *process) done() bool {
	return !slices.ContainsFunc(p.players, func(p *player) bool { return !p.done })
}

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

// quiet says whether it is known that no client's timer makes it do anything
// before the clock must stop anyway.
func (r *run) quiet() bool {
	horizon := r.control.horizon()
	for i, p := range r.processes {
		if !p.Dead() && !p.Asleep() && r.silence[r.moment(i)] < horizon {
			return false
		}
	}
	return true
}

// moment is all that a client's timers depend on.
type moment struct {
	client  int
	history [sha256.Size]byte
	now     time.Duration
}

func (r *run) moment(i int) moment {
	return moment{i, r.processes[i].history, r.world.Now()}
}

func (r *run) index(c *client) int {
	return slices.Index(r.clients, c)
}

// errQuiet says that the clock was to move to a timer, and there was none.
var errQuiet = errors.New("no client's timer makes it do anything before a lease" +
	" ends")

// take takes an action and returns what it broke. The error is errDiverged when
// the action is not possible, and errQuiet.
func (r *run) take(a action) ([]Breach, error) {
	seen, held := len(r.world.Broken()), r.program == Wait && !r.free()
	r.touched = footprint{}
	if err := r.do(a); err != nil {
		return nil, err
	}
	r.settle()
	r.expires(a, held)
	if (a.sign == request || a.sign == stray) && r.control.changed {
		r.touched.writes |= onNode(int(a.node))
	}
	if err := r.failed(); err != nil {
		return nil, err
	}
	var broken []Breach
	for _, b := range r.world.Broken()[seen:] {
		if b.Invariant == lab.TwoHolders {
			continue // see broken
		}
		broken = append(broken, Breach{Invariant(b.Invariant), b.Event})
	}
	return broken, nil
}

func (r *run) do(a action) error {
	w := r.world
	if a.sign == leaseUp || a.sign == timer || a.sign == pause {
		r.touched.writes = everything
	} else {
		r.touched.writes |= mine(int(a.client))
	}
	if a.sign == leaseUp || a.sign == timer {
		r.mustMove = false
		if a.sign == leaseUp {
			r.used.expiries++
			if !r.control.leased() {
				return errDiverged
			}
			r.control.moveToLeaseEnd(r.turns)
			return nil
		}
		r.used.timers++
		before, horizon := make([]moment, len(r.processes)), r.control.horizon()
		for i := range r.processes {
			before[i] = r.moment(i)
		}
		if r.control.moveToArrival() {
			return nil
		}
		for i, p := range r.processes {
			if !p.Dead() && !p.Asleep() {
				r.silence[before[i]] = horizon
			}
		}
		return errQuiet
	}
	if int(a.client) >= len(r.processes) {
		return errDiverged
	}
	p := r.processes[a.client]
	p.act()
	switch a.sign {
	case storage:
		return r.serve(r.player(a))
	case giveUp:
		p := r.player(a)
		if p == nil || !p.locking {
			return errDiverged
		}
		r.used.giveUps++
		p.remember("gives up", w.Now())
		p.note("gives up: the context of its Lock ends")
		p.gaveUp = true
		p.giveUp()
	case crash:
		r.used.crashes++
		p.Die()
		for _, p := range p.players {
			p.doing = "is dead"
		}
	case pause:
		r.used.pauses++
		r.mustMove = true
		p.remember("stops", w.Now())
		p.pause(true)
	case wake:
		r.touched.reads |= allNodes // it may have waited for a change
		p.remember("goes on", w.Now())
		p.pause(false)
		for _, p := range p.players {
			if p.parked != nil {
				a := *p.parked
				p.parked = nil
				p.answer(a)
			}
		}
	default:
		return r.deliver(p, a)
	}
	return nil
}

// deliver lets something arrive, or a reply get lost.
func (r *run) deliver(p *process, a action) error {
	kind := map[byte]kind{request: aRequest, stray: aRequest,
		reply: aReply, lose: aReply, message: aMessage,
		cut: aMessage, drop: aMessage}[a.sign]
	nth := uint8(0)
	for _, f := range r.flights {
		if f.client != p.client || f.kind != kind || f.node != int(a.node) ||
			f.kind == aRequest && f.stray != (a.sign == stray) || f.behind {
			continue
		}
		if nth++; nth != a.nth {
			continue
		}
		switch a.sign {
		case request:
			r.touched.reads |= onNode(f.node)
			r.asks(p, f)
		case stray:
			r.touched.reads |= onNode(f.node)
			r.touched.writes |= strayed
			r.used.strays++
		case lose:
			r.used.lost++
			p.remember(fmt.Sprintf("%d lost %s", f.node, f.exact), r.world.Now())
			r.control.lose(f)
			return nil
		case cut, drop:
			// A client is not told of a message that is dropped: it knows what it
			// would know if the message had never been sent.
			r.used.messages++
			if a.sign == cut {
				p.remember(fmt.Sprintf("%d cut %s", f.node, f.exact), r.world.Now())
			} else {
				r.used.dropped = true
			}
			r.control.loseMessage(f, a.sign == cut)
			return nil
		default:
			p.remember(fmt.Sprintf("%d %s %s %s", f.node, f.text, f.exact, f.raw()),
				r.world.Now())
			if r.records && a.sign == reply {
				p.Note("gets the reply to %s", f.text)
			}
		}
		r.control.deliver(f)
		return nil
	}
	return errDiverged
}

// serve lets the player's request arrive at the storage. The answer is with the
// player at once, unless it is stopped.
func (r *run) serve(p *player) error {
	if p == nil || p.access == nil {
		return errDiverged
	}
	a := p.access
	p.access = nil
	if r.touched.reads |= storages; a.write || a.token != 0 {
		r.touched.writes |= storages
	}
	var got answer
	if a.write {
		got.ok = r.storage.Write(a.holding, a.token, a.value, a.version)
	} else {
		got.value, got.version, got.ok = r.storage.Read(a.holding, a.token)
	}
	switch {
	case p.Dead():
	case p.Asleep():
		p.parked = &got
	default:
		p.answer(got)
	}
	return nil
}

// answer wakes the program with what the storage said.
func (p *player) answer(a answer) {
	p.remember(fmt.Sprintf("storage %v", a), p.run.world.Now())
	p.wake <- a
}

// key stands for the state that the run is in: two runs in states of one key go on
// in the same way. The processes are in it as what they were answered, and when.
func (r *run) key() [sha256.Size]byte {
	b := r.control.snapshot(make([]byte, 0, 1024), r.flights)
	b = append(b, r.storage.Snapshot()...)
	for i, p := range r.processes {
		if p.Dead() {
			b = append(b, "\ndead"...)
		} else if p.done() && r.finished[r.moment(i)] && !r.busy(p) {
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
	}
	u := r.used
	for _, n := range []int{u.expiries, u.timers, u.crashes, u.lost, u.strays, u.pauses,
		u.messages, u.giveUps} {
		b = strconv.AppendInt(append(b, ' '), int64(n), 10)
	}
	b = strconv.AppendBool(b, u.dropped)
	b = strconv.AppendBool(b, r.expired)
	b = strconv.AppendBool(b, r.mustMove)
	return sha256.Sum256(b)
}

// end lets the last run's programs end.
func (r *run) end() {
	for _, p := range r.players {
		p.stop()
	}
	r.control.rewind()
}
