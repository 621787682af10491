//go:build unix

package stores_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/internal/servers"
)

func TestAStoreLivesUntilItIsStopped(t *testing.T) {
	if os.Getenv("LOCKLADDER_STORES") == "" {
		t.Skip("it starts stores, which is asked for with LOCKLADDER_STORES")
	}
	for name, start := range map[string]func(context.Context) (*servers.Server, error){
		"MariaDB": func(ctx context.Context) (*servers.Server, error) {
			return stores.StartMariaDB(ctx)
		},
		"ZooKeeper": func(ctx context.Context) (*servers.Server, error) {
			return stores.StartZooKeeper(ctx, 100*time.Millisecond)
		},
		"etcd": stores.StartEtcd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s, err := start(ctx)
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
			pid, err := s.PID()
			require.NoError(t, err)
			args, err := exec.Command("ps", "-ww", "-o", "args=", "-p",
				strconv.Itoa(pid)).Output()
			require.NoError(t, err)
			assert.Contains(t, string(args), s.Dir, "a later run knows by this whose it was")

			s.Kill()
			assert.Error(t, dial())
			require.NoError(t, s.Restart())
			assert.NoError(t, dial())
			s.Stop()
			assert.Error(t, dial())
		})
	}
}
