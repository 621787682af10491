//go:build unix

package servers_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

var stores = map[string]func(context.Context) (*servers.Store, error){
	"MariaDB": func(ctx context.Context) (*servers.Store, error) {
		return servers.StartMariaDB(ctx)
	},
	"ZooKeeper": func(ctx context.Context) (*servers.Store, error) {
		return servers.StartZooKeeper(ctx, 100*time.Millisecond)
	},
	"etcd": servers.StartEtcd,
}

func TestAStoreLivesUntilItIsStopped(t *testing.T) {
	for name, start := range stores {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			s, err := start(ctx)
			if errors.Is(err, servers.ErrMissing) &&
				os.Getenv("LOCKLADDER_STORES") == "" {
				t.Skip(err)
			}
			require.NoError(t, err)
			defer s.Stop()
			dial := func() error {
				c, err := net.Dial("tcp", s.Addr())
				if err == nil {
					c.Close()
				}
				return err
			}
			assert.NoError(t, dial())
			s.Kill()
			assert.Error(t, dial())
			require.NoError(t, s.Restart(ctx))
			assert.NoError(t, dial())
			require.NoError(t, s.Pause())
			require.NoError(t, s.Resume())
			s.Stop()
			assert.Error(t, dial())
		})
	}
}
