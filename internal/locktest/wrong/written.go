package wrong

import (
	"context"
	"errors"
	"time"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// written are the mutants that are no edited rung. A lock that is built by a
// function is new in each run.
var written = []Mutant{
	{Name: "no lock at all",
		Build: always(noLock),
		Killers: []string{"mutual_exclusion: two holders", "oversell: lost update",
			"prompt_answers: two holders", "hung_worker: two holders"}},
	{Name: "a lock that says yes whatever the server says",
		Build:   always(changed(func(_ bool, err error) (bool, error) { return true, err })),
		Killers: []string{"crash_holding: false success"}},
	{Name: "a lock that tells its holder of a loss that is none",
		Build:   always(Mistakes{Alarm: true}.Build),
		Killers: []string{"slow_release: false loss"}},
	{Name: "a lock that claims to renew and does not",
		Build: always(Rung("gold")),
		Killers: []string{"cancelled_context: two holders",
			"renewal_fails_once: two holders"}},
	{Name: "a majority that keeps what it got in vain",
		Nodes: 5, Build: always(majority{need: 3, keeps: true}.build),
		Killers: []string{"nodes_down: orphaned"}},
	{Name: "a lock whose renewal waits for its answer for two leases",
		Build:   always(Mistakes{Endless: true}.Build),
		Killers: []string{"renewal_hangs: two holders"}},
	{Name: "a lock that sent two PINGs beside its first command",
		Build:   func() lock.Build { return Beside(1, "PING")(Rung("diamond")) },
		Killers: []string{"failover: two holders", "node_restart: two holders"},
		Spares:  []string{"nodes_down: orphaned"}},
	{Name: "a majority whose driver knows that a connection is closed",
		Nodes: 5, Build: func() lock.Build { return knowsClosed()(Rung("redlock")) },
		Killers: []string{"node_restart: two holders"}},
	{Name: "a lock that sleeps on after its deadline",
		Build:   always(Mistakes{Sleeps: 2 * time.Second}.Build),
		Killers: []string{"prompt_answers: hangs", "prompt_wake: late wake-up"},
		Spares:  []string{"prompt_wake: thundering herd"}},
	{Name: "a Lock that says yes when its deadline has passed",
		Build:   always(Mistakes{Yes: true}.Build),
		Killers: []string{"lost_reply: false success", "nested: self-deadlock"}},

	// Habits of libraries.
	{Name: "a handle that counts one Unlock too many",
		Build:   counting(false, true),
		Killers: []string{"second_grant: two holders"}},
	{Name: "a count of a process's levels for all names",
		Build:   counting(true, false),
		Killers: []string{"other_name: two holders"}},
	{Name: "a mutex in a process for all names",
		Build:   behindMutex(func(string) string { return "" }, false),
		Killers: []string{"other_name: unavailable"}},
	{Name: "a mutex in a process that a lost lock keeps",
		Build:   behindMutex(itself, true),
		Killers: []string{"second_grant: unavailable"}},
	{Name: "a renewal of a handle's first grant only",
		Build:   always(Mistakes{FirstOnly: true}.Build),
		Killers: []string{"second_grant: false loss"}},
	{Name: "a Lost that is the same for all grants of a handle",
		Build:   always(Mistakes{OneLost: true}.Build),
		Killers: []string{"second_grant: false loss"}},
	{Name: "a renewal for ten seconds",
		Build:   always(Mistakes{TenSeconds: true}.Build),
		Killers: []string{"lease_length: wrong lease"}},
	{Name: "a renewal that is answered with an error, and counts",
		Build:   always(Mistakes{ErrorKeeps: true}.Build),
		Killers: []string{"error_replies: two holders"}},
	{Name: "a release that is answered with an error, and counts",
		Build:   always(Mistakes{ErrorFrees: true}.Build),
		Killers: []string{"error_replies: false success"}},
	{Name: "a waiter that asks again at once after an error",
		Build:   always(Mistakes{AtOnce: true}.Build),
		Killers: []string{"error_replies: busy waiting"}},
	{Name: "a waiter that asks on when its caller is gone",
		Build:   always(Mistakes{AskOn: true}.Build),
		Killers: []string{"abandoned_acquire: orphaned"}},
	{Name: "a TryLock that takes an error for a refusal",
		Build:   always(Mistakes{Refuse: true}.Build),
		Killers: []string{"lost_reply: false success"}},

	// Locks that show their mistake only in some order of events.
	{Name: "the release reads, and then deletes",
		Build: always(Mistakes{Apart: true}.Build),
		Walk:  &Walk{Breaks: explore.ForeignRelease, Bounds: explore.Bounds{Expiries: 1, Strays: 1}}},
	{Name: "one token for all grants of a handle",
		Build: always(Mistakes{OneToken: true}.Build),
		Walk: &Walk{Breaks: explore.ForeignRelease, Bounds: explore.Bounds{Clients: 1, Expiries: 1, Strays: 1,
			Programs: []explore.Program{explore.Twice}}}},
	{Name: "the renewal does not compare",
		Build: always(Mistakes{RenewAny: true}.Build),
		Walk:  &Walk{Breaks: explore.ForeignRenewal, Bounds: explore.Bounds{Expiries: 1, Timers: 1}, Long: true}},
	{Name: "the renewal sets the key again, and Unlock doesn't wait for it",
		Build: always(Mistakes{Recreate: true}.Build),
		Walk:  &Walk{Breaks: explore.ForeignRelease, Bounds: explore.Bounds{Timers: 1}}},
	{Name: "a grant that comes late is believed",
		Build: always(Mistakes{BelieveLate: true}.Build),
		Walk:  &Walk{Breaks: explore.FalseSuccess, Bounds: explore.Bounds{Expiries: 1}}},
	{Name: "a grant that comes late is refused and not released",
		Build: always(Mistakes{LeaveLate: true}.Build),
		Walk:  &Walk{Breaks: explore.SelfDeadlock, Bounds: explore.Bounds{Expiries: 1}}},
	{Name: "Unlock returns nil after the loss of the lock",
		Build: always(Mistakes{Silent: true}.Build),
		Walk:  &Walk{Breaks: explore.FalseSuccess, Bounds: explore.Bounds{Expiries: 1}}},
	{Name: "the holder is not told that its lease is over",
		Build: always(Mistakes{NoNotice: true}.Build),
		Walk:  &Walk{Breaks: explore.TwoHolders, Bounds: explore.Bounds{Expiries: 1}}},
	{Name: "no fencing token after a lost reply",
		Build: always(forgetting(Rung("reentrant/fenced"))),
		Walk:  &Walk{Breaks: explore.StaleWrite, Right: Rung("reentrant/fenced"), Bounds: explore.Bounds{Expiries: 1, LostReplies: 1}, Long: true}},
	{Name: "the takeover does not look at what GETSET returns",
		Build: always(AfterADeath(TakesOverBlindly)),
		Walk:  &Walk{Breaks: explore.TwoHolders, Right: AfterADeath(Rung("silver/timestamp")), Bounds: explore.Bounds{LeaseInValue: locktest.Deadline}}},
	{Name: "one node of three is a majority",
		Build: always(majority{need: 1}.build),
		Walk:  &Walk{Breaks: explore.TwoHolders, Right: majority{need: 2}.build, Bounds: explore.Bounds{Nodes: 3, Attempts: 1}}},
	{Name: "the time that the majority took is not counted",
		Build: always(majority{need: 2, believeLate: true}.build),
		Walk:  &Walk{Breaks: explore.FalseSuccess, Right: majority{need: 2}.build, Bounds: explore.Bounds{Clients: 1, Nodes: 3, Expiries: 1}}},

	// Locks that no scenario can be run with.
	{Name: "a lock that leaks a goroutine",
		Build: always(changed(func(granted bool, err error) (bool, error) {
			go func() { select {} }()
			return granted, err
		})),
		Says: "the lock leaks goroutines: ", In: "mutual_exclusion"},
	{Name: "a lock that leaks connections",
		Build: always(leaksConnections),
		Says:  "the lock leaks connections: B has 100 open at a node"},
	{Name: "a lock that panics",
		Build: always(panics),
		Says: "A panicked in github.com/lockladder/lockladder/internal/locktest/wrong." +
			"panics.func1: not a lock at all"},
	{Name: "a lock that renews, and waits on after its deadline",
		Build: always(Mistakes{Deaf: true}.Build),
		Says: "a call never returns: the scenario did not end within 2h0m0s of" +
			" virtual time"},
	{Name: "a lock that gives up after 50 attempts",
		Build: always(Mistakes{Sleeps: 100 * time.Millisecond, Attempts: 50}.Build),
		Says: "B's Lock gives up after 5.050 s, long before its deadline of 10m0s:" +
			" too many attempts",
		In: "hung_worker"},
	{Name: "a lock whose release compares with another text",
		Build: always(unreleased),
		Says: "orphaned: A can't release a lock that it holds, and the server still" +
			" has it: Unlock returns the lock is not held by this owner"},
	{Name: "a lock that asks without end",
		Build: always(asksWithoutEnd),
		Says: "the lock is stuck: it sends 20000 commands in a second of" +
			" virtual time, who waits must let time pass", In: "oversell"},
	{Name: "a lock that lives in one process",
		Build: always(func(lock.Env) (lock.Lock, error) {
			return sketch{
				try:    func(context.Context) (bool, error) { return true, nil },
				unlock: func(context.Context) error { return nil },
			}, nil
		}),
		Says: "the lock was granted without a command to a node: build it on" +
			" the clients in Env.Nodes, or on Env.Dial"},
	{Name: "a lock that can't be built",
		Build: always(func(lock.Env) (lock.Lock, error) {
			return nil, errors.New("no licence")
		}),
		Says: "the lock can't be built: no licence"},
	{Name: "a lock whose Unlock doesn't wait for its release",
		Build: always(Mistakes{Behind: true}.Build),
		Says:  "unavailable: a free lock on a healthy server is not granted to A: it is refused"},
	{Name: "a lock whose key is its name in lower case",
		Build: always(Mistakes{LowerCase: true}.Build),
		Says:  "in the second pass, with a lease of 0.7 s and the lock \"50%d of {a} B\": "},
	{Name: "a lock that uses a key of its own",
		Build: always(func(env lock.Env) (lock.Lock, error) {
			env.Key = "mine:" + env.Key
			return Rung("diamond")(env)
		}),
		Says: `no client set the key "lock:stock". If the lock puts a prefix before it`},
}

// always builds the same in each run.
func always(build lock.Build) func() lock.Build {
	return func() lock.Build { return build }
}
