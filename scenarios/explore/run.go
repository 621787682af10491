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

// The explorer's own words: a *run* takes *actions*, one after the other, in a world; *players*
// are its clients with their programs. A *walk* makes runs until it has seen every state.

// run is one schedule under way, or the one after it: everything in it is made
// anew but the world.
type run struct {
	records bool // for a replay: the timeline
	draws   bool // for a graph: what states look like
	reduced bool // see explore

	world   *lab.World
	control *controller
	bounds  Bounds
	program Program
	used    Bounds // what the adversary has done
	asked   asked  // by the action under way
	facts          // of all runs of the program

	tell    func(format string, args ...any) // how far it has come
	build   lock.Build
	epoch   time.Time     // what the clients' clocks say when a run begins
	ahead   time.Duration // by how much the world's clock is ahead of them
	clients []*client
	players []*player // their owners

	storage  *lab.Storage
	dropped  bool // a message got lost without anybody's notice
	expired  bool // the lock is free because its lease has ended
	mustMove bool // somebody was stopped: only the clock matters now
	flights  []*flight

	// Known from other runs: until when no timer of the client does anything, and
	// of a client whose program is done whether one ever does.
	silence  map[moment]time.Duration
	finished map[moment]bool
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
	r.players = r.players[:0]
	for i, c := range r.clients {
		process := new(int) // the client lives on, from run to run
		c.Skew = -r.ahead
		for _, owner := range r.owners(i) {
			env := c.EnvOf(owner, key)
			env.Process = process
			l, err := lab.Build(r.build, env)
			if err != nil {
				return err
			}
			p := &player{client: c, owner: owner, run: r,
				lock: l, program: Once, wake: make(chan answer, 1)}
			if i == 0 && r.program == Names {
				env.Key = other // its tokens go on
				if p.other, err = lab.Build(r.build, env); err != nil {
					return err
				}
			}
			if i == 0 || r.program == Wait || r.program == Read && i+1 < len(r.clients) {
				p.program = r.program
			}
			c.players = append(c.players, p)
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

// settle lets everything happen that happens by itself: programs go on whose calls
// have returned, and those that wait for a change of the lock ask again.
func (r *run) settle() {
	r.control.settle()
	r.turns()
	r.flights = r.control.onTheWay()
	if r.used.Strays >= r.bounds.Strays {
		// Those that are left never arrive.
		r.flights = slices.DeleteFunc(r.flights, func(f *flight) bool {
			return f.stray()
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
			p.wake <- answer{}
			r.control.settle()
			moved = true
		}
	}
}

// player is the one whose action it is, or nil.
func (r *run) player(a action) *player {
	players := r.clients[a.client].players
	if i := max(int(a.nth), 1) - 1; i < len(players) {
		return players[i]
	}
	return nil
}

// end lets the last run's programs end.
func (r *run) end() {
	for _, p := range r.players {
		p.stop()
	}
	r.control.rewind()
}

// moment is all that a client's timers depend on.
type moment struct {
	client  int
	history [sha256.Size]byte
	now     time.Duration
}

func (r *run) moment(c *client) moment {
	return moment{c.index, c.history, r.world.Now()}
}

// facts are what runs have shown about a lock, apart from its graph.
type facts struct {
	granted bool   // some client was granted the lock
	gaveUp  bool   // a client has asked as often as Bounds.Attempts
	refusal string // what the first call returned that was refused
	hidden  string // what shows that the lock keeps something out of sight
}

// hides notes what shows that the lock keeps something where the explorer can't see it.
func (r *run) hides(format string, args ...any) {
	r.hidden = cmp.Or(r.hidden, fmt.Sprintf(format, args...)+": does the lock keep something in"+
		" a variable of its package, such as a map of mutexes? Clients stand for processes of"+
		" their own, and each run begins anew: keep it in what build returns")
}

// breaks notes that an invariant is broken at this moment.
func (r *run) breaks(invariant Invariant, format string, args ...any) {
	r.world.Report(string(invariant), format, args...)
}

// underWay says whether a command of a client has not reached its node yet.
func (r *run) underWay(of *client) bool {
	return slices.ContainsFunc(r.control.onTheWay(), func(f *flight) bool {
		return f.conn.client == of && f.kind == aRequest && (!f.stray() ||
			r.used.Strays < r.bounds.Strays)
	})
}
