package scenarios_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// variant is a world that differs from the usual one in something that no verdict
// should depend on.
type variant struct {
	name    string
	options []scenarios.Option
	masks   []string // "scenario: invariant", whose verdict is another here, and why
	build   func(lock.Build) lock.Build
}

var variants = []variant{
	{name: "a lease of half a second, a stray brace in the key, RESP3, and PINGs",
		options: []scenarios.Option{scenarios.Lease(500 * time.Millisecond),
			scenarios.Key("a}b"),
			scenarios.Driver(func(o *redis.Options) { o.Protocol = 3 })},
		build: wrong.Beside(1, "PING")},
	{name: "a hash tag and a space in the key, and the driver's defaults",
		options: []scenarios.Option{scenarios.Key("{a} b"), scenarios.Driver(driversDefaults)},
		build:   func(b lock.Build) lock.Build { return b },
		masks: []string{
			// The driver waits for a reply until 5 s, and doesn't hear the late one.
			"late_grant: two holders",
			// The locks that renew don't repeat a command that may be under way:
			// A is told after 5 s that it doesn't know, and can't release the grant
			// that comes at 11 s. Repeated, it might come after A's Unlock.
			"late_grant: orphaned",
			// Bronze's lease doesn't end, and B, which was refused, unlocks A's lock.
			"late_grant: foreign release",
			// It doesn't look at the caller's deadline, so A is granted the lock
			// late, and releases it.
			"abandoned_acquire: orphaned",
		},
	},
}

// driversDefaults are go-redis's own settings: it sends a command that was not
// answered up to three times more, and ignores deadlines.
func driversDefaults(o *redis.Options) {
	o.MaxRetries, o.DialerRetries = 0, 0
	o.ReadTimeout, o.WriteTimeout = 0, 0
	o.ContextTimeoutEnabled = false
}

func TestVerdictsAreTheSameInAWorldThatDiffersALittle(t *testing.T) {
	locktest.WhenNamed(t, "it runs every scenario again in other worlds, which takes"+
		" ten seconds: go test ./scenarios -run DiffersALittle")
	for _, v := range variants {
		masked := lock.Flaws(v.masks...) // they may show or not
		for _, rung := range ladder.Rungs {
			t.Run(v.name+"/"+rung.Name, func(t *testing.T) {
				t.Parallel()
				rung.Flaws = slices.DeleteFunc(slices.Clone(rung.Flaws), func(f lock.Flaw) bool {
					return slices.Contains(masked, f)
				})
				scenarios.Run(t, v.build(rung.Build), slices.Concat(locktest.Options(rung),
					v.options, []scenarios.Option{scenarios.Sometimes(masked...),
						scenarios.Worlds(0, 0)})...)
			})
		}
	}
}
