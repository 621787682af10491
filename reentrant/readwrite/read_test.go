package readwrite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

// Here are promises of the read side that no scenario judges.

const (
	second = time.Second
	ttl    = 10 * second
)

// world runs a test in virtual time with owners in processes of their own.
func world(t *testing.T, script func(w *lab.World, owner func(name string) *owner)) {
	t.Helper()
	distant(t, 0, script)
}

// distant is world with messages that take so long.
func distant(t *testing.T, latency time.Duration,
	script func(w *lab.World, owner func(name string) *owner)) {
	t.Helper()
	config := lab.Config{Nodes: 1, Key: "stock", TTL: ttl, Latency: latency}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		w.Record()
		script(w, func(name string) *owner {
			c := w.Client(name)
			return &owner{Client: c, env: c.Env("stock"), t: t, w: w, ttl: ttl}
		})
		w.Play()
		assert.Empty(t, w.Failures())
		if t.Failed() {
			t.Log("\n" + w.Render(-1))
		}
	}))
}

// owner is a client with a handle.
type owner struct {
	*lab.Client
	*readwrite.Lock
	env lock.Env
	t   *testing.T
	w   *lab.World
	ttl time.Duration
}

// does runs a script from a moment on.
func (o *owner) does(from time.Duration, script func(ctx context.Context)) {
	l, err := readwrite.New(o.env.Nodes[0], o.env.Key, o.ttl, o.env.Options...)
	require.NoError(o.t, err)
	o.Lock = l
	o.Go(func() {
		o.at(from)
		script(context.Background())
	})
}

func (o *owner) at(moment time.Duration) {
	if left := moment - o.w.Now(); left > 0 {
		o.Sleep(left)
	}
}

// now is the scenario's time in whole tenths of a second.
func (o *owner) now() (now time.Duration) {
	o.Step("looks", func() { now = o.w.Now().Truncate(100 * time.Millisecond) })
	return now
}

// within is a context that ends after a while.
func within(ctx context.Context, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(ctx, d)
	_ = cancel // it ends by itself
	return ctx
}

func TestAReaderIsDeniedTheWriteLockWithoutACommand(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a := owner("A")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			before := len(w.Timeline())
			granted, err := a.TryLock(ctx)
			assert.False(t, granted)
			assert.ErrorIs(t, err, lock.ErrUpgrade)
			assert.ErrorIs(t, a.Lock.Lock(ctx), lock.ErrUpgrade)
			assert.Len(t, w.Timeline(), before)
			assert.NoError(t, a.RUnlock(ctx), "it reads still")
			assert.NoError(t, a.Lock.Lock(ctx), "now it may write")
			assert.NoError(t, a.Unlock(ctx))
		})
	})
}

func TestEachKindOfLockHasItsOwnUnlock(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			assert.ErrorIs(t, a.RUnlock(ctx), lock.ErrNotHeld)
			require.NoError(t, a.RLock(ctx))
			assert.ErrorIs(t, a.Unlock(ctx), lock.ErrNotHeld)
			a.at(2 * second)
			assert.NoError(t, a.RUnlock(ctx))
			require.NoError(t, a.Lock.Lock(ctx))
			assert.ErrorIs(t, a.RUnlock(ctx), lock.ErrNotHeld)
			a.at(4 * second)
			assert.NoError(t, a.Unlock(ctx))
			assert.ErrorIs(t, a.Unlock(ctx), lock.ErrNotHeld)
			assert.ErrorIs(t, a.RUnlock(ctx), lock.ErrNotHeld)
		})
		b.does(second, func(ctx context.Context) {
			granted, err := b.TryLock(ctx)
			assert.False(t, granted, "A's Unlock has not ended A's reading")
			assert.NoError(t, err)
			b.at(3 * second)
			granted, err = b.TryRLock(ctx)
			assert.False(t, granted, "A's RUnlock has not ended A's writing")
			assert.NoError(t, err)
		})
	})
}

func TestBothSidesCountTheirLevels(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			for range 2 {
				require.NoError(t, a.Lock.Lock(ctx))
				require.NoError(t, a.RLock(ctx))
			}
			assert.NoError(t, a.Unlock(ctx))
			a.at(2 * second)
			assert.NoError(t, a.Unlock(ctx)) // remains as a reader
			a.at(4 * second)
			assert.NoError(t, a.RUnlock(ctx))
			require.NoError(t, a.RLock(ctx))
			a.at(6 * second)
			assert.NoError(t, a.RUnlock(ctx))
			a.at(8 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			granted, _ := b.TryRLock(ctx)
			assert.False(t, granted, "A writes")
			for _, moment := range []time.Duration{3, 5, 7} {
				b.at(moment * second)
				granted, _ = b.TryRLock(ctx)
				assert.True(t, granted, "A reads at %d s", moment)
				assert.NoError(t, b.RUnlock(ctx))
				granted, _ = b.TryLock(ctx)
				assert.False(t, granted, "A reads at %d s", moment)
			}
			b.at(9 * second)
			granted, _ = b.TryLock(ctx)
			assert.True(t, granted)
			assert.NoError(t, b.Unlock(ctx))
		})
	})
}

// redisson#2144: a reader with a short lease cuts the lease of another.
func TestAShortLeaseCutsNoLongerOne(t *testing.T) {
	for name, reads := range map[string]func(b *owner, ctx context.Context){
		"when it is taken": func(b *owner, ctx context.Context) {
			require.NoError(b.t, b.RLock(ctx))
		},
		"when a level is left": func(b *owner, ctx context.Context) {
			require.NoError(b.t, b.RLock(ctx))
			require.NoError(b.t, b.RLock(ctx))
			assert.NoError(b.t, b.RUnlock(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(w *lab.World, owner func(string) *owner) {
				a, b, c := owner("A"), owner("B"), owner("C")
				b.ttl = second
				a.does(0, func(ctx context.Context) {
					require.NoError(t, a.RLock(ctx))
					a.Crash()
				})
				b.does(second, func(ctx context.Context) {
					reads(b, ctx)
					b.Crash()
				})
				c.does(3*second, func(ctx context.Context) {
					granted, _ := c.TryLock(ctx)
					assert.False(t, granted, "A's lease is running")
					require.NoError(t, c.Lock.Lock(ctx))
					assert.Equal(t, ttl, c.now(), "and not for longer")
					assert.NoError(t, c.Unlock(ctx))
				})
			})
		})
	}
}

func TestALongLeaseKeepsNoShorterOne(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c := owner("A"), owner("B"), owner("C")
		b.ttl = second
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.at(4 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			require.NoError(t, b.RLock(ctx))
			b.Crash()
		})
		c.does(3*second, func(ctx context.Context) {
			require.NoError(t, c.Lock.Lock(ctx))
			assert.Equal(t, 4*second, c.now(), "B's lease is over since 2 s")
			assert.NoError(t, c.Unlock(ctx))
		})
	})
}

func TestAReaderIsRefusedWhileAWriterWaits(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c := owner("A"), owner("B"), owner("C")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.at(5 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			granted, _ := b.TryLock(ctx)
			assert.False(t, granted)
			b.at(3 * second)
			require.NoError(t, b.Lock.Lock(ctx))
			assert.Equal(t, 5*second, b.now())
			b.at(6 * second)
			assert.NoError(t, b.Unlock(ctx))
		})
		c.does(2*second, func(ctx context.Context) {
			granted, _ := c.TryRLock(ctx)
			assert.True(t, granted, "a TryLock does not wait")
			assert.NoError(t, c.RUnlock(ctx))
			c.at(4 * second)
			granted, _ = c.TryRLock(ctx)
			assert.False(t, granted, "a Lock does")
			require.NoError(t, c.RLock(ctx))
			assert.Equal(t, 6*second, c.now(), "woken by B's Unlock")
			assert.NoError(t, c.RUnlock(ctx))
		})
	})
}

// Three writers hold the lock in turn, and two of them always wait. A reader waits
// for the one that is inside, and not for those.
func TestAReaderPassesByTheOtherWritersAfterOne(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		for i := range 3 {
			o := owner(fmt.Sprint("W", i))
			o.does(time.Duration(i)*100*time.Millisecond,
				func(ctx context.Context) {
					for range 5 {
						require.NoError(t, o.Lock.Lock(ctx))
						o.Sleep(2 * second)
						assert.NoError(t, o.Unlock(ctx))
						o.Sleep(10 * time.Millisecond)
					}
				})
		}
		r := owner("R")
		r.does(3*second, func(ctx context.Context) {
			require.NoError(t, r.RLock(ctx))
			assert.Equal(t, 4*second, r.now())
			assert.NoError(t, r.RUnlock(ctx))
		})
	})
}

// Ten readers of a process wait for a writer. One asks for all, and the others ask
// when it is in.
func TestAWritersUnlockLetsAllReadersInAtOnce(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.Lock.Lock(ctx))
			a.at(3 * second)
			assert.NoError(t, a.Unlock(ctx))
		})
		b.does(second, func(context.Context) {})
		inside := 0
		for range 10 {
			env := b.Env("stock")
			env.Options = append(env.Options, lock.Tokens(func() string {
				inside++ // each token is another one
				return fmt.Sprintf("B#%d", 100+inside)
			}))
			l, err := readwrite.New(env.Nodes[0], env.Key, ttl, env.Options...)
			require.NoError(t, err)
			b.Go(func() {
				b.at(second)
				require.NoError(t, l.RLock(context.Background()))
				assert.Equal(t, 3*second, b.now())
				b.at(5 * second)
				assert.NoError(t, l.RUnlock(context.Background()))
			})
		}
		c := owner("C")
		c.does(4*second, func(context.Context) {
			sent := 0
			for _, e := range w.Timeline() {
				if e.At >= 3*second && strings.Contains(e.Text, "read.lua") {
					sent++
				}
			}
			assert.Equal(t, 10, sent)
		})
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestAReaderThatLostItsLeaseDoesNotEnterAgain(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a := owner("A")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.Step("deletes", func() {
				rdb := a.Env("").Nodes[0].(*redis.Client)
				go rdb.Del(ctx, "{stock}:readers")
			})
			a.at(second)
			granted, err := a.TryRLock(ctx)
			assert.False(t, granted)
			assert.ErrorIs(t, err, lock.ErrLost)
			a.at(4 * second)
			assert.True(t, isClosed(a.Lost()), "its renewal has found nothing")
			assert.ErrorIs(t, a.RUnlock(ctx), lock.ErrNotHeld)
		})
	})
}

func TestTheReadSideIsBusyToASecondGoroutine(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.Lock.Lock(ctx))
			a.at(4 * second)
			assert.NoError(t, a.Unlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			waited := make(chan error)
			go func() { waited <- b.RLock(ctx) }()
			b.at(2 * second)
			_, err := b.TryRLock(ctx)
			assert.ErrorIs(t, err, lock.ErrBusy)
			assert.ErrorIs(t, b.RLock(ctx), lock.ErrBusy)
			assert.ErrorIs(t, b.RUnlock(ctx), lock.ErrBusy)
			assert.NoError(t, <-waited)
			assert.NoError(t, b.RUnlock(ctx))
		})
	})
}

func TestRLockEndsWithItsContext(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b := owner("A"), owner("B")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.Lock.Lock(ctx))
			a.at(6 * second)
			assert.NoError(t, a.Unlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			err := b.RLock(within(ctx, second))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, `wait to read "stock"`)
			assert.Equal(t, 2*second, b.now())
		})
	})
}

func TestOnlyWritersHaveATokenAndItRises(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a := owner("A")
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			assert.Zero(t, a.Token())
			require.NoError(t, a.RUnlock(ctx))
			for want := range uint64(3) {
				require.NoError(t, a.Lock.Lock(ctx))
				require.NoError(t, a.RLock(ctx), "no new grant")
				assert.Equal(t, want+1, a.Token())
				require.NoError(t, a.Unlock(ctx))
				require.NoError(t, a.RUnlock(ctx))
			}
		})
	})
}

// As with readers: a writer with a short lease waits for a moment, and dies.
func TestAShortWaitCutsNoLongerOne(t *testing.T) {
	world(t, func(w *lab.World, owner func(string) *owner) {
		a, b, c, d := owner("A"), owner("B"), owner("C"), owner("D")
		c.ttl = second
		a.does(0, func(ctx context.Context) {
			require.NoError(t, a.RLock(ctx))
			a.at(5 * second)
			assert.NoError(t, a.RUnlock(ctx))
		})
		b.does(second, func(ctx context.Context) {
			require.NoError(t, b.Lock.Lock(ctx))
			assert.NoError(t, b.Unlock(ctx))
		})
		c.does(2*second, func(ctx context.Context) {
			go c.Lock.Lock(ctx)
			c.at(2100 * time.Millisecond)
			c.Crash()
		})
		d.does(3500*time.Millisecond, func(ctx context.Context) {
			granted, err := d.TryRLock(ctx)
			assert.False(t, granted, "B waits")
			assert.NoError(t, err)
		})
	})
}
