package scenarios_test

import (
	"flag"
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

var everyVariant = flag.Bool("variants", false,
	"run the scenarios in every world that differs, which takes half a minute")

// variant is a world that differs from the usual one in something that no verdict
// should depend on.
type variant struct {
	name    string
	options []scenarios.Option
	masks   []string // "scenario: invariant", whose verdict is another here, and why

	// build changes the locks; nil changes nothing.
	build func(lock.Build) lock.Build
}

var (
	shortLease = scenarios.Lease(500 * time.Millisecond)
	strayBrace = scenarios.Key("a}b")
	resp3      = scenarios.Driver(func(o *redis.Options) { o.Protocol = 3 })
	withPings  = wrong.Beside(1, "PING")
)

var variants = []variant{
	{name: "a lease of half a second, a stray brace in the key, RESP3, and PINGs",
		options: []scenarios.Option{shortLease, strayBrace, resp3}, build: withPings},
	{name: "two PINGs beside the first command", build: withPings},
	{name: "two questions of a metric beside each command",
		build: wrong.Beside(0, "PFCOUNT", "lockladder:calls")},
	{name: "a lease of half a second",
		options: []scenarios.Option{shortLease}},
	{name: "a lease of ten and a half seconds", options: []scenarios.Option{
		scenarios.Lease(10500 * time.Millisecond)}},
	{name: "a key with a hash tag",
		options: []scenarios.Option{scenarios.Key("{a}b")}},
	{name: "a key with a stray brace", options: []scenarios.Option{strayBrace}},
	{name: "a key with a space",
		options: []scenarios.Option{scenarios.Key("the stock")}},
	{name: "RESP3", options: []scenarios.Option{resp3}},
	{name: "the driver's defaults",
		options: []scenarios.Option{scenarios.Driver(driversDefaults)},
		masks: []string{
			// The driver waits for a reply until 5 s, and doesn't hear the late one.
			"late_grant: two holders",
			// The locks that renew don't repeat a command that may be under way:
			// A is told after 5 s that it doesn't know, and can't release the grant
			// that comes at 11 s. Repeated, it might come after A's Unlock.
			"late_grant: orphaned",
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

// The first of the variants differs in several things at once; the others tell which
// of them it was.
func TestVerdictsAreTheSameInAWorldThatDiffersALittle(t *testing.T) {
	locktest.WhenNamed(t, "it runs every scenario again in another world, which takes"+
		" five seconds: go test ./scenarios -run DiffersALittle")
	for i, variant := range variants {
		if i > 0 && !*everyVariant {
			break
		}
		t.Run(variant.name, func(t *testing.T) {
			for _, rung := range ladder.Rungs {
				t.Run(rung.Name, func(t *testing.T) {
					t.Parallel()
					variant.run(t, rung)
				})
			}
		})
	}
}

// run holds the verdicts against what the ladder declares. A masked flaw may show or
// not.
func (v variant) run(t *testing.T, rung ladder.Rung) {
	masked := lock.Flaws(v.masks...)
	rung.Flaws = slices.DeleteFunc(slices.Clone(rung.Flaws), func(f lock.Flaw) bool {
		return slices.Contains(masked, f)
	})
	build := rung.Build
	if v.build != nil {
		build = v.build(build)
	}
	scenarios.Run(t, build, slices.Concat(locktest.Options(rung), v.options,
		[]scenarios.Option{scenarios.Sometimes(masked...)})...)
}
