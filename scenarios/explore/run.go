package explore

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The explorer's own words: a *run* takes *actions*, one after the other, in a
// world; *players* are its clients with their programs. A *walk* makes runs until
// it has seen every state.

// run is one schedule under way, or the one after it: everything in it is made
// anew but the world.
type run struct {
	records bool // for a replay: the timeline
	draws   bool // for a graph: what states look like
	reduced bool // see explore

	world   *lab.World
	control *controller
	beside  *beside // nil where one world is enough
	walked  *progress
	build   lock.Build
	bounds  Bounds
	epoch   time.Time     // what the clients' clocks say when a run begins
	ahead   time.Duration // by how much the world's clock is ahead of them
	program Program
	clients []*client

	processes []*process
	players   []*player // their owners
	storage   *lab.Storage
	used      Bounds // what the adversary has done
	dropped   bool   // a message got lost without anybody's notice
	expired   bool   // the lock is free because its lease has ended
	mustMove  bool   // somebody was stopped: only the clock matters now
	flights   []flight
	touched   footprint
	receivers int // see hears

	found Walk // what all runs of the program have found: only what is one value

	// Known from other runs: until when no timer of the client does anything, and
	// of a client whose program is done whether one ever does.
	silence  map[moment]time.Duration
	finished map[moment]bool
}

// footprint is what an action has read and written: a bit for each client's process,
// for each node, for the set of clients that believe they hold the lock, for the
// storage, for the connections that listen, and for the number of strays. Two actions that do not touch
// what the other one writes come to the same in either order. The request to the
// storage plays no part in that.
type footprint struct {
	reads, writes uint64
	asked         asked
}

// asked is a request to the storage, and whether the storage refused its token.
type asked struct{ reads, writes, refused bool }

const (
	beliefs    uint64 = 1 << 62
	storages   uint64 = 1 << 61
	strayed    uint64 = 1 << 60 // what of a client's commands still arrives
	listening  uint64 = 1 << 59 // which connections have subscribed to something
	allNodes   uint64 = 1<<59 - 1<<30
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

// errDiverged says that the same schedule went another way.
var errDiverged = errors.New("the lock does not do the same thing twice, so its" +
	" schedules can't be explored (take times that are sent from Env.Now, and" +
	" tokens from Env.Options or random words of 16 letters or more, keep nothing" +
	" that outlives what build returns, and leave nothing to chance: neither the order" +
	" of a map, nor which of two timers or channels a select takes when both are ready)")

// begin starts a new run; the programs' first commands are then on their way.
func (r *run) begin() error {
	for _, p := range r.players {
		p.stop()
	}
	r.control.rewind()
	r.storage = r.world.Storage(0)
	r.world.Lines = r.draws
	if r.records {
		r.world.Record()
	}
	r.ahead = time.Since(r.epoch)
	r.used, r.dropped, r.expired, r.mustMove = Bounds{}, false, false, false
	r.processes, r.players = r.processes[:0], r.players[:0]
	for i, c := range r.clients {
		process := &process{client: c}
		r.processes = append(r.processes, process)
		c.Skew = -r.ahead
		for _, owner := range r.owners(i) {
			env := c.EnvOf(owner, key)
			env.Process = process // the client lives on, from run to run
			l, err := lab.Build(r.build, env)
			if err != nil {
				return err
			}
			p := &player{client: c, owner: owner, process: process, run: r,
				lock: l, program: Once, wake: make(chan answer, 1)}
			if i == 0 || r.program == Wait ||
				r.program == Read && i+1 < len(r.clients) {
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
	r.hears()
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

// hides notes what shows that the lock keeps something where the explorer can't see it.
func (r *run) hides(format string, args ...any) {
	r.found.hidden = cmp.Or(r.found.hidden, fmt.Sprintf(format, args...)+": does the"+
		" lock keep something in a variable of its package, such as a map of mutexes?"+
		" Clients stand for processes of their own, and each run begins anew: keep it"+
		" in what build returns")
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
			r.used.Strays < r.bounds.Strays)
	})
}

// settle lets everything happen that happens by itself: programs go on whose calls
// have returned, and those that wait for a change of the lock ask again.
func (r *run) settle() {
	r.control.settle()
	r.turns()
	r.flights = r.control.onTheWay()
	if r.used.Strays >= r.bounds.Strays {
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
	if rivals := r.world.Log().Rivals(); len(rivals) > 1 {
		broken = append(broken, Breach{TwoHolders, fmt.Sprintf("%s and %s believe"+
			" to hold the lock", rivals[0], rivals[1])})
	}
	for _, p := range r.players {
		switch {
		case r.underWay(p):
			// A command on its way may still free the lock.
		case r.left(p) && r.control.endless(p.client):
			broken = append(broken, Breach{Orphaned, p.owner + " will never free" +
				" its grant, and no lease ends it"})
		case !p.Dead() && p.waiting && p.ownsLock():
			broken = append(broken, Breach{SelfDeadlock, p.owner + " waits for its" +
				" own grant"})
		}
	}
	return append(broken, r.lostWakeUps()...)
}

// left says whether a player's process frees no grant any more. Another owner of the
// process may still do so, unless it waits inside Lock and nothing is on its way.
func (r *run) left(p *player) bool {
	if p.Dead() || !p.done {
		return p.Dead()
	}
	return !slices.ContainsFunc(p.process.players, func(other *player) bool {
		return !other.done && (!other.locking || !r.calm())
	})
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
			if a.sign == reply && r.used.LostReplies < r.bounds.LostReplies {
				a.sign = lose
				lost = append(lost, a)
			}
			if a.sign == message && r.used.LostMessages < r.bounds.LostMessages {
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
			if r.used.GiveUps < r.bounds.GiveUps && !p.Dead() && p.locking &&
				!p.gaveUp && !p.Asleep() {
				actions = append(actions, r.by(p, giveUp))
			}
		}
		for i, p := range r.processes {
			if r.used.Crashes < r.bounds.Crashes && !p.Dead() && !p.done() {
				actions = append(actions, action{sign: crash, client: uint8(i)})
			}
		}
	}
	return append(actions, r.clock()...)
}

// clock are the moves of the clock, and the stops of a process that come right
// before one. A process that has stopped does what it does when its messages
// take long, but for one thing: it has been told nothing meanwhile. So only those
// stop who believe they hold a lock that would tell them, and only right before
// the clock moves.
func (r *run) clock() []action {
	if !slices.ContainsFunc(r.players, func(p *player) bool {
		return !p.Dead() && !p.done
	}) {
		return nil // nobody is left for whom it matters
	}
	var actions []action
	if r.used.Expiries < r.bounds.Expiries && r.control.leased() {
		actions = append(actions, action{sign: leaseUp})
	}
	if r.used.Timers < r.bounds.Timers && !r.quiet() {
		actions = append(actions, action{sign: timer})
	}
	if len(actions) == 0 || r.used.Pauses == r.bounds.Pauses {
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
	return ok && p.holding != nil && p.depth+p.reads > 0
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
	return moment{i, r.processes[i].history.sum, r.world.Now()}
}

func (r *run) index(c *client) int {
	return slices.Index(r.clients, c)
}

// end lets the last run's programs end.
func (r *run) end() {
	for _, p := range r.players {
		p.stop()
	}
	r.control.rewind()
}
