package scenarios_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios"
)

// A bad lock may leave goroutines behind that nothing can stop, and a test of
// Run must see Run fail. So this test binary starts itself: each bad lock has a
// process of its own, in which TestABadLock runs it as its author would.

var badLock = flag.String("bad-lock", "", "run this bad lock in TestABadLock")

var badLocks = map[string]struct {
	build   scenarios.Build
	options []scenarios.Option
	says    string // one line of what its author is told
	slow    bool
}{
	"leaks a goroutine": {
		build: changed(func(granted bool, err error) (bool, error) {
			go func() { select {} }()
			return granted, err
		}),
		says: "the lock leaks goroutines: ",
	},
	"holds a mutex over a command": {
		build: holdsMutex,
		says: "the lock is stuck: it holds a mutex while it waits for Redis or" +
			" for time, and another goroutine wants it: ",
	},
	"panics": {
		build: changed(func(bool, error) (bool, error) {
			panic("not a lock at all")
		}),
		says: "A panicked in github.com/lockladder/lockladder/scenarios_test." +
			"init.func2: not a lock at all",
	},
	"is nil": {
		build: func(scenarios.Env) (scenarios.Lock, error) { return nil, nil },
		says: "the lock can't be built: build returns neither a lock nor an" +
			" error",
	},
	"has no build": {says: "build is nil, it must make an owner of the lock"},
	"has a nil option": {
		build:   rung("gold")(),
		options: []scenarios.Option{scenarios.Red(false), nil},
		says:    "option 2 of 2 is nil",
	},
	"declines what nobody asks for": {
		build:   rung("gold")(),
		options: []scenarios.Option{scenarios.WithoutFeatures("reentry")},
		says: `the lock is declared to be without "reentry", the features are` +
			` "re-entry", "renewal", "lost" and "fixed lease"`,
	},
	"asks without end": {
		build:   asksWithoutEnd,
		options: []scenarios.Option{scenarios.Most(20_000)},
		says: "the lock is stuck: it sends 20000 commands in a second of" +
			" virtual time, who waits must let time pass",
	},
	"lives in one process": {
		build: func(scenarios.Env) (scenarios.Lock, error) {
			return sketch{
				try:    func(context.Context) (bool, error) { return true, nil },
				unlock: func(context.Context) error { return nil },
			}, nil
		},
		says: "the lock was granted without a command to a node: build it on" +
			" the clients in Env.Nodes, or on Env.Dial",
	},
	"can't be built": {
		build: func(scenarios.Env) (scenarios.Lock, error) {
			return nil, errors.New("no licence")
		},
		says: "the lock can't be built: no licence",
	},
	"uses a key of its own": {
		build: func(env scenarios.Env) (scenarios.Lock, error) {
			env.Key = "mine:" + env.Key
			return rung("diamond")()(env)
		},
		says: `no client set the key "lock:stock": tell with scenarios.Keys` +
			" which keys stand for the lock",
	},
	"declares an unknown scenario": {
		build: rung("gold")(),
		options: []scenarios.Option{scenarios.Flaws(scenarios.Flaw{
			Scenario: "oversleep", Invariant: scenarios.LostUpdate})},
		says: `a flaw is declared: there is no scenario "oversleep", the` +
			" scenarios are mutual_exclusion, crash_holding, ",
	},
	"runs only an unknown scenario": {
		build:   rung("gold")(),
		options: []scenarios.Option{scenarios.Only("crash_holding", "crash")},
		says: `only some scenarios are to run: there is no scenario "crash",` +
			" the scenarios are mutual_exclusion, crash_holding, ",
	},
	"declares an unknown invariant": {
		build: rung("gold")(),
		options: []scenarios.Option{scenarios.Flaws(scenarios.Flaw{
			Scenario: "oversell", Invariant: "last update"})},
		says: `a flaw is declared of invariant "last update" in oversell, its` +
			" invariants are lost update",
	},
	"breaks what it does not declare": {
		build: rung("diamond")(),
		options: []scenarios.Option{scenarios.WithoutFeatures(scenarios.Reentry,
			scenarios.Renewal, scenarios.Telling)},
		says: "what this run has broken, to declare it:\n" +
			"        \tscenarios.Flaws(\n" +
			"        \t\tscenarios.Flaw{Scenario: \"overrun_overlap\"," +
			" Invariant: \"two holders\"},\n",
	},
	"has no node": {
		build:   rung("gold")(),
		options: []scenarios.Option{scenarios.Nodes(0)},
		says:    "0 nodes, a lock needs at least one",
	},
	"spins": {
		build: changed(func(bool, error) (bool, error) {
			for time.Now().Unix() > 0 {
			}
			return false, nil
		}),
		says: "the lock is stuck: nothing has happened for 10s of real time",
		slow: true,
	},
}

// asksWithoutEnd polls without a pause.
func asksWithoutEnd(env scenarios.Env) (scenarios.Lock, error) {
	l, err := rung("gold")()(env)
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			for {
				if granted, err := l.TryLock(ctx); granted || err != nil {
					return granted, err
				}
			}
		},
		unlock: l.Unlock,
	}, err
}

// holdsMutex guards its fields and its commands with one mutex, as one would in
// an ordinary program: here the watchdog waits for it while Redis is slow.
func holdsMutex(env scenarios.Env) (scenarios.Lock, error) {
	gold, err := rung("gold")()(env)
	var mu sync.Mutex
	stop := func() {}
	return sketch{
		try: func(ctx context.Context) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			granted, err := gold.TryLock(ctx)
			if !granted || err != nil {
				return granted, err
			}
			watching, cancel := context.WithCancel(context.Background())
			stop = cancel
			go func() {
				for watching.Err() == nil {
					mu.Lock()
					env.Nodes[0].PExpire(watching, env.Key, env.TTL)
					mu.Unlock()
					time.Sleep(env.TTL / 3)
				}
			}()
			return true, nil
		},
		unlock: func(ctx context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			defer stop()
			return gold.Unlock(ctx)
		},
	}, err
}

func TestABadLock(t *testing.T) {
	bad, ok := badLocks[*badLock]
	if !ok {
		t.Skip("only started by TestBadLocksAreToldInOneLine")
	}
	scenarios.Run(t, bad.build, bad.options...)
}

func TestBadLocksAreToldInOneLine(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, bad := range badLocks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if bad.slow && os.Getenv("SLOW") == "" {
				t.Skip("takes ten seconds of real time: set SLOW=1")
			}
			out, err := exec.Command(self, "-test.run=^TestABadLock$",
				"-test.timeout=2m", "-bad-lock="+name).CombinedOutput()
			exit := new(exec.ExitError)
			require.ErrorAs(t, err, &exit, "the process ends with:\n%s", out)
			assert.Equal(t, 1, exit.ExitCode(), "it fails, and does not crash")
			assert.NotContains(t, string(out), "panic: ")
			assert.Contains(t, string(out), bad.says)
		})
	}
}
