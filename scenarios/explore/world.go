package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
	"github.com/lockladder/lockladder/lock"
)

// inWorld makes a world with warm clients and takes it down.
func inWorld(t *testing.T, build lock.Build, bounds Bounds, reduced bool,
	do func(*run) error) error {
	t.Helper()
	if err := bounds.fill(); err != nil {
		return err
	}
	config := lab.Config{Nodes: bounds.Nodes, Key: key, TTL: lease}
	if bounds.Keys != nil {
		config.Keys = bounds.Keys(key)
	}
	keys := map[string]string{key: key, other: other}
	if bounds.Keys != nil {
		keys = map[string]string{key: config.Keys[0], other: bounds.Keys(other)[0]}
	}
	if slices.Contains(bounds.Programs, Names) {
		config.Keys = []string{keys[key], keys[other]}
		if bounds.Keys != nil {
			config.Keys = slices.Concat(bounds.Keys(key), bounds.Keys(other))
		}
	}
	if bounds.Readers != nil {
		config.Readers = bounds.Readers(key)
	}
	r := &run{build: build, reduced: reduced,
		control: control(&config, reduced), bounds: bounds,
		silence: map[moment]time.Duration{}, finished: map[moment]bool{}}
	r.control.keys = keys
	if read := bounds.LeaseInValue; read != nil {
		// The clients' clocks say the same at the beginning of every run.
		config.LeaseEnd = func(value string) (time.Time, bool) {
			end, ok := read(value)
			return end.Add(r.ahead), ok
		}
	}
	var failed error
	err := lab.Run(t, config, func(w *lab.World) {
		r.world, r.epoch = w, time.Now()
		r.control.open(w, bounds.Clients)
		r.clients = r.control.clients
		defer r.end()
		if failed = r.warm(); failed == nil {
			failed = do(r)
		}
	})
	return errors.Join(err, failed)
}

// warm lets every client take and release another lock, so that the nodes know
// the lock's scripts.
func (r *run) warm() (err error) {
	r.control.warm(func(c *client) {
		if err != nil {
			return // the others would say the same
		}
		defer func() {
			if p := recover(); p != nil {
				err = order.Panicked(c.Name, p)
			} else if err == nil {
				err = r.failed() // the world forgets it afterwards
			}
		}()
		name := key + ":warm:" + c.Name
		l, failed := lab.Build(r.build, c.Env(name))
		if failed != nil {
			err = failed
			return
		}
		ctx := context.Background()
		if granted, _ := l.TryLock(ctx); granted {
			if err = r.hasKey(name); err != nil {
				return
			}
		}
		l.TryLock(ctx)
		c.Sleep(lease * 2 / 5) // long enough for a renewal
		l.Unlock(ctx)
		l.Unlock(ctx)
		if rw, ok := l.(lock.ReadWrite); ok {
			rw.TryRLock(ctx)
			rw.RUnlock(ctx)
		}
	})
	return err
}

// hasKey is an error if the lock of a name is granted and none of the keys that stand for
// it is on a node.
func (r *run) hasKey(name string) error {
	keys := []string{name}
	if of := r.bounds.Keys; of != nil {
		keys = of(name)
	}
	var there []string
	for n := range r.world.Nodes {
		there = append(there, r.control.server(n).Keys()...)
	}
	switch {
	case len(there) == 0:
		return errors.New("the lock was granted, and no node has a key: build it on" +
			" the clients in Env.Nodes, or on Env.Dial")
	case !slices.ContainsFunc(keys, func(k string) bool {
		return slices.Contains(there, k)
	}):
		slices.Sort(there)
		return fmt.Errorf("the lock was granted, but no client set the key %q: say"+
			" which keys stand for the lock, with Bounds.Keys (there are %q)", keys[0],
			slices.Compact(there))
	}
	return nil
}
