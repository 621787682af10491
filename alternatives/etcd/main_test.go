package etcd_test

import (
	"testing"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

func TestMain(m *testing.M) { serverstest.StoreMain(m, servers.HasEtcd()) }

// need skips a test whose server is not installed, which TestMain has said.
func need(t *testing.T) {
	t.Helper()
	if servers.HasEtcd() != nil {
		t.SkipNow()
	}
}
