package scenarios_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// A story that no rung breaks could be one that nothing can break. So each of
// them has a lock here that is wrong on purpose, or a mutant in mutants_test.go.
var wrongLocks = []struct {
	what   string
	nodes  int
	build  func() scenarios.Build
	breaks []string // "scenario: invariant"
}{
	{"no lock at all", 1, noLock, []string{
		"mutual_exclusion: two holders",
		"oversell: lost update",
	}},
	{"a mutex in each of four services", 1, mutexPerService, []string{
		"mutual_exclusion: two holders",
		"oversell: lost update",
	}},
	{"a lock variable that is read, checked and set", 1, readCheckSet, []string{
		"mutual_exclusion: two holders",
		"simultaneous_takeover: two holders",
	}},
	{"a lock that waits for a message and for nothing else", 1, messageOnly,
		[]string{"lost_wakeup: orphaned"}},
	{"a lock that sends EVALSHA and never EVAL", 1, onlyEvalSHA, []string{
		"script_cache_flushed: unavailable"}},
	{"a lock that claims to renew and does not", 1, rung("gold"), []string{
		"cancelled_context: two holders",
		"renewal_fails_once: two holders",
	}},
	{"a lock that takes an error for a grant", 1, optimist, []string{
		"nodes_down: two holders"}},
	{"a lock that asks until somebody answers", 1, stubborn, []string{
		"nodes_down: hangs"}},
	{"a majority of all", 5, votes(5, true), []string{
		"nodes_down: unavailable"}},
	{"a majority of two in five", 5, votes(2, true), []string{
		"nodes_down: two holders"}},
	{"a majority that keeps what it got in vain", 5, votes(3, false), []string{
		"nodes_down: orphaned"}},
}

func TestWrongLocksBreakWhatNoRungBreaks(t *testing.T) {
	for _, wrong := range wrongLocks {
		for _, pair := range wrong.breaks {
			t.Run(wrong.what+" breaks "+pair, func(t *testing.T) {
				scenario, invariant, _ := strings.Cut(pair, ": ")
				results, err := scenarios.Tell(t, scenario, wrong.build(),
					scenarios.Nodes(wrong.nodes))
				require.NoError(t, err)
				verdict := scenarios.Report(results).Verdict(scenario, invariant)
				assert.Equal(t, scenarios.Breaks, verdict)
			})
		}
	}
}

// Whoever adds an invariant that no rung breaks is asked for a wrong lock.
func TestEveryInvariantIsBrokenBySomething(t *testing.T) {
	var broken []string
	for _, rung := range ladder.Rungs {
		for _, flaw := range rung.Flaws {
			broken = append(broken, flaw.Scenario+": "+flaw.Invariant)
		}
	}
	for _, m := range mutants {
		broken = append(broken, m.killer)
	}
	for _, wrong := range wrongLocks {
		broken = append(broken, wrong.breaks...)
	}
	for _, scenario := range scenarios.Catalogue {
		for _, invariant := range scenario.Invariants {
			assert.True(t, slices.Contains(broken,
				scenario.Name+": "+invariant), "no rung, no mutant and no wrong"+
				" lock breaks %s: %s", scenario.Name, invariant)
		}
	}
}

// sketch is a lock of two functions; its Lock asks ten times a second.
type sketch struct {
	try    func(context.Context) (bool, error)
	unlock func(context.Context) error
}

func (s sketch) TryLock(ctx context.Context) (bool, error) { return s.try(ctx) }
func (s sketch) Unlock(ctx context.Context) error          { return s.unlock(ctx) }

func (s sketch) Lock(ctx context.Context) error {
	for {
		if granted, err := s.try(ctx); granted || err != nil {
			return err
		}
		if err := lock.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// rung is a lock of the ladder that is told stories which it does not claim.
func rung(name string) func() scenarios.Build {
	return func() scenarios.Build {
		return func(env scenarios.Env) (scenarios.Lock, error) {
			rung, err := ladder.Find(name)
			if err != nil {
				return nil, err
			}
			return rung.Build(env)
		}
	}
}

// noLock asks nobody. The key is a mark for the lab: whoever comes overwrites it.
func noLock() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		rdb := env.Nodes[0]
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				return true, rdb.Set(ctx, env.Key, "taken", env.TTL).Err()
			},
			unlock: func(ctx context.Context) error {
				return rdb.Del(ctx, env.Key).Err()
			},
		}, nil
	}
}

// mutexPerService excludes whoever is in the same service, and nobody else. The
// clients belong to four services in turn.
func mutexPerService() scenarios.Build {
	type service struct {
		key    string
		number int
	}
	mutexes := map[service]chan struct{}{}
	clients := map[string]int{}
	return func(env scenarios.Env) (scenarios.Lock, error) {
		of := service{env.Key, clients[env.Key] % 4}
		clients[env.Key]++
		if mutexes[of] == nil {
			mutexes[of] = make(chan struct{}, 1)
		}
		mutex, everybody := mutexes[of], noLock()
		marked, err := everybody(env)
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				select {
				case mutex <- struct{}{}:
					return marked.TryLock(ctx)
				default:
					return false, nil
				}
			},
			unlock: func(ctx context.Context) error {
				defer func() { <-mutex }()
				return marked.Unlock(ctx)
			},
		}, err
	}
}

// readCheckSet is the lock variable that seeds/003 begins with: between its GET
// and its SET, ten milliseconds later, everybody else finds the lock free.
func readCheckSet() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		rdb := env.Nodes[0]
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				found, err := rdb.Exists(ctx, env.Key).Result()
				if found == 1 || err != nil {
					return false, err
				}
				if err := lock.Sleep(ctx, 10*time.Millisecond); err != nil {
					return false, err
				}
				return true, rdb.Set(ctx, env.Key, "taken", env.TTL).Err()
			},
			unlock: func(ctx context.Context) error {
				return rdb.Del(ctx, env.Key).Err()
			},
		}, nil
	}
}

// listener waits for the message of a release, and never asks by itself.
type listener struct {
	sketch
	rdb     redis.UniversalClient
	channel string
}

func (l listener) Lock(ctx context.Context) error {
	for {
		if granted, err := l.try(ctx); granted || err != nil {
			return err
		}
		if err := l.listen(ctx); err != nil {
			return err
		}
	}
}

func (l listener) listen(ctx context.Context) error {
	released := l.rdb.Subscribe(ctx, l.channel)
	defer released.Close()
	select {
	case <-released.Channel():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func messageOnly() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		rdb, channel := env.Nodes[0], lock.Beside(env.Key, "released")
		return listener{rdb: rdb, channel: channel, sketch: sketch{
			try: func(ctx context.Context) (bool, error) {
				return rdb.SetNX(ctx, env.Key, "taken", env.TTL).Result()
			},
			unlock: func(ctx context.Context) error {
				if err := rdb.Del(ctx, env.Key).Err(); err != nil {
					return err
				}
				return rdb.Publish(ctx, channel, "released").Err()
			},
		}}, nil
	}
}

// onlyEvalSHA loads its script once, and trusts the server to keep it.
func onlyEvalSHA() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		rdb, loaded := env.Nodes[0], false
		release := redis.NewScript(`return redis.call('DEL', KEYS[1])`)
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				if !loaded {
					loaded = release.Load(ctx, rdb).Err() == nil
				}
				return rdb.SetNX(ctx, env.Key, "taken", env.TTL).Result()
			},
			unlock: func(ctx context.Context) error {
				return release.EvalSha(ctx, rdb, []string{env.Key}).Err()
			},
		}, nil
	}
}

// optimist believes that a server which can't be reached has nothing against it.
func optimist() scenarios.Build {
	return changed(func(try bool, err error) (bool, error) {
		return try || err != nil, nil
	})
}

// changed is gold with another reading of what the server said.
func changed(read func(bool, error) (bool, error)) scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		gold, err := rung("gold")()(env)
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				return read(gold.TryLock(ctx))
			},
			unlock: func(ctx context.Context) error { return gold.Unlock(ctx) },
		}, err
	}
}

// stubborn asks again when the server can't be reached, whatever the caller says.
func stubborn() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		gold, err := rung("gold")()(env)
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				for {
					granted, err := gold.TryLock(ctx)
					if err == nil {
						return granted, nil
					}
					time.Sleep(time.Second)
				}
			},
			unlock: func(ctx context.Context) error { return gold.Unlock(ctx) },
		}, err
	}
}

// votes asks every node, needs so many, and gives back what it got in vain, or
// keeps it.
func votes(need int, giveBack bool) func() scenarios.Build {
	const patience = 100 * time.Millisecond
	return func() scenarios.Build {
		return func(env scenarios.Env) (scenarios.Lock, error) {
			unlock := func(ctx context.Context) error {
				for _, rdb := range env.Nodes {
					ctx, cancel := context.WithTimeout(ctx, patience)
					rdb.Del(ctx, env.Key)
					cancel()
				}
				return nil
			}
			return sketch{unlock: unlock,
				try: func(ctx context.Context) (bool, error) {
					got := 0
					for _, rdb := range env.Nodes {
						ctx, cancel := context.WithTimeout(ctx, patience)
						if rdb.SetNX(ctx, env.Key, "taken", env.TTL).Val() {
							got++
						}
						cancel()
					}
					if got < need && giveBack {
						return false, unlock(ctx)
					}
					return got >= need, nil
				},
			}, nil
		}
	}
}
