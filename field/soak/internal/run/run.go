// Package run runs a soak: it starts servers, proxies, a storage and workers, lets
// the nemesis disturb them, calms everything down, and looks for what is left
// behind. The files of the run's directory have everything that has happened; the
// judge reads them.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
	"github.com/lockladder/lockladder/scenarios/soak/internal/nemesis"
	"github.com/lockladder/lockladder/scenarios/soak/internal/rungs"
	"github.com/lockladder/lockladder/scenarios/soak/internal/worker"
)

// Config is a soak of one lock.
type Config struct {
	Rung                      rungs.Rung
	Seed                      uint64
	For                       time.Duration // the nemesis
	Workers, Goroutines, Keys int
	TTL, Poll                 time.Duration
	Drivers                   []worker.Driver // worker n has the n-th, and so on
	Again                     string          // the command that repeats it
	Faults                    []nemesis.Fault
	Progress                  io.Writer // where lines about it go
	Terminal                  bool      // one line, written over and over
}

func (c Config) keys() []string {
	var keys []string
	for n := range c.Keys {
		keys = append(keys, fmt.Sprintf("soak:%d", n+1))
	}
	return keys
}

func (c Config) driver(n int) worker.Driver { return c.Drivers[n%len(c.Drivers)] }

func (c Config) setup() event.Setup {
	s := event.Setup{Rung: c.Rung.Name, Seed: c.Seed, Again: c.Again, TTL: c.TTL,
		Poll: c.Poll, Fenced: c.Rung.Fenced, Renews: c.Rung.Renews,
		Keys: c.keys(), Page: c.Rung.Page, Started: event.Now(),
		WallTime: time.Now()}
	for _, flaw := range c.Rung.Flaws {
		s.Flaws = append(s.Flaws, flaw.Scenario+": "+flaw.Invariant)
	}
	for n := range c.Workers {
		s.Drivers = append(s.Drivers, string(c.driver(n)))
		s.Lateness = append(s.Lateness, c.driver(n).Lateness())
	}
	return s
}

// Run runs a soak in a directory. When ctx ends, the nemesis ends early, and what
// has happened until then can be judged. An error is one of the soak itself.
// Nothing outlives it but the files.
func Run(ctx context.Context, c Config, dir string) error {
	if err := event.SaveSetup(dir, c.setup()); err != nil {
		return err
	}
	w, err := newWorld(ctx, c, dir)
	if err != nil {
		return err
	}
	return errors.Join(w.soak(ctx), w.close())
}

func (w *world) soak(ctx context.Context) error {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	// A pause of this process is one of all proxies, and of the storage.
	watches.Go(func() {
		worker.FeelPauses(watching, func(e event.Event) {
			e.Worker = event.Everyone
			w.write(e)
		})
	})
	endPings := w.pingServers(watching)
	defer endPings()
	disturbed, cancel := context.WithTimeout(ctx, w.config.For)
	defer cancel()
	n := &nemesis.Nemesis{World: w, Seed: w.config.Seed, TTL: w.config.TTL,
		Faults: w.config.Faults, Write: w.write}
	watches.Go(func() { w.report(watching, n) })
	watches.Go(func() { w.watch(disturbed, cancel) })
	if err := n.Run(disturbed); err != nil {
		return err
	}
	if err := w.dead(); err != nil {
		return err
	}
	return w.calmDown(context.WithoutCancel(ctx), endPings)
}

// calmDown ends the run when the nemesis has ended, and looks around.
func (w *world) calmDown(ctx context.Context, endPings func()) error {
	w.reset()
	w.write(event.Event{Kind: event.Calm, Worker: event.Everyone})
	if err := w.tell(worker.Calm); err != nil {
		return err
	}
	if err := w.idle(); err != nil {
		return err
	}
	endPings() // their connections are not the workers'
	if err := w.lookForSubscriptions(ctx); err != nil {
		return err
	}
	w.end()
	return w.lookForTheRest(ctx)
}

// report says how the run is getting on: on a terminal in one line, else now and
// then in one more.
func (w *world) report(ctx context.Context, n *nemesis.Nemesis) {
	every := 10 * time.Second
	if w.config.Terminal {
		every = 200 * time.Millisecond
		defer fmt.Fprint(w.config.Progress, "\r\x1b[K")
	}
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	begun := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		line := fmt.Sprintf("%s: %v of %v, %d sections, %d faults",
			w.config.Rung.Name, time.Since(begun).Round(time.Second),
			w.config.For, w.storage.Writes(), n.Count())
		if now := n.Now(); now != "" {
			line += ", now " + now
		} else if time.Since(begun) > w.config.For {
			line += ", calming down"
		}
		if w.config.Terminal {
			fmt.Fprintf(w.config.Progress, "\r\x1b[K%.100s", line)
		} else {
			fmt.Fprintln(w.config.Progress, line)
		}
	}
}
