// Package exercise holds the workshop's exercises together: which stories each
// of them is about, and what its start breaks.
package exercise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Exercise is one step of the ladder, climbed by the learner.
type Exercise struct {
	Number string // also its directory below docs/exercises
	Rung   string // solves it
	Flaw   string // the name of what is wrong with the start
	Task   string // one line

	// Files are those of the start that the solution has in another way, or
	// not at all.
	Files []string

	// Stories are those that the solution must hold.
	Stories []string

	// Check asks for more than the stories can: nil when there is no more. It
	// is told what the stories recorded.
	Check func(t *testing.T, build lock.Build, report scenarios.Report) error

	// Start and Previous are what the lock to begin with, and the rung before,
	// break of the stories; the previous rung may also fail at Check.
	Start, Previous []lock.Flaw

	// Parent is what the rung that the solution is read beside breaks of the
	// stories, where that is not the rung before. It may also fail at Check.
	Parent []lock.Flaw
}

// All are the exercises, one a rung, in the order of the ladder.
var All = []Exercise{
	{
		Number: "01", Rung: "bronze",
		Flaw:     "the last writer wins",
		Task:     "let one client in, and only one",
		Files:    []string{"lock.go"},
		Stories:  []string{"mutual_exclusion"},
		Start:    lock.Flaws("mutual_exclusion: two holders"),
		Previous: lock.Flaws("mutual_exclusion: two holders"),
	},
	{
		Number: "02", Rung: "silver",
		Flaw:     "the lease lives in the client",
		Task:     "let the lock end when its holder has died",
		Files:    []string{"lock.go"},
		Stories:  []string{"mutual_exclusion", "crash_holding"},
		Start:    lock.Flaws("crash_holding: orphaned"),
		Previous: lock.Flaws("crash_holding: orphaned"),
	},
	{
		Number: "03", Rung: "silver/timestamp",
		Flaw:  "everybody takes over",
		Task:  "write lock and lease in one SETNX, and let one waiter take over",
		Files: []string{"lock.go"},
		Stories: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command", "simultaneous_takeover"},
		Start:    lock.Flaws("simultaneous_takeover: two holders"),
		Previous: lock.Flaws("crash_after_first_command: orphaned"),
	},
	{
		Number: "04", Rung: "gold",
		Flaw:  "every asker prolongs the lease",
		Task:  "take the lock and its lease in one command, by the server's clock",
		Files: []string{"lock.go"},
		Stories: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command", "client_clock_skew"},
		Start: lock.Flaws("crash_holding: orphaned",
			"crash_after_first_command: orphaned"),
		Previous: lock.Flaws("client_clock_skew: two holders"),
		Parent:   lock.Flaws("crash_after_first_command: orphaned"),
	},
	{
		Number: "05", Rung: "gold/script",
		Flaw:  "the script says nothing",
		Task:  "do the same on a server whose SET has no options",
		Files: []string{"acquire.lua", "lock.go"},
		Stories: []string{"mutual_exclusion", "crash_holding",
			"crash_after_first_command"},
		Check: onAnOldServer,
	},
	{
		Number: "06", Rung: "platinum",
		Flaw:  "it looks whether, not whose",
		Task:  "never delete a lock that is not this grant's",
		Files: []string{"lock.go"},
		Stories: []string{"mutual_exclusion", "overrun_release", "slow_release",
			"unlock_not_held"},
		Start: lock.Flaws("overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"unlock_not_held: foreign release, told a lie"),
		Previous: lock.Flaws("overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"unlock_not_held: foreign release, told a lie"),
		Parent: lock.Flaws("overrun_release: foreign release, two holders",
			"slow_release: foreign release",
			"unlock_not_held: foreign release, told a lie"),
	},
	{
		Number: "07", Rung: "diamond",
		Flaw:  "the script only looks",
		Task:  "leave no time between the look and the deletion",
		Files: []string{"lock.go", "mine.lua"},
		Stories: []string{"mutual_exclusion", "overrun_release", "slow_get",
			"slow_release"},
		Start:    lock.Flaws("slow_get: foreign release"),
		Previous: lock.Flaws("slow_get: foreign release"),
	},
	{
		Number: "08", Rung: "diamond/watchdog",
		Flaw:  "the renewal takes the lock",
		Task:  "keep the lease while the holder works, and tell it when it is lost",
		Files: []string{"renew.lua"},
		Stories: []string{"mutual_exclusion", "overrun_overlap",
			"lost_lease_told", "renewal_after_unlock", "renewal_reacquires"},
		Start: lock.Flaws("lost_lease_told: not told, told a lie",
			"renewal_reacquires: orphaned, foreign renewal"),
		Previous: lock.Flaws("overrun_overlap: two holders",
			"lost_lease_told: not told"),
	},
	{
		Number: "09", Rung: "reentrant",
		Flaw:    "only the handle knows its owner",
		Task:    "let the owner in again, also after a reply was lost",
		Files:   []string{"lock.go", "release.lua", "renew.lua"},
		Stories: []string{"mutual_exclusion", "nested", "lost_reply"},
		Start:   lock.Flaws("lost_reply: self-deadlock"),
		Previous: lock.Flaws("nested: self-deadlock",
			"lost_reply: self-deadlock"),
	},
	{
		Number: "10", Rung: "reentrant/notify",
		Flaw:    "the message is taken for a promise",
		Task:    "let waiters sleep, and let none oversleep",
		Files:   []string{"lock.go", "release.lua"},
		Stories: []string{"mutual_exclusion", "lost_wakeup"},
		Check:   quietWaiters,
		Start:   lock.Flaws("lost_wakeup: orphaned"),
	},
	{
		Number: "11", Rung: "reentrant/fenced",
		Flaw:     "the counter ends with the lease",
		Task:     "number the grants so that a late write can be refused",
		Files:    []string{"acquire.lua"},
		Stories:  []string{"mutual_exclusion", "nested", "paused_holder"},
		Start:    lock.Flaws("paused_holder: stale write"),
		Previous: lock.Flaws("paused_holder: stale write"),
		Parent:   lock.Flaws("paused_holder: stale write"),
	},
	{
		Number: "12", Rung: "reentrant/fair",
		Flaw:    "the queue waits for the dead",
		Task:    "serve waiters in the order of arrival, and only those that live",
		Files:   []string{"acquire.lua", "lock.go", "release.lua"},
		Stories: []string{"mutual_exclusion", "dead_waiter"},
		Check:   inOrder,
		Start:   lock.Flaws("dead_waiter: orphaned"),
	},
	{
		Number: "13", Rung: "reentrant/cohort",
		Flaw: "the lock never leaves the process",
		Task: "hand the lock over inside a process, and let the others have" +
			" their turn",
		Files:   []string{"lock.go", "release.lua"},
		Stories: []string{"mutual_exclusion"},
		Check:   handedOver,
	},
	{
		Number: "14", Rung: "redlock",
		Flaw:  "nobody looks at the clock",
		Task:  "hold the lock on a majority of nodes, for as long as it is valid",
		Files: []string{"lock.go"},
		Stories: []string{"mutual_exclusion", "late_grant",
			"nodes_down"},
		Start:    lock.Flaws("late_grant: two holders"),
		Previous: lock.Flaws("nodes_down: unavailable, hangs"),
		Parent:   lock.Flaws("nodes_down: unavailable, hangs"),
	},
}

// Find returns the exercise with that number. Its error lists the numbers.
func Find(number string) (Exercise, error) {
	var numbers []string
	for _, e := range All {
		if e.Number == number {
			return e, nil
		}
		numbers = append(numbers, e.Number)
	}
	return Exercise{}, fmt.Errorf("there is no exercise %q, there are %s",
		number, strings.Join(numbers, ", "))
}

// Run tells the stories of an exercise. It lets every failed assertion through.
func Run(t *testing.T, number string, build lock.Build) {
	e, err := Find(number)
	if err != nil {
		t.Fatal(err)
	}
	if e.Number == "05" { // the stories need a lock that says yes
		if err := e.Check(t, build, nil); err != nil {
			t.Fatal(err)
		}
	}
	report := Tell(t, e, build, scenarios.Red(true))
	if e.Check == nil || t.Failed() {
		return
	}
	if err := e.Check(t, build, report); err != nil {
		t.Error(err)
	}
}

// Tell tells the stories of an exercise with further options.
func Tell(t *testing.T, e Exercise, build lock.Build,
	options ...scenarios.Option) scenarios.Report {
	t.Helper()
	rung, err := ladder.Find(e.Rung)
	if err != nil {
		t.Fatal(err)
	}
	rung.Flaws = nil // the exercise's lock has its own, or none
	options = append(options, scenarios.Only(e.Stories...))
	return scenarios.Run(t, build, append(options,
		laddertest.Options(rung)...)...)
}

// On builds a lock on one node.
func On[L lock.Lock](construct func(redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := construct(env.Nodes[0], env.Key, env.TTL, options(env)...)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

// OnAll builds a lock on all nodes.
func OnAll[L lock.Lock](construct func([]redis.UniversalClient, string,
	time.Duration, ...lock.Option) (L, error)) lock.Build {
	return func(env lock.Env) (lock.Lock, error) {
		l, err := construct(env.Nodes, env.Key, env.TTL, options(env)...)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
}

func options(env lock.Env) []lock.Option {
	if env.Now == nil {
		return env.Options
	}
	return append([]lock.Option{lock.Clock(env.Now)}, env.Options...)
}

// onAnOldServer takes and releases the lock on a server that is older than the
// options of SET.
func onAnOldServer(_ *testing.T, build lock.Build, _ scenarios.Report) error {
	ctx := context.Background()
	redisServer := miniredis.NewMiniRedis()
	if err := redisServer.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	defer redisServer.Close()
	redisServer.Server().SetPreHook(func(peer *server.Peer, command string,
		args ...string) bool {
		if command == "SET" && len(args) > 2 {
			peer.WriteError("ERR syntax error")
			return true
		}
		return false
	})
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr(), Protocol: 2,
		DisableIdentity: true, MaxRetries: -1})
	defer rdb.Close()
	sent := &commands{}
	rdb.AddHook(sent)

	const lease = 10 * time.Second
	var owners []lock.Lock
	for range 2 {
		l, err := build(lock.Env{Nodes: []redis.UniversalClient{rdb},
			Key: "stock", TTL: lease})
		if err != nil {
			return fmt.Errorf("build the lock: %w", err)
		}
		owners = append(owners, l)
	}
	for range 2 { // the first round teaches the server the script
		granted, err := owners[0].TryLock(ctx)
		if err != nil {
			return fmt.Errorf("an old server, whose SET has no options, is"+
				" asked for the lock: %w", err)
		}
		if !granted {
			return errors.New("the lock was free, and TryLock says that it was" +
				" refused")
		}
		if ttl := redisServer.TTL("stock"); ttl != lease {
			return fmt.Errorf("the key's lease is %v, not %v", ttl, lease)
		}
		sent.names = nil
		if granted, err := owners[1].TryLock(ctx); granted || err != nil {
			return fmt.Errorf("the lock was taken, and TryLock returns %v, %w",
				granted, err)
		}
		if len(sent.names) != 1 {
			return fmt.Errorf("TryLock sent %d commands, %s, and not one",
				len(sent.names), strings.Join(sent.names, " "))
		}
		if err := owners[0].Unlock(ctx); err != nil {
			return fmt.Errorf("release the lock: %w", err)
		}
	}
	return nil
}

// commands are what a client sends, one after the other.
type commands struct{ names []string }

func (c *commands) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *commands) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.names = append(c.names, strings.ToUpper(cmd.Name()))
		return next(ctx, cmd)
	}
}

func (c *commands) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		for _, cmd := range all {
			c.names = append(c.names, strings.ToUpper(cmd.Name()))
		}
		return next(ctx, all)
	}
}

// quietWaiters counts what B sends while it waits: ten seconds of asking ten
// times a second would be a hundred commands.
func quietWaiters(_ *testing.T, _ lock.Build, report scenarios.Report) error {
	const enough = 12
	for _, r := range report {
		if r.Scenario != "lost_wakeup" {
			continue
		}
		sent := 0
		for _, e := range r.Sequence {
			if e.Client == "B" && e.Node >= 0 {
				sent++
			}
		}
		if sent > enough {
			return fmt.Errorf("while it waited B sent %d commands, %d are"+
				" enough:\n\n%s", sent, enough, r.Timeline)
		}
		return nil
	}
	return errors.New("lost_wakeup was not told")
}

// inOrder has the owners of two processes come one after the other, and looks in
// which order they are served.
func inOrder(t *testing.T, build lock.Build, _ scenarios.Report) error {
	const key, lease, owners = "stock", 10 * time.Second, 12
	var came, served []string
	var failures []error
	err := lab.Run(t, lab.Config{Nodes: 1, Key: key, TTL: lease},
		func(w *lab.World) {
			processes := []*lab.Client{w.Client("P"), w.Client("Q")}
			envs := []lock.Env{processes[0].Env(key), processes[1].Env(key)}
			w.Record()
			for n := range owners {
				// Now one of them has more that wait, now the other.
				at := n * n % 5 % 2
				c, name := processes[at], fmt.Sprint(processes[at].Name, n)
				came = append(came, name)
				c.Go(func() {
					l, err := build(envs[at])
					if err != nil {
						w.Fail("build the lock: %v", err)
						return
					}
					c.Sleep(time.Duration(n) * 50 * time.Millisecond)
					if err := l.Lock(w.Context()); err != nil {
						w.Fail("%s can't have the lock: %v", name, err)
						return
					}
					c.Step("works", func() { served = append(served, name) })
					c.Sleep(time.Second)
					if err := l.Unlock(w.Context()); err != nil {
						w.Fail("%s can't release the lock: %v", name, err)
					}
				})
			}
			w.Play()
			failures = w.Failures()
		})
	if err != nil {
		return fmt.Errorf("tell of two processes: %w", err)
	}
	if !slices.Equal(came, served) {
		failures = append(failures, fmt.Errorf("they came in the order %s, and"+
			" were served in the order %s", strings.Join(came, " "),
			strings.Join(served, " ")))
	}
	return errors.Join(failures...)
}

// handedOver has a process P with many owners and a process Q with one. The
// owners of P hand the lock over without asking the server each time, and Q gets
// it long before all of them are through: short sections are bounded by their
// number, long ones by the lease, which gets no younger when it is passed on.
func handedOver(t *testing.T, build lock.Build, _ scenarios.Report) error {
	const lease = 10 * time.Second
	for _, of := range []sections{
		{last: 10 * time.Millisecond, patient: 17 + 3, enough: 41},
		{last: time.Second, patient: 4 + 3}, // 4: a third of the lease
	} {
		if err := of.handedOver(t, build, lease); err != nil {
			return fmt.Errorf("sections of %v on a lease of %v: %w", of.last,
				lease, err)
		}
	}
	return nil
}

// sections are what the owners of two processes do under the lock.
type sections struct {
	last    time.Duration
	patient int // sections of P that Q may wait for
	enough  int // commands of P; 0 when they are not counted
}

func (of sections) handedOver(t *testing.T, build lock.Build,
	lease time.Duration) error {
	const (
		owners = 41
		key    = "stock"
		apart  = time.Millisecond / 10 // Q asks when all of P have asked
	)
	var served []string
	var failures []error
	sent := 0
	err := lab.Run(t, lab.Config{Nodes: 1, Key: key, TTL: lease},
		func(w *lab.World) {
			p, q := w.Client("P"), w.Client("Q")
			inP, inQ := p.Env(key), q.Env(key)
			owner := func(c *lab.Client, env lock.Env, starts time.Duration) {
				c.Go(func() {
					l, err := build(env)
					if err != nil {
						w.Fail("build the lock: %v", err)
						return
					}
					c.Sleep(starts)
					if err := l.Lock(w.Context()); err != nil {
						w.Fail("%s can't have the lock: %v", c.Name, err)
						return
					}
					c.Step("works", func() { served = append(served, c.Name) })
					c.Sleep(of.last)
					if err := l.Unlock(w.Context()); err != nil {
						w.Fail("%s can't release the lock: %v", c.Name, err)
					}
				})
			}
			w.Record()
			for i := range owners {
				owner(p, inP, time.Duration(i)*apart)
			}
			owner(q, inQ, (owners+1)*apart)
			w.Play()
			for _, e := range w.Timeline() {
				if e.Client == p.Name && e.Node >= 0 {
					sent++
				}
			}
			failures = w.Failures()
		})
	if err != nil {
		return fmt.Errorf("tell of two processes: %w", err)
	}
	if before := slices.Index(served, "Q"); before > of.patient {
		failures = append(failures, fmt.Errorf("another process waited for %d"+
			" sections of this one, %d are enough", before, of.patient))
	}
	if of.enough > 0 && sent >= of.enough {
		failures = append(failures, fmt.Errorf("the %d owners of a process sent"+
			" %d commands: each of them has asked the server", owners, sent))
	}
	return errors.Join(failures...)
}
