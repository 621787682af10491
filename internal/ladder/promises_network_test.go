package ladder_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
)

// The rungs' promises about a network that is slow, or fails one command and not
// the next, and about a server that was tampered with.

// An inner Unlock that fails may not cost the outer one its release: the holder
// has two deferred Unlocks, and neither is called again.
func TestTheOutermostUnlockReleasesWhateverTheInnerOnesMet(t *testing.T) {
	for name, fault := range map[string]lab.Fault{
		"not sent":       {Refuse: true},
		"reply is lost":  {LoseReply: true},
		"reply too late": {AnswerAfter: 2 * lease},
	} {
		t.Run(name, func(t *testing.T) {
			promised(t, reentrant, func(p *promise) {
				ready(p.a).Locks().Locks().Fails(lab.Release, 1, fault).
					Unlocks(locktest.ErrUnknown).Unlocks().Finds(true).
					Works(5 * lease).Finds(true)
			})
		})
	}
}

// An Unlock without an answer may be called again: the id of the release stays the
// owner's until the next acquisition.
func TestAnOutermostUnlockThatFailsMayBeCalledAgain(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		ready(p.a).Locks().Fails(lab.Release, 1, lab.Fault{Refuse: true}).
			Unlocks(locktest.ErrUnknown).Finds(false).Unlocks().Finds(true)
	})
}

// Somebody's SET on the lock's name leaves a key of another type there, which is
// nobody's lock, and stays. The holder is told so at each level.
func TestAKeyOfAnotherTypeIsNobodysLock(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		rdb, ctx := p.b.Redis(), p.Context()
		set := func() {
			p.b.Step("an operator", p.Node(0).Delete)
			require.NoError(p.t, rdb.Set(ctx, locktest.Key, "a string", 0).Err())
		}
		stays := func() {
			assert.Equal(p.t, "a string", rdb.Get(ctx, locktest.Key).Val())
			require.NoError(p.t, rdb.Del(ctx, locktest.Key).Err())
		}
		var at time.Duration
		ready(p.a).Locks().Locks().Does(set).Unlocks(lock.ErrNotHeld).
			Unlocks(lock.ErrNotHeld).Does(stays).
			Locks().Does(set).Looks(func() { at = p.Now() }).Hears(func() {
			assert.Less(p.t, p.Now()-at, lease/2, "by the next renewal")
		}).Unlocks(lock.ErrNotHeld).Does(stays)
	})
}

// A server whose memory is full refuses a script that begins with HSET, as an acquisition
// of most rungs does. It leaves nothing behind.
func TestAHolderEntersAgainAndLeavesOnAFullServer(t *testing.T) {
	promised(t, reentrant, func(p *promise) {
		ready(p.a).Locks().
			Does(func() { p.b.Step("an operator", p.Node(0).Fill) }).
			Locks().Unlocks().Unlocks()
		b := p.b.At(lease)
		if p.rung.Name == "reentrant/readwrite" {
			b.Tries(true).Unlocks()
		} else {
			b.Tries(false, locktest.ErrUnknown).Finds(true)
		}
	})
}

// loses is the loss of the counter of the fencing tokens: it was evicted, or
// deleted by somebody.
func (p *promise) loses() {
	assert.NoError(p.t, p.b.Redis().Del(p.Context(),
		lock.SecondKey(locktest.Key, "token")).Err())
}

// The owner that is inside is still the owner.
func TestAnOwnerIsFoundWithoutTheCounterOfItsTokens(t *testing.T) {
	promised(t, fenced, func(p *promise) {
		var token uint64
		ready(p.a).Locks().Does(func() { token = p.a.Token() }).
			Does(p.loses).Locks().Does(func() {
			assert.Equal(p.t, token, p.a.Token(), "it is the same grant")
		}).Unlocks().Unlocks().
			Fails(lab.Acquire, 1, lab.Fault{LoseReply: true}).
			Tries(false, locktest.ErrUnknown).Does(p.loses).
			Tries(true). // it finds itself
			Does(func() { assert.Positive(p.t, p.a.Token()) }).Unlocks()
	})
}

// A counter that can't count grants nothing, and leaves no lock behind.
func TestACounterThatFailsLeavesTheLockFree(t *testing.T) {
	promised(t, counting, func(p *promise) {
		ready(p.a).Does(func() {
			require.NoError(p.t, p.b.Redis().Set(p.Context(),
				lock.SecondKey(locktest.Key, "token"), "no number", 0).Err())
		}).Tries(false, locktest.ErrUnknown).Finds(true)
	})
}
