package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// user is a goroutine that uses the lock.
type user struct {
	*worker
	g       int
	rng     *rand.Rand
	storage *storageClient
	owners  map[string]lock.Lock // one for each key
	number  int                  // of its sections
}

// use runs sections until the nemesis has ended.
func (w *worker) use(g int) error {
	u := &user{worker: w, g: g, owners: map[string]lock.Lock{},
		rng: rand.New(rand.NewPCG(w.orders.Seed, uint64(w.orders.Worker)<<40|
			uint64(w.orders.Life)<<20|uint64(g)))}
	var err error
	if u.storage, err = dialStorage(w.orders.Storage); err != nil {
		return err
	}
	defer u.storage.Close()
	for _, key := range w.orders.Keys {
		if u.owners[key], err = w.build(key); err != nil {
			return err
		}
	}
	for w.faults.Err() == nil {
		key := w.orders.Keys[u.rng.IntN(len(w.orders.Keys))]
		if err := u.once(key); err != nil {
			return err
		}
		u.sleep(u.rng.IntN(20))
	}
	return nil
}

// sleep waits for so many milliseconds, but not beyond the end of the nemesis.
func (w *worker) sleep(ms int) { _ = lock.Sleep(w.faults, time.Duration(ms)*time.Millisecond) }

// once acquires the lock at a key, or fails to, and has a section. The error is
// one of the soak, not of the lock.
func (u *user) once(key string) error {
	l := u.owners[key]
	op, patience := Lock, time.Duration(100+u.rng.IntN(3000))*
		time.Millisecond
	if u.rng.IntN(5) == 0 {
		op, patience = TryLock, 500*time.Millisecond
	}
	rw, shares := l.(lock.ReadWrite)
	if shares = shares && u.rng.IntN(3) > 0; shares {
		l = lab.ReadSide{Of: rw}
	}
	granted, over, err := u.acquire(l, key, op, patience)
	if err != nil {
		u.sleep(10 + u.rng.IntN(40))
	}
	if !granted {
		return nil
	}
	err = u.section(l, key, shares, lossOf(l, over))
	u.release(l, key, Unlock)
	return err
}

// lease is that of a lock that says nothing of its loss: by the worker's clock.
type lease <-chan struct{}

func (over lease) Lost() <-chan struct{} { return over }

// lossOf is what the lock says, or, of a lock that says nothing, over. It is asked at
// each look: a lock may compare the clock then.
func lossOf(l lock.Lock, over lease) lock.LossNotifier {
	if shared, ok := l.(lab.ReadSide); ok {
		l = shared.Of
	}
	if notifier, ok := l.(lock.LossNotifier); ok {
		return notifier
	}
	return over
}

// acquire calls Lock or TryLock. Over is closed when the lease has ended by this
// process's clock, counted from before the call, unless it is renewed.
func (u *user) acquire(l lock.Lock, key, op string, patience time.Duration) (
	granted bool, over lease, err error) {
	deadline := time.Now().Add(patience)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	sent := time.Now()
	returned := u.call(u.g, key, op, deadline)
	if op == TryLock || op == Enter {
		granted, err = l.TryLock(ctx)
	} else {
		err = l.Lock(ctx)
		granted = err == nil
	}
	returned(granted, err)
	ended := make(chan struct{})
	left := time.Until(sent.Add(u.orders.TTL - u.orders.TTL/50))
	if left <= 0 {
		close(ended) // it has waited for longer than a lease: it can't know
	} else {
		time.AfterFunc(left, func() { close(ended) })
	}
	return granted, ended, err
}

// release calls Unlock. It has two leases: the rungs give the command one, and
// the renewal in flight ends before that.
func (u *user) release(l lock.Lock, key, op string) {
	deadline := time.Now().Add(2 * u.orders.TTL)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	returned := u.call(u.g, key, op, deadline)
	returned(false, l.Unlock(ctx))
}

// section is what the lock is for: it reads, works, and writes, unless it shares the
// lock with other readers, or has been told meanwhile that the lock is another's.
func (u *user) section(l lock.Lock, key string, shared bool, lost lock.LossNotifier) error {
	if lock.IsLost(lost) {
		return nil
	}
	u.number++
	name := fmt.Sprintf("w%d.%d/g%d-%d", u.orders.Worker, u.orders.Life, u.g, u.number)
	e := Event{Worker: u.orders.Worker, Life: u.orders.Life,
		Goroutine: u.g, Key: key, Section: name, Shared: shared}
	e.Token = lab.Token(l)
	at := func(kind Kind) Event {
		e := e
		e.Kind = kind
		return e
	}
	u.write(at(Hold))
	left, told, gone := make(chan struct{}), make(chan struct{}), lost.Lost()
	go func() { // joined below
		defer close(told)
		select {
		case <-gone:
			u.write(at(Lost))
		case <-left:
		}
	}()
	err := u.readAndWrite(l, key, at, lost)
	u.write(at(Leave))
	close(left)
	<-told
	return err
}

func (u *user) readAndWrite(l lock.Lock, key string, at func(Kind) Event,
	lost lock.LossNotifier) error {
	_, err := u.storage.Do(at(Read))
	if errors.Is(err, errRefused) {
		return nil
	} else if err != nil {
		return err
	}
	work := u.work()
	select {
	case <-lost.Lost():
		return nil
	case <-time.After(work):
	case <-u.faults.Done():
	}
	if u.rung.Reentrant && u.rng.IntN(10) == 0 {
		granted, _, _ := u.acquire(l, key, Enter, u.orders.TTL/2)
		if granted {
			u.release(l, key, Exit)
		}
	}
	write := at(Write)
	if write.Shared {
		return nil
	}
	write.Looked = clock()
	if lock.IsLost(lost) {
		return nil
	}
	if _, err := u.storage.Do(write); !errors.Is(err, errRefused) {
		return err
	}
	return nil
}

// work is how long a section takes: mostly a moment, sometimes longer than a lease
// that is renewed.
func (u *user) work() time.Duration {
	switch {
	case u.rng.IntN(15) > 0:
		return time.Duration(u.rng.IntN(20)) * time.Millisecond
	case u.rung.Renews:
		return time.Duration(200+u.rng.IntN(2000)) * u.orders.TTL / 1000
	}
	return time.Duration(1+u.rng.IntN(300)) * u.orders.TTL / 1000
}

// probe gets a key after the nemesis, asking again after errors of connections that broke before.
func (w *worker) probe(i int, key string) error {
	l, err := w.build(key)
	if err != nil {
		return err
	}
	u := &user{worker: w, g: goroutines + 1 + i}
	for end := time.Now().Add(probing(w.orders.TTL, w.orders.Poll)); time.Now().Before(end); {
		granted, _, _ := u.acquire(l, key, Probe, time.Until(end))
		if granted {
			u.release(l, key, Unlock)
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil // the judge says what that means
}
