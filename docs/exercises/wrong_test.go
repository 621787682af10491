package exercises_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
)

// wrong is an exercise's solution with one mistake, and what refuses it: words of the
// checks, or a scenario's invariant, which may break with another lease only.
type wrong struct {
	name, mistake string
	build         func(t *testing.T, solution lock.Build) lock.Build
	refused       string
}

const elsewhere = "elsewhere: "

var wrongs = []wrong{
	{"bronze", "a map in the process", inProcess, "has lost the lock"},
	{"bronze", "one key for all names", with(func(env *lock.Env) { env.Key = "stock" }),
		"another name"},
	{"bronze", "Unlock always succeeds", calling(lock.Lock.TryLock,
		func(l lock.Lock, ctx context.Context) error {
			l.Unlock(ctx)
			return nil
		}), "nobody holds"},
	{"bronze", "Unlock does nothing", calling(lock.Lock.TryLock,
		func(lock.Lock, context.Context) error { return nil }), "after an Unlock"},
	{"bronze", "it sleeps after each attempt", calling(
		func(l lock.Lock, ctx context.Context) (bool, error) {
			granted, err := l.TryLock(ctx)
			return granted, errors.Join(err, lock.Sleep(ctx, time.Second))
		}, lock.Lock.Unlock), "takes 1s"},
	{"diamond", "a lease of whole seconds", with(func(env *lock.Env) {
		env.TTL = env.TTL.Round(time.Second)
	}), "when the lease of a dead process is over"},
	{"diamond", "half a lease", with(func(env *lock.Env) { env.TTL /= 2 }),
		"before the lease of a dead process"},
	{"gold", "two commands", calling(
		func(l lock.Lock, ctx context.Context) (bool, error) {
			if granted, err := l.TryLock(ctx); granted || err != nil {
				return granted, err
			}
			return l.TryLock(ctx)
		}, lock.Lock.Unlock), "TryLock sent 2 commands"},
	{"watchdog", "no renewal of a short lease", lua("renew.lua", "== ARGV[1] then",
		"== ARGV[1] then\n  if tonumber(ARGV[2]) < 5000 then return 1 end"),
		elsewhere + "partitioned_holder: not told"},
	{"watchdog", "renewals of ten seconds", lua("renew.lua", "ARGV[2])", "10000)"),
		"lease_length: wrong lease"},
	{"fenced", "a counter that ends after four leases", lua("acquire.lua", "return fence",
		"redis.call('PEXPIRE', KEYS[2], 4 * ARGV[2])\nreturn fence"), "an hour later the token is"},
	{"reentrant", "it sleeps for a lease after an error", afterError(
		func(_ lock.Lock, ctx context.Context) error {
			return lock.Sleep(ctx, 10*time.Second)
		}), "whose reply is lost takes"},
	{"reentrant", "it releases after an error", afterError(lock.Lock.Unlock),
		"which is granted already, returns false"},
	{"reentrant", "the same id for each grant", with(func(env *lock.Env) {
		o, _ := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
		id := o.Token()
		env.Options = append(env.Options, lock.Tokens(func() string { return id }))
	}), "late_own_release: foreign release"},
	{"fair", "the queue expires as a whole", hinted("'RPUSH', KEYS[2], ARGV[1])\n",
		"'RPUSH', KEYS[2], ARGV[1])\n  redis.call('PEXPIRE', KEYS[2], ARGV[2])\n"),
		"served in the order"},
	{"fair", "a turn of half a second", hinted("math.floor(ARGV[2] / 20)", "500"),
		"behind 2 dead"},
	{"cohort", "no hand-over", func(t *testing.T, _ lock.Build) lock.Build {
		return locktest.Find(t, "reentrant/fair").Build
	}, "has asked the server"},
	{"readwrite", "one reader that leaves removes all", lua("release.lua",
		"'ZREM', KEYS[2], ARGV[1])", "'DEL', KEYS[2])"),
		"writer_excludes: two holders, foreign release; readers_together: foreign release"},
	{"readwrite", "a renewal lets a reader in again", lua("renew.lua",
		"if not writer and not reader then\n  return 0\nend\n", ""), "has lost the lock"},
	{"readwrite", "half a lease for a reader", lua("read.lua", "now + ARGV[2]",
		"now + ARGV[2] / 2"), "before a dead reader's lease is over"},
	{"readwrite", "a reader's renewal of ten seconds", lua("renew.lua", "now + ARGV[2]",
		"now + 10000"), "dead reader's lease is over"},
	{"readwrite", "no expiry on the readers' key", lua("read.lua",
		"    redis.call('PEXPIRE', key, ARGV[2])\n", ""), "has no expiry"},
}

// An exercise whose check is removed or empty lets one of these pass, or the solution of
// the exercise before.
func TestWrongSolutionsAreRefused(t *testing.T) {
	locktest.Long(t, "it runs the checks of every exercise")
	for _, w := range wrongs {
		t.Run(w.name+" "+w.mistake, func(t *testing.T) {
			e, err := exercise.Find(w.name)
			require.NoError(t, err)
			build := w.build(t, locktest.Find(t, e.Rung).Build)
			flaw, hides := strings.CutPrefix(w.refused, elsewhere)
			scenario, _, _ := strings.Cut(flaw, ": ")
			switch {
			case hides:
				exercise.RunScenarios(t, e, build)
				fails(t, e, build, lock.Flaws(flaw), exercise.Another...)
			case slices.Contains(e.Scenarios, scenario):
				fails(t, e, build, lock.Flaws(strings.Split(flaw, "; ")...))
			default:
				err := e.Anywhere(t, build)
				if err == nil {
					err = e.Check(t, build, nil)
				}
				assert.ErrorContains(t, err, w.refused)
			}
		})
	}
}

// A solution may be another one than the rung.
func TestOtherSolutionsPass(t *testing.T) {
	locktest.Long(t, "it runs two exercises with the explorer")
	t.Run("fair as its page has it", func(t *testing.T) {
		exercise.Run(t, "fair", hinted("math.floor", "math.floor")(t, nil))
	})
	t.Run("diamond with WATCH", func(t *testing.T) {
		exercise.Run(t, "diamond", watching(locktest.Find(t, "diamond").Build))
	})
}

// watching compares the token within WATCH, and deletes the key within MULTI.
func watching(solution lock.Build) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
		if err != nil {
			return nil, err
		}
		var asked, token string
		env.Options = append(env.Options, lock.Tokens(func() string {
			asked = o.Token()
			return asked
		}))
		l, err := solution(env)
		return caller{l, func(l lock.Lock, ctx context.Context) (bool, error) {
			granted, err := l.TryLock(ctx)
			if granted {
				token = asked
			}
			return granted, err
		}, func(_ lock.Lock, ctx context.Context) error {
			err := env.Nodes[0].Watch(ctx, func(tx *redis.Tx) error {
				if found, err := tx.Get(ctx, env.Key).Result(); err != nil {
					return err
				} else if found != token {
					return redis.Nil
				}
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
					return p.Del(ctx, env.Key).Err()
				})
				return err
			}, env.Key)
			if errors.Is(err, redis.Nil) || errors.Is(err, redis.TxFailedErr) {
				return lock.ErrNotHeld
			}
			return err
		}}, err
	}
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

// caller is an owner whose calls do something else than the solution's.
type caller struct {
	solution lock.Lock
	tryLock  func(lock.Lock, context.Context) (bool, error)
	unlock   func(lock.Lock, context.Context) error
}

func (c caller) TryLock(ctx context.Context) (bool, error) {
	return c.tryLock(c.solution, ctx)
}

func (c caller) Lock(ctx context.Context) error {
	for {
		granted, err := c.TryLock(ctx)
		if granted || err != nil {
			return err
		}
		if err := lock.Sleep(ctx, lock.DefaultPoll); err != nil {
			return lock.ContextErr(ctx)
		}
	}
}

func (c caller) Unlock(ctx context.Context) error { return c.unlock(c.solution, ctx) }

func calling(tryLock func(lock.Lock, context.Context) (bool, error),
	unlock func(lock.Lock, context.Context) error) builder {
	return func(_ *testing.T, solution lock.Build) lock.Build {
		return func(env lock.Env) (lock.Lock, error) {
			l, err := solution(env)
			return caller{l, tryLock, unlock}, err
		}
	}
}

// afterError does something when an attempt has failed.
func afterError(do func(lock.Lock, context.Context) error) builder {
	return calling(func(l lock.Lock, ctx context.Context) (bool, error) {
		granted, err := l.TryLock(ctx)
		if err != nil {
			do(l, ctx)
		}
		return granted, err
	}, lock.Lock.Unlock)
}

// inProcess keeps a map of the locks that are held, and asks no server.
func inProcess(_ *testing.T, solution lock.Build) lock.Build {
	var held sync.Map
	return func(env lock.Env) (lock.Lock, error) {
		l, err := solution(env) // it only stands for the owner
		return caller{l, func(l lock.Lock, _ context.Context) (bool, error) {
			_, taken := held.LoadOrStore(env.Key, l)
			return !taken, nil
		}, func(l lock.Lock, _ context.Context) error {
			if !held.CompareAndDelete(env.Key, l) {
				return lock.ErrNotHeld
			}
			return nil
		}}, err
	}
}

// lua is the solution with an edit in one of its scripts.
func lua(script, old, edited string) builder {
	return func(t *testing.T, solution lock.Build) lock.Build {
		name, _, _ := strings.Cut(path.Base(t.Name()), "_")
		e, err := exercise.Find(name)
		require.NoError(t, err)
		source, err := os.ReadFile(filepath.Join("..", "..",
			filepath.FromSlash(e.Rung), script))
		require.NoError(t, err)
		return edit(t, solution, script, string(source), old, edited)
	}
}

// hinted is the solution of the exercise fair that its page has, with an edit.
func hinted(old, edited string) builder {
	return func(t *testing.T, _ lock.Build) lock.Build {
		return edit(t, starts["reentrant/fair"], "acquire.lua", listed(t, "fair"),
			old, edited)
	}
}

func edit(t *testing.T, build lock.Build, name, source, old, edited string) lock.Build {
	require.Equal(t, 1, strings.Count(source, old), "%s has this once: %s", name, old)
	return exercise.WithScripts(build, fstest.MapFS{name: {
		Data: []byte(strings.Replace(source, old, edited, 1))}})
}

// listed is the script on an exercise's page.
func listed(t *testing.T, name string) string {
	page, err := os.ReadFile(filepath.Join(name, "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```lua\n")
	require.True(t, found, "the page of %s has no script", name)
	source, _, _ := strings.Cut(rest, "```")
	return source
}
