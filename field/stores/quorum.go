package stores

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lockladder/lockladder/internal/servers"
)

// StartEtcd starts so many etcd servers that agree on every write, and waits until
// each is healthy. servers.StopAll must be called. A failure leaves none behind.
func StartEtcd(ctx context.Context, members int) ([]*servers.Server, error) {
	if err := HasEtcd(); err != nil {
		return nil, err
	}
	return startQuorum(ctx, members, members, etcd)
}

// StartZooKeeper starts so many ZooKeeper servers that agree on every write, and waits
// until each opens sessions. A tick is so long; sessions last from two ticks to twenty.
// Debian's package is needed, and Java. servers.StopAll must be called. A failure leaves
// none behind.
func StartZooKeeper(ctx context.Context, tick time.Duration,
	members int) ([]*servers.Server, error) {
	if err := HasZooKeeper(); err != nil {
		return nil, err
	}
	return startQuorum(ctx, members, 2*members, func(ports []int, i int) servers.Kind {
		return zookeeper(tick, ensemble{ports, i})
	})
}

// startQuorum starts servers at the same time, for none answers before most of
// them are there. They talk to each other on so many ports. When
// somebody else has taken one of these, all begin anew.
func startQuorum(ctx context.Context, members, ports int,
	member func(ports []int, i int) servers.Kind) ([]*servers.Server, error) {
	var failure error
	for range 3 {
		between := make([]int, ports)
		for i := range between {
			var err error
			if between[i], err = servers.FreePort(); err != nil {
				return nil, err
			}
		}
		all, errs := make([]*servers.Server, members), make([]error, members)
		var starting sync.WaitGroup
		for i := range members {
			starting.Go(func() { all[i], errs[i] = servers.Start(ctx, member(between, i)) })
		}
		starting.Wait()
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

// ensemble is one ZooKeeper server among several: two ports for each.
type ensemble struct {
	ports []int
	me    int
}

// config is what its configuration says of the others. Which one it is itself,
// it reads from its data directory. One that is alone ignores all that.
func (e ensemble) config(dir string) (string, error) {
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", fmt.Errorf("make a server's data directory: %w", err)
	}
	err := os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, e.me+1), 0o600)
	if err != nil {
		return "", fmt.Errorf("write a server's number: %w", err)
	}
	var text strings.Builder
	text.WriteString("initLimit=20\nsyncLimit=10\n")
	for i := range len(e.ports) / 2 {
		fmt.Fprintf(&text, "server.%d=127.0.0.1:%d:%d\n", i+1, e.ports[2*i], e.ports[2*i+1])
	}
	return text.String(), nil
}
