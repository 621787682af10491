package exercises_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/exercise"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// wrong is an exercise's solution with one mistake.
type wrong struct {
	number, mistake string
	build           func(t *testing.T, solution lock.Build) lock.Build
	refused         string      // what the checks say, or
	breaks          []lock.Flaw // what of the scenarios breaks with another lease
}

var wrongs = []wrong{
	{number: "01", mistake: "a map in the process", refused: "has lost the lock",
		build: inProcess(false, own)},
	{number: "01", mistake: "a map beside the key", refused: "has lost the lock",
		build: inProcess(true, own)},
	{number: "01", mistake: "one key for all names", refused: "another name",
		build: with(func(env *lock.Env) { env.Key = "stock" })},
	{number: "01", mistake: "Unlock always succeeds", refused: "nobody holds",
		build: calling(tryLock, func(ctx context.Context, l lock.Lock) error {
			l.Unlock(ctx)
			return nil
		})},
	{number: "01", mistake: "Unlock does nothing", refused: "after an Unlock",
		build: calling(tryLock, func(context.Context, lock.Lock) error { return nil })},
	{number: "01", mistake: "it sleeps after each attempt", refused: "took 1s",
		build: calling(func(ctx context.Context, l lock.Lock) (bool, error) {
			granted, err := l.TryLock(ctx)
			return granted, errors.Join(err, lock.Sleep(ctx, time.Second))
		}, unlock)},
	{number: "01", mistake: "another lock keeps it out", refused: "another name",
		build: inProcess(true, func(string) string { return "" })},
	{number: "04", mistake: "a lease of ten seconds", refused: "after the lease",
		build: lasting(func(time.Duration) time.Duration { return 10 * time.Second })},
	{number: "04", mistake: "a lease of an hour", refused: "after the lease",
		build: lasting(func(time.Duration) time.Duration { return time.Hour })},
	{number: "07", mistake: "a lease of whole seconds", refused: "after the lease",
		build: lasting(func(d time.Duration) time.Duration {
			return d.Round(time.Second)
		})},
	{number: "04", mistake: "two commands", refused: "TryLock sent 2 commands",
		build: calling(func(ctx context.Context, l lock.Lock) (bool, error) {
			if granted, err := l.TryLock(ctx); granted || err != nil {
				return granted, err
			}
			return l.TryLock(ctx)
		}, unlock)},
	{number: "08", mistake: "renewals of ten seconds",
		build:  lua("renew.lua", "ARGV[2])", "10000)"),
		breaks: lock.Flaws("lease_length: wrong lease")},
	{number: "09", mistake: "it sleeps for a lease after an error",
		refused: "lost: took",
		build: afterError(func(ctx context.Context, _ lock.Lock) {
			lock.Sleep(ctx, 10*time.Second)
		})},
	{number: "09", mistake: "it releases after an error", refused: "its own grant: returns false",
		build: afterError(func(ctx context.Context, l lock.Lock) {
			l.Unlock(ctx)
		})},
	{number: "09", mistake: "the same id for each grant",
		build: with(func(env *lock.Env) {
			o, _ := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
			id := o.Token()
			env.Options = append(env.Options, lock.Tokens(func() string { return id }))
		}),
		breaks: lock.Flaws("late_own_release: foreign release")},
	{number: "10", mistake: "waiters poll", refused: "while it waited B sent",
		build: rung("reentrant")},
	{number: "12", mistake: "no queue", refused: "served in the order",
		build: rung("diamond")},
	{number: "12", mistake: "the queue expires as a whole",
		refused: "served in the order",
		build: hinted("  redis.call('RPUSH', KEYS[2], ARGV[1])\n",
			"  redis.call('RPUSH', KEYS[2], ARGV[1])\n"+
				"  redis.call('PEXPIRE', KEYS[2], ARGV[2])\n")},
	{number: "12", mistake: "a turn of half a second", refused: "behind 2 dead",
		build: hinted("math.floor(ARGV[2] / 20)", "500")},
	{number: "15", mistake: "one reader that leaves removes all",
		build:  lua("release.lua", "redis.call('ZREM', KEYS[2], ARGV[1])", "redis.call('DEL', KEYS[2])"),
		breaks: lock.Flaws("writer_excludes: two holders")},
	{number: "15", mistake: "a renewal lets a reader in again", refused: "has lost the lock",
		build: lua("renew.lua", "if not writer and not reader then\n  return 0\nend\n", "")},
	{number: "15", mistake: "a reader's lease of ten seconds", refused: "a dead reader",
		build: lua("read.lua", "now + ARGV[2]", "now + 10000")},
	{number: "15", mistake: "a reader's renewal of ten seconds", refused: "a dead reader",
		build: lua("renew.lua", "now + ARGV[2]", "now + 10000")},
	{number: "15", mistake: "no expiry on the readers' key", refused: "has no expiry",
		build: lua("read.lua", "    redis.call('PEXPIRE', key, ARGV[2])\n", "")},
	{number: "15", mistake: "no readers", refused: "needs RLock",
		build: rung("reentrant/notify")},
}

// Each part of the checks refuses a solution that nothing else refuses.
func TestWrongSolutionsAreRefused(t *testing.T) {
	laddertest.Long(t, "it runs the checks of every exercise")
	for _, w := range wrongs {
		t.Run(w.number+" "+w.mistake, func(t *testing.T) {
			e, err := exercise.Find(w.number)
			require.NoError(t, err)
			build := w.build(t, laddertest.Find(t, e.Rung).Build)
			if w.breaks != nil {
				require.Subset(t, e.Scenarios, []string{w.breaks[0].Scenario})
				fails(t, e, build, w.breaks)
				return
			}
			assert.ErrorContains(t, judged(t, e, build), w.refused)
		})
	}
}

// judged is what the checks say.
func judged(t *testing.T, e exercise.Exercise, build lock.Build) error {
	err := e.Anywhere(t, build)
	if err != nil || e.Check == nil {
		return err
	}
	var report scenarios.Report
	if e.Number == "10" {
		report = exercise.RunScenarios(t, e, build)
	}
	return e.Check(t, build, report)
}

type builder = func(*testing.T, lock.Build) lock.Build

// with builds the solution for another environment.
func with(change func(*lock.Env)) builder {
	return func(_ *testing.T, solution lock.Build) lock.Build {
		return func(env lock.Env) (lock.Lock, error) {
			change(&env)
			return solution(env)
		}
	}
}

func lasting(ttl func(time.Duration) time.Duration) builder {
	return with(func(env *lock.Env) { env.TTL = ttl(env.TTL) })
}

func rung(name string) builder {
	return func(t *testing.T, _ lock.Build) lock.Build {
		return laddertest.Find(t, name).Build
	}
}

// caller is an owner whose calls do something else than the solution's.
type caller struct {
	solution lock.Lock
	tryLock  func(context.Context, lock.Lock) (bool, error)
	unlock   func(context.Context, lock.Lock) error
}

func (c caller) TryLock(ctx context.Context) (bool, error) {
	return c.tryLock(ctx, c.solution)
}

func (c caller) Lock(ctx context.Context) error {
	for {
		granted, err := c.TryLock(ctx)
		if granted || err != nil {
			return err
		}
		if err := lock.Sleep(ctx, lock.DefaultPoll); err != nil {
			return lock.Ended(ctx)
		}
	}
}

func (c caller) Unlock(ctx context.Context) error { return c.unlock(ctx, c.solution) }

func tryLock(ctx context.Context, l lock.Lock) (bool, error) { return l.TryLock(ctx) }

func unlock(ctx context.Context, l lock.Lock) error { return l.Unlock(ctx) }

func calling(tryLock func(context.Context, lock.Lock) (bool, error),
	unlock func(context.Context, lock.Lock) error) builder {
	return func(_ *testing.T, solution lock.Build) lock.Build {
		return func(env lock.Env) (lock.Lock, error) {
			l, err := solution(env)
			return caller{l, tryLock, unlock}, err
		}
	}
}

// afterError does something when an attempt has failed.
func afterError(do func(context.Context, lock.Lock)) builder {
	return calling(func(ctx context.Context, l lock.Lock) (bool, error) {
		granted, err := l.TryLock(ctx)
		if err != nil {
			do(ctx, l)
		}
		return granted, err
	}, unlock)
}

// inProcess keeps a map of the locks that are held, in place of the server or beside
// it. Mapped is the name that a lock has in it.
func inProcess(asks bool, mapped func(key string) string) builder {
	return func(_ *testing.T, solution lock.Build) lock.Build {
		var held sync.Map
		return func(env lock.Env) (lock.Lock, error) {
			l, err := solution(env)
			name := mapped(env.Key)
			return caller{l, func(ctx context.Context, l lock.Lock) (bool, error) {
				if _, taken := held.LoadOrStore(name, l); taken {
					return false, nil
				}
				if !asks {
					return true, nil
				}
				return l.TryLock(ctx)
			}, func(ctx context.Context, l lock.Lock) error {
				if !held.CompareAndDelete(name, l) {
					return lock.ErrNotHeld
				}
				if !asks {
					return nil
				}
				return l.Unlock(ctx)
			}}, err
		}
	}
}

func own(key string) string { return key }

// lua is the solution with an edit in one of its scripts.
func lua(name, old, edited string) builder {
	return func(t *testing.T, solution lock.Build) lock.Build {
		number, _, _ := strings.Cut(strings.Split(t.Name(), "/")[1], "_")
		e, err := exercise.Find(number)
		require.NoError(t, err)
		source, err := os.ReadFile(filepath.Join("..", "..",
			filepath.FromSlash(e.Rung), name))
		require.NoError(t, err)
		return edit(t, solution, name, string(source), old, edited)
	}
}

// hinted is the solution of exercise 12 that its page has, with an edit.
func hinted(old, edited string) builder {
	return func(t *testing.T, _ lock.Build) lock.Build {
		return edit(t, starts["reentrant/fair"], "acquire.lua", listed(t, "12"),
			old, edited)
	}
}

func edit(t *testing.T, build lock.Build, name, source, old, edited string) lock.Build {
	require.Equal(t, 1, strings.Count(source, old), "%s has this once: %s", name, old)
	return exercise.WithScripts(build, fstest.MapFS{name: {
		Data: []byte(strings.Replace(source, old, edited, 1))}})
}

// listed is the script on an exercise's page.
func listed(t *testing.T, number string) string {
	page, err := os.ReadFile(filepath.Join(number, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```lua\n")
	require.True(t, found, "the page of %s has no script", number)
	source, _, _ := strings.Cut(rest, "```")
	return source
}
