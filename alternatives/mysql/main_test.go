package mysql_test

import (
	"net"
	"testing"

	"github.com/lockladder/lockladder/internal/process"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

type connection = net.Conn

func TestMain(m *testing.M) {
	process.ServeAfter(sweeper, func(b borrowed) error { return b.sweep() })
	serverstest.StoreMain(m, servers.HasMariaDB())
}

// need skips a test whose server is not installed, which TestMain has said.
func need(t *testing.T) {
	t.Helper()
	if servers.HasMariaDB() != nil {
		t.SkipNow()
	}
}
