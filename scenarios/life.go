package scenarios

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Life is an ordinary day of a lock: clients take it one after the other, and one
// of them crashes with it. It judges nothing, so it is no scenario of the catalogue.
// The pages draw what it records.
type Life struct {
	Runs []ClientRun

	// Down nodes, the last ones, refuse connections from DownAt on.
	Down   int
	DownAt time.Duration
}

// ClientRun is one client at the lock, once. The client asks at a moment of the
// run, waits at most MaxWait for the lock, works, and releases it or crashes. A
// client that didn't get the lock leaves.
type ClientRun struct {
	Client  string
	At      time.Duration
	Work    time.Duration
	Crashes bool   // at the end of its work, with the lock
	Reads   bool   // it takes the read lock of a ReadWrite
	Beside  string // the client whose process it lives in; "": a process of its own
}

// MaxWait is how long a client waits: as long as a lease, so the lease of a holder
// that crashed before the client asked ends in time.
const MaxWait = lease

// ClientRecord is how a client run went. Times are since the run began.
type ClientRecord struct {
	ClientRun
	Asked   time.Duration
	Granted time.Duration // 0: it waited in vain
	Left    time.Duration // when it gave up, crashed, or called Unlock
	Token   uint64        // its fencing token; 0: the lock has none
}

// Lived is the record of a life.
type Lived struct {
	Lease   time.Duration
	Runs    []ClientRecord // of each client in their order
	Entries []*Entry       // the timeline
}

// Record runs the life against a lock in virtual time. It returns an error when an
// invariant breaks, because that was no ordinary day, and when the lock can't be
// built or a call never returns.
func (l Life) Record(t *testing.T, build Build, opts ...Option) (*Lived, error) {
	t.Helper()
	s := settings{nodes: 1}
	for _, set := range opts {
		set(&s)
	}
	if err := s.check(build); err != nil {
		return nil, err
	}
	if l.Down >= s.nodes {
		return nil, fmt.Errorf("%d of %d nodes are to go down: one must stay up",
			l.Down, s.nodes)
	}
	lived := &Lived{Lease: lease}
	_, err := runScenario(t, Scenario{Name: "life", run: func(s *S) {
		lived.Runs = nil
		l.live(s, lived)
		lived.Entries = s.Timeline()
		if broken := s.Broken(); len(broken) > 0 {
			s.Fail("%s is broken on an ordinary day: %v", broken[0].Invariant,
				broken[0])
		}
	}}, build, s)
	if err != nil {
		return nil, err
	}
	return lived, nil
}

// live plays the runs and notes how they went.
func (l Life) live(s *S, lived *Lived) {
	var names []string
	actors := map[string]*actor{}
	for _, v := range l.Runs {
		if actors[v.Client] != nil {
			continue
		}
		names = append(names, v.Client)
		if v.Beside != "" {
			actors[v.Client] = s.beside(actors[v.Beside], v.Client)
		} else {
			actors[v.Client] = s.actor(v.Client)
		}
	}
	var scripts []func()
	for _, name := range names {
		runs := slices.DeleteFunc(slices.Clone(l.Runs), func(v ClientRun) bool {
			return v.Client != name
		})
		scripts = append(scripts, func() {
			for _, v := range runs {
				actors[name].clientRun(v, lived)
			}
		})
	}
	if l.Down > 0 {
		s.operator(func(o *actor) {
			o.at(l.DownAt)
			o.Step("nodes go down", func() {
				for i := range l.Down {
					s.Node(s.settings.nodes - 1 - i).Refuse(true)
				}
			})
		})
	}
	s.play(scripts...)
}

// clientRun is one run of the client.
func (a *actor) clientRun(v ClientRun, lived *Lived) {
	a.at(v.At)
	acquire, release := a.acquire, a.release
	if v.Reads {
		acquire, release = a.acquireRead, a.releaseRead
	}
	went := ClientRecord{ClientRun: v, Asked: a.run.Now()}
	note := func() {
		a.Step("leaves", func() {
			went.Left = a.run.Now()
			lived.Runs = append(lived.Runs, went)
		})
	}
	if acquire(MaxWait) != nil {
		note()
		return
	}
	went.Granted, went.Token = a.run.Now(), a.token()
	a.work(v.Work)
	note()
	if v.Crashes {
		a.crash()
	}
	release()
}
