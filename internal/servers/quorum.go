package servers

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// StartEtcdCluster starts so many etcd servers that agree on every write, and
// waits until each is healthy. StopStores must be called. A failure leaves none
// behind.
func StartEtcdCluster(ctx context.Context, members int) ([]*Store, error) {
	if err := HasEtcd(); err != nil {
		return nil, err
	}
	return startQuorum(ctx, members, 1, func(ports []int) []*Store {
		var all []*Store
		for i := range members {
			all = append(all, newEtcd(ports, i))
		}
		return all
	})
}

// StartZooKeeperEnsemble starts so many ZooKeeper servers that agree on every
// write, and waits until each opens sessions. StopStores must be called. A
// failure leaves none behind.
func StartZooKeeperEnsemble(ctx context.Context, tick time.Duration,
	members int) ([]*Store, error) {
	if err := HasZooKeeper(); err != nil {
		return nil, err
	}
	return startQuorum(ctx, members, 2, func(ports []int) []*Store {
		var all []*Store
		for i := range members {
			all = append(all, newZooKeeper(tick, &ensemble{ports, i}))
		}
		return all
	})
}

// StopStores stops several servers.
func StopStores(all []*Store) {
	for _, s := range all {
		s.Stop()
	}
}

// startQuorum starts servers at the same time, for none answers before most of
// them are there. Each is given so many ports to talk to the others. When
// somebody else has taken one of these, all begin anew.
func startQuorum(ctx context.Context, members, ports int,
	make func(ports []int) []*Store) ([]*Store, error) {
	var failure error
	for range 3 {
		var between []int
		for range members * ports {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			between = append(between, port)
		}
		all := make(between)
		errs := startTogether(ctx, all)
		if failure = cmp.Or(errs...); failure == nil {
			return all, nil
		}
		for i, err := range errs {
			if err == nil {
				all[i].Stop()
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start %d servers: %w", members, failure)
}

func startTogether(ctx context.Context, all []*Store) []error {
	errs := make([]error, len(all))
	var starting sync.WaitGroup
	for i, s := range all {
		starting.Go(func() { _, errs[i] = s.start(ctx) })
	}
	starting.Wait()
	return errs
}

// ensemble is one ZooKeeper server among several: two ports for each.
type ensemble struct {
	ports []int
	me    int
}

// config is what its configuration says of the others. Which one it is itself,
// it reads from its data directory.
func (e *ensemble) config(dir string) string {
	if e == nil {
		return ""
	}
	data := filepath.Join(dir, "data")
	// As with the configuration, it says itself what it misses.
	os.MkdirAll(data, 0o700)
	os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, e.me+1), 0o600)
	var text strings.Builder
	text.WriteString("initLimit=20\nsyncLimit=10\n")
	for i := range len(e.ports) / 2 {
		fmt.Fprintf(&text, "server.%d=127.0.0.1:%d:%d\n", i+1, e.ports[2*i],
			e.ports[2*i+1])
	}
	return text.String()
}
