package scenarios_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/lock"
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

	{"an Unlock that returns nil when the server can't be reached", 1,
		swallowsErrors, []string{"failed_unlock: told a lie"}},
	{"an Unlock that takes a network error for a lost lease", 1,
		blamesTheLease, []string{"failed_unlock: told a lie"}},
	{"an inner Unlock that doesn't count when it fails", 1, keepsTheCount,
		[]string{"failed_inner_unlock: orphaned"}},
	{"an inner Unlock that releases the whole lock when it fails", 1, givesUp,
		[]string{"failed_inner_unlock: two holders"}},
	{"GET, GET, DEL", 1, looksTwice, []string{
		"compare_twice: foreign release"}},
	{"a lock that renews in spite of FixedLease", 1, alwaysRenews, []string{
		"fixed_lease: wrong lease"}},
	{"a lock without Lost under FixedLease", 1, silentWhenFixed, []string{
		"fixed_lease: not told"}},
	{"owner ids from the nanosecond clock", 1, named("reentrant", byTheClock),
		[]string{"born_together: two holders"}},
	{"owner ids that are drawn ahead, from the nanosecond clock", 1,
		drawnAhead(byTheClock), []string{"born_together: foreign release"}},
	{"owner ids that are unique in one process", 1,
		named("reentrant", byTheProcess()), []string{
			"born_together: two holders"}},
	{"a TryLock that polls for five seconds", 1, patientTryLock, []string{
		"prompt_answers: hangs"}},
	{"an Unlock that sleeps for a second", 1, sleepyUnlock, []string{
		"prompt_answers: hangs"}},
	{"a TryLock that waits for an answer after its deadline", 1, deafTryLock,
		[]string{"prompt_answers: hangs"}},
	{"a hundred attempts without a pause", 1, hurriedTryLock, []string{
		"prompt_answers: busy waiting"}},
	{"a counter of fencing tokens with a TTL of four leases", 1,
		tokens(nil, forgotten), []string{"tokens_rise: wrong token"}},
	{"a fencing token that is taken before the lock", 1, tokens(counted, nil),
		[]string{"tokens_rise: wrong token"}},
	{"fencing tokens from the client's clock", 1, tokens(nil, clocked),
		[]string{"tokens_rise: wrong token"}},
	{"fencing tokens from when the owner was built", 1, tokens(nil, born),
		[]string{"tokens_rise: wrong token"}},
	{"fencing tokens from when the owner was built, with a count", 1,
		tokens(nil, bornAndCounted), []string{"tokens_rise: wrong token"}},
	{"a TryLock that takes the lock once more after an error", 1, secondTry,
		[]string{"lost_reply: told a lie"}},
	{"a lock whose renewal waits for its answer forever", 1, renewsForever,
		[]string{"renewal_hangs: two holders"}},
	{"a lock whose owner ids repeat from one owner of a process to the next", 1,
		idsOf(func(env scenarios.Env, n, _ int) string {
			return fmt.Sprintf("%p#%d", env.Process, n)
		}), []string{"two_owners_one_process: two holders"}},
	{"a lock whose owner ids repeat from one process to the next", 1,
		idsOf(func(_ scenarios.Env, _, n int) string {
			return fmt.Sprint(n)
		}), []string{"mutual_exclusion: two holders"}},
	{"a lock that takes a silent waiter for dead", 1, silentIsDead, []string{
		"far_process: starvation"}},
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

// renewsForever is platinum with renewals that have no time limit.
func renewsForever() scenarios.Build {
	return func(env scenarios.Env) (scenarios.Lock, error) {
		platinum, err := rung("platinum")()(env)
		renewing, stop := context.WithCancel(context.Background())
		stop()
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				granted, err := platinum.TryLock(ctx)
				if !granted || err != nil {
					return granted, err
				}
				renewing, stop = context.WithCancel(context.Background())
				go func(ctx context.Context) {
					for lock.Sleep(ctx, env.TTL/3) == nil {
						env.Nodes[0].PExpire(ctx, env.Key, env.TTL)
					}
				}(renewing)
				return true, nil
			},
			unlock: func(ctx context.Context) error {
				stop()
				return platinum.Unlock(ctx)
			},
		}, err
	}
}

// idsOf is reentrant with owner ids that are made from the process, and from how
// many the owner, or its process, has drawn.
func idsOf(id func(env scenarios.Env, ofOwner, ofProcess int) string) func() scenarios.Build {
	return func() scenarios.Build {
		drawn := map[any]int{} // by the owners of a process
		return func(env scenarios.Env) (scenarios.Lock, error) {
			own := 0
			env.Options = append(env.Options, lock.Tokens(func() string {
				own++
				drawn[env.Process]++
				return id(env, own, drawn[env.Process])
			}))
			return rung("reentrant")()(env)
		}
	}
}

// silentIsDead is gold with a list of those who wait at the server. A waiter that
// is silent for a twentieth of the lease is taken for dead, and begins anew.
func silentIsDead() scenarios.Build {
	acquire := redis.NewScript(`
		local waits = redis.call('EXISTS', KEYS[2]) == 1
		local lives = redis.call('EXISTS', KEYS[3]) == 1
		if redis.call('EXISTS', KEYS[1]) == 1 or waits and not lives then
			redis.call('SET', KEYS[2], 1, 'PX', ARGV[1])
			redis.call('SET', KEYS[3], 1, 'PX', math.floor(ARGV[1] / 20))
			return 0
		end
		redis.call('DEL', KEYS[2], KEYS[3])
		redis.call('SET', KEYS[1], 'taken', 'PX', ARGV[1])
		return 1`)
	owners := 0
	return func(env scenarios.Env) (scenarios.Lock, error) {
		owners++
		rdb := env.Nodes[0]
		keys := []string{env.Key, lock.Beside(env.Key, fmt.Sprint(owners, ":waits")),
			lock.Beside(env.Key, fmt.Sprint(owners, ":lives"))}
		return sketch{
			try: func(ctx context.Context) (bool, error) {
				return acquire.Run(ctx, rdb, keys, env.TTL.Milliseconds()).Bool()
			},
			unlock: func(ctx context.Context) error {
				return rdb.Del(ctx, env.Key).Err()
			},
		}, nil
	}
}
