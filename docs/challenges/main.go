// Challenges is a lock of your own in Go for the challenges of docs/challenges.md: change
// what stands before main. The others begin with lock.py, lock.mjs and Lock.java.
//
//	go run ./scenarios/check -challenge 1 -- go run ./docs/challenges
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// offers is what the lock offers: the later challenges say what to put here.
var offers = protocol.Answer{}

// myLock is one owner of the lock Key, for TTL. Nodes[0] is the first server.
type myLock struct{ lock.Env }

// TryLock makes one attempt.
func (l *myLock) TryLock(context.Context) (bool, error) { return true, nil }

// Lock asks again and again until it's granted or ctx ends.
func (l *myLock) Lock(ctx context.Context) error {
	options, err := lock.Configure(l.Nodes, l.Key, l.TTL, l.Options)
	if err != nil {
		return err
	}
	return lock.Poll(ctx, l.Key, options, l.TryLock)
}

// Unlock releases it. It returns lock.ErrNotHeld if it was not this owner's.
func (l *myLock) Unlock(context.Context) error { return nil }

func main() {
	build := func(env lock.Env) (lock.Lock, error) { return &myLock{env}, nil }
	if err := protocol.Serve(os.Stdin, os.Stdout, offers, build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
