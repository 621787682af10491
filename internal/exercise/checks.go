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
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// lease is that of the locks that are checked.
const lease = 10 * time.Second

// inOneCommand takes the lock with its lease in one command.
func inOneCommand(_ *testing.T, build lock.Build, _ scenarios.Report) error {
	return onServer(build, false)
}

// onAnOldServer does so on a server that is older than the options of SET.
func onAnOldServer(_ *testing.T, build lock.Build, _ scenarios.Report) error {
	return onServer(build, true)
}

// onServer takes and releases the lock, and counts the commands. An old server
// answers a SET with options with an error.
func onServer(build lock.Build, old bool) error {
	ctx := context.Background()
	redisServer := miniredis.NewMiniRedis()
	if err := redisServer.Start(); err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	defer redisServer.Close()
	redisServer.Server().SetPreHook(func(peer *server.Peer, command string,
		args ...string) bool {
		unknown := old && command == "SET" && len(args) > 2
		if unknown {
			peer.WriteError("ERR syntax error")
		}
		return unknown
	})
	rdb := redis.NewClient(&redis.Options{Addr: redisServer.Addr(), Protocol: 2,
		DisableIdentity: true, MaxRetries: -1})
	defer rdb.Close()
	var sent []string
	rdb.AddHook(each(func(cmd redis.Cmder) {
		sent = append(sent, strings.ToUpper(cmd.Name()))
	}))

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
			return fmt.Errorf("take the lock that is free: %w", err)
		}
		if !granted {
			return errors.New("the lock was free, and TryLock says that it was" +
				" refused")
		}
		if ttl := redisServer.TTL("stock"); ttl != lease {
			return fmt.Errorf("the key's lease is %v, not %v", ttl, lease)
		}
		sent = nil
		if granted, err := owners[1].TryLock(ctx); granted || err != nil {
			return fmt.Errorf("the lock was taken, and TryLock returns %v, %w",
				granted, err)
		}
		if len(sent) != 1 {
			return fmt.Errorf("TryLock sent %d commands, %s: take the lock and"+
				" its lease in one", len(sent), strings.Join(sent, " "))
		}
		if err := owners[0].Unlock(ctx); err != nil {
			return fmt.Errorf("release the lock: %w", err)
		}
	}
	return nil
}

// each is a client's hook, which is called with every command before it is sent.
type each func(redis.Cmder)

func (each) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f each) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f(cmd)
		return next(ctx, cmd)
	}
}

func (f each) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		for _, cmd := range all {
			f(cmd)
		}
		return next(ctx, all)
	}
}

// quietWaiters counts the commands that B sends while it waits. With polling, ten
// seconds would be some two hundred.
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
	return errors.New("lost_wakeup was not run")
}

// inOrder has the owners of two processes come one after the other, and looks in
// which order they are served.
func inOrder(t *testing.T, build lock.Build, _ scenarios.Report) error {
	var came []string
	var sections []section
	for n := range 12 {
		// Now one of them has more that wait, now the other.
		process := []string{"P", "Q"}[n*n%5%2]
		name := fmt.Sprint(process, n)
		came = append(came, name)
		sections = append(sections, section{process, name,
			time.Duration(n) * 50 * time.Millisecond, time.Second})
	}
	return play(t, build, sections, func(served []string, _ int) error {
		if slices.Equal(came, served) {
			return nil
		}
		return fmt.Errorf("they came in the order %s, and were served in the"+
			" order %s", strings.Join(came, " "), strings.Join(served, " "))
	})
}

// handedOver has a process P with many owners and a process Q with one. The
// owners of P hand the lock over without asking the server each time, and Q gets
// it long before all of them are through: short sections are bounded by their
// number, long ones by the lease, which gets no younger when it is passed on.
func handedOver(t *testing.T, build lock.Build, _ scenarios.Report) error {
	const (
		owners = 41
		apart  = time.Millisecond / 10 // Q asks when all of P have asked
	)
	for _, of := range []struct {
		lasts   time.Duration
		patient int // sections of P that Q may wait for
		enough  int // commands of P; 0 when they are not counted
	}{
		{lasts: 10 * time.Millisecond, patient: 17 + 3, enough: owners},
		{lasts: time.Second, patient: 4 + 3}, // 4: a third of the lease
	} {
		var sections []section
		for i := range owners {
			sections = append(sections, section{"P", "P",
				time.Duration(i) * apart, of.lasts})
		}
		sections = append(sections, section{"Q", "Q", (owners + 1) * apart,
			of.lasts})
		err := play(t, build, sections, func(served []string, sent int) error {
			var late, asked error
			if before := slices.Index(served, "Q"); before > of.patient {
				late = fmt.Errorf("another process waited for %d sections of this"+
					" one, %d are enough", before, of.patient)
			}
			if of.enough > 0 && sent >= of.enough {
				asked = fmt.Errorf("the %d owners of a process sent %d commands:"+
					" each of them has asked the server", owners, sent)
			}
			return errors.Join(late, asked)
		})
		if err != nil {
			return fmt.Errorf("sections of %v on a lease of %v: %w", of.lasts,
				lease, err)
		}
	}
	return nil
}

// section is what one owner does: it takes the lock, works and releases it.
type section struct {
	process   string // P or Q
	owner     string
	at, lasts time.Duration
}

// play plays the sections of two processes. Then judge is told in which order the
// owners were served, and how many commands P has sent.
func play(t *testing.T, build lock.Build, sections []section,
	judge func(served []string, sent int) error) error {
	const key = "stock"
	var served []string
	var failures []error
	sent := 0
	err := lab.Run(t, lab.Config{Nodes: 1, Key: key, TTL: lease},
		func(w *lab.World) {
			clients := map[string]*lab.Client{"P": w.Client("P"), "Q": w.Client("Q")}
			envs := map[string]lock.Env{}
			for name, c := range clients {
				envs[name] = c.Env(key)
			}
			w.Record()
			for _, s := range sections {
				c := clients[s.process]
				c.Go(func() {
					l, err := build(envs[s.process])
					if err != nil {
						w.Fail("build the lock: %v", err)
						return
					}
					c.Sleep(s.at)
					if err := l.Lock(w.Context()); err != nil {
						w.Fail("%s can't get the lock: %v", s.owner, err)
						return
					}
					c.Step("works", func() { served = append(served, s.owner) })
					c.Sleep(s.lasts)
					if err := l.Unlock(w.Context()); err != nil {
						w.Fail("%s can't release the lock: %v", s.owner, err)
					}
				})
			}
			w.Play()
			for _, e := range w.Timeline() {
				if e.Client == "P" && e.Node >= 0 {
					sent++
				}
			}
			failures = w.Failures()
		})
	if err != nil {
		return fmt.Errorf("tell of two processes: %w", err)
	}
	return errors.Join(append(failures, judge(served, sent))...)
}
