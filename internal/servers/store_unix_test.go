//go:build unix

package servers_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
)

func TestAStoreLivesUntilItIsStopped(t *testing.T) {
	for name, kind := range kinds {
		if name == "Redis" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			kind.need(t)
			t.Parallel()
			ctx := context.Background()
			started, err := kind.start(ctx)
			require.NoError(t, err)
			s := started.(*servers.Store)
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
