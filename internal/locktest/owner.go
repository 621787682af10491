package locktest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Owner is one handle on the lock, with a script. The methods in the third
// person, such as Locks, add to the script; the others do something at once,
// and are for the functions that Does adds.
type Owner struct {
	*Process
	Name      string
	Lock      lock.Lock
	GrantedAt time.Duration // of the newest grant

	key    string
	script []func()
	begun  bool
	depth  int // how often it has entered
}

// then adds a step, which reports what fails with the test's line.
func (o *Owner) then(step func(located)) *Owner {
	_, here, line, _ := runtime.Caller(0)
	file := here
	for up := 1; file == here; up++ {
		_, file, line, _ = runtime.Caller(up)
	}
	t := located{o.scenario.t, fmt.Sprintf("%s:%d", filepath.Base(file), line)}
	o.script = append(o.script, func() { step(t) })
	return o
}

// WithLease gives the owner a lock whose lease isn't the scenario's.
func (o *Owner) WithLease(lease time.Duration, options ...lock.Option) *Owner {
	env := o.env
	env.TTL = lease
	o.Lock = o.build(env, options)
	return o
}

// Does adds a step of the test's own.
func (o *Owner) Does(step func()) *Owner {
	return o.then(func(located) { step() })
}

// Looks is Does in the owner's turn: nothing else happens meanwhile.
func (o *Owner) Looks(step func()) *Owner {
	return o.then(func(located) { o.Step("looks", step) })
}

// At waits for a moment of the scenario.
func (o *Owner) At(moment time.Duration) *Owner {
	return o.then(func(located) { o.until(moment) })
}

func (o *Owner) until(moment time.Duration) {
	if left := moment - o.scenario.Now(); left > 0 {
		o.Sleep(left)
	}
}

// Works lets time pass.
func (o *Owner) Works(d time.Duration) *Owner {
	return o.then(func(located) { o.Sleep(d) })
}

// Locks calls Lock, and waits for as long as it takes. Want is the error that it
// returns, none by default.
func (o *Owner) Locks(want ...error) *Owner {
	return o.LocksWithin(time.Hour, want...)
}

// LocksWithin calls Lock with a context that ends after some time.
func (o *Owner) LocksWithin(patience time.Duration, want ...error) *Owner {
	return o.locks(o.alone, patience, want)
}

// GivesUp calls Lock, and the context ends before the lock is granted.
func (o *Owner) GivesUp(patience time.Duration) *Owner {
	return o.LocksWithin(patience, context.DeadlineExceeded)
}

// Tries calls TryLock.
func (o *Owner) Tries(granted bool, want ...error) *Owner {
	return o.tries(o.alone, granted, want)
}

// Unlocks calls Unlock.
func (o *Owner) Unlocks(want ...error) *Owner { return o.unlocks(o.alone, want) }

// RLocks is Locks for a reader. A reader is none of the holders that are counted.
func (o *Owner) RLocks(want ...error) *Owner {
	return o.RLocksWithin(time.Hour, want...)
}

// RLocksWithin is LocksWithin for a reader.
func (o *Owner) RLocksWithin(patience time.Duration, want ...error) *Owner {
	return o.locks(o.shared, patience, want)
}

// RTries is Tries for a reader.
func (o *Owner) RTries(granted bool, want ...error) *Owner {
	return o.tries(o.shared, granted, want)
}

// RUnlocks is Unlocks for a reader.
func (o *Owner) RUnlocks(want ...error) *Owner { return o.unlocks(o.shared, want) }

func (o *Owner) locks(as func() way, patience time.Duration, want []error) *Owner {
	return o.then(func(t located) {
		ctx, cancel := context.WithTimeout(o.scenario.Context(), patience)
		defer cancel()
		expect(t, o.Name+"'s Lock", o.acquire(ctx, as()), want)
	})
}

func (o *Owner) tries(as func() way, granted bool, want []error) *Owner {
	return o.then(func(t located) {
		got, err := o.try(as())
		assert.Equal(t, granted, got, "%s's TryLock", o.Name)
		expect(t, o.Name+"'s TryLock", err, want)
	})
}

func (o *Owner) unlocks(as func() way, want []error) *Owner {
	return o.then(func(t located) {
		expect(t, o.Name+"'s Unlock", o.release(as()), want)
	})
}

// ReadWrite is the owner's lock, which must have readers.
func (o *Owner) ReadWrite() lock.ReadWrite { return o.Lock.(lock.ReadWrite) }

// Section takes the lock, works and releases it.
func (o *Owner) Section(work time.Duration) *Owner { return o.Locks().Works(work).Unlocks() }

// Sections does so several times.
func (o *Owner) Sections(n int, work time.Duration) *Owner {
	for range n {
		o.Section(work)
	}
	return o
}

// Since is when the lock was granted to it.
func (o *Owner) Since(moment time.Duration) *Owner {
	return o.then(func(t located) {
		assert.Equal(t, moment, o.GrantedAt, "%s was granted the lock", o.Name)
	})
}

// SinceAtMost is when the lock was granted to it, at the latest.
func (o *Owner) SinceAtMost(moment time.Duration) *Owner {
	return o.then(func(t located) {
		assert.LessOrEqual(t, o.GrantedAt, moment, "%s was granted the lock",
			o.Name)
	})
}

// SinceAbout is when the lock was granted to it, without the fraction of a tenth of a
// second.
func (o *Owner) SinceAbout(moment time.Duration) *Owner {
	return o.then(func(t located) {
		assert.Equal(t, moment, o.GrantedAt.Truncate(100*time.Millisecond),
			"%s was granted the lock", o.Name)
	})
}

// Hears waits until the owner is told that its lease is gone, and looks.
func (o *Owner) Hears(look func()) *Owner {
	return o.then(func(located) {
		<-o.Lost()
		o.Step(o.Name+" is told", func() {
			o.Note("%s is told", o.Name)
			look()
		})
	})
}

// Holds is whether the owner's lease is, as far as it was told, its own.
func (o *Owner) Holds(want bool) *Owner {
	return o.then(func(t located) {
		assert.Equal(t, want, !o.LostNow(), "%s holds the lock", o.Name)
	})
}

// Finds looks at the server: whether the lock is free.
func (o *Owner) Finds(free bool) *Owner {
	return o.then(func(t located) {
		o.Step("looks", func() {
			assert.Equal(t, free, o.scenario.Node(0).Free(), "the lock is free")
		})
	})
}

// Fails decides the fate of a command: the n-th of the next call, or the n-th
// that the lock will send on its own account.
func (o *Owner) Fails(call lab.Call, n int, fault lab.Fault) *Owner {
	return o.then(func(located) {
		o.Step("breaks", func() {
			if call == lab.Renewal {
				n += o.Sent(lab.Renewal)
			}
			o.Fault(call, n, fault)
		})
	})
}

// Suffers decides the fate of all commands from now on.
func (o *Owner) Suffers(fault lab.Fault) *Owner {
	return o.then(func(located) {
		o.Step("changes", func() { o.Always(fault) })
	})
}

// Dies ends the owner's process, with all of its owners.
func (o *Owner) Dies() *Owner {
	return o.then(func(located) { o.Step("dies", o.dies) })
}

// Acquire calls Lock.
func (o *Owner) Acquire(ctx context.Context) error { return o.acquire(ctx, o.alone()) }

// Try calls TryLock.
func (o *Owner) Try() (bool, error) { return o.try(o.alone()) }

// A way to hold the lock: alone, and counted among the holders, or with other readers.
type way struct {
	lock.Lock
	enters, leaves func() // are called in the owner's turn
}

func (o *Owner) alone() way { return way{o.Lock, o.enters, o.leaves} }

func (o *Owner) shared() way {
	enters := func() { o.GrantedAt = o.scenario.Now() }
	return way{lab.ReadSide{Of: o.ReadWrite()}, enters, func() {}}
}

func (o *Owner) acquire(ctx context.Context, as way) error {
	o.Step(o.Name+" locks", func() { o.Begin(lab.Acquire) })
	err := as.Lock.Lock(ctx)
	o.goesOn("Lock", err, as, err == nil)
	return err
}

func (o *Owner) try(as way) (bool, error) {
	o.Step(o.Name+" tries", func() { o.Begin(lab.Acquire) })
	granted, err := as.TryLock(o.scenario.Context())
	o.goesOn(fmt.Sprintf("TryLock, %v,", granted), err, as, granted && err == nil)
	return granted, err
}

func (o *Owner) release(as way) error {
	o.Step(o.Name+" unlocks", func() {
		o.Begin(lab.Release)
		as.leaves()
	})
	err := as.Unlock(o.scenario.Context())
	o.goesOn("Unlock", err, as, false)
	return err
}

// goesOn is what an owner does when a call has returned.
func (o *Owner) goesOn(call string, err error, as way, granted bool) {
	o.Step(o.Name+" goes on", func() {
		o.Begin(lab.Renewal)
		o.Note("%s's %s returns %v", o.Name, call, err)
		if granted {
			as.enters()
		}
	})
}

// enters counts an owner among the holders. Two may not believe they hold the
// lock, and not in one process even when the server has lost it.
func (o *Owner) enters() {
	s := o.scenario
	if o.depth++; o.depth > 1 {
		return
	}
	for _, other := range s.inside {
		if _, tells := other.Lock.(lock.LossNotifier); tells &&
			other.key == o.key && !(s.Forgot && other.Process != o.Process) && !other.LostNow() {
			assert.Fail(s.t, "two holders", "%s holds the lock, and %s was"+
				" never told that it lost it", o.Name, other.Name)
		}
	}
	o.GrantedAt = s.Now()
	s.inside = append(s.inside, o)
	s.Served = append(s.Served, o.Name)
	s.Tokens = append(s.Tokens, o.Token())
}

func (o *Owner) leaves() {
	if o.depth--; o.depth <= 0 {
		o.Leave()
	}
}

// Leave takes the owner out of the holders.
func (o *Owner) Leave() {
	o.depth = 0
	o.scenario.inside = slices.DeleteFunc(o.scenario.inside,
		func(other *Owner) bool { return other == o })
}

// Lost is the channel of the newest grant, nil of a lock that tells no loss.
func (o *Owner) Lost() <-chan struct{} { return lab.Lost(o.Lock) }

// LostNow says whether the owner is told now that its lease is gone.
func (o *Owner) LostNow() bool {
	select {
	case <-o.Lost():
		return true
	default:
		return false
	}
}

// Token is the fencing token of the newest grant, 0 of a lock that has none.
func (o *Owner) Token() uint64 { return lab.Token(o.Lock) }
