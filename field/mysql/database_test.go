package mysql_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/proxy"
	"github.com/lockladder/lockladder/field/storetest"
)

// tables are the locks'.
var tables = []string{"lockladder_record", "lockladder_lease", "lockladder_row",
	"lockladder_stock"}

func TestADatabaseThatCanNotBeUsedIsOneLine(t *testing.T) {
	server := start(t)
	for name, c := range map[string]struct{ dsn, address, cause string }{
		"unreachable": {"root:secret@tcp(127.0.0.1:1)/x", "127.0.0.1:1", "refused"},
		"wrong password": {"root:secret@tcp(" + server.Addr() + ")/" + database,
			server.Addr(), "denied"},
		"no password": {"root@tcp(" + server.Addr() + ")/" + database,
			server.Addr(), "denied"},
		"no such database": {rootOf(server, "none"), server.Addr(), "Unknown database"},
		"malformed": {"root:secret@here", "",
			"the DSN is not understood, it should be like user:password@tcp"},
	} {
		_, err := mysql.Connect(t.Context(), c.dsn)
		storetest.OneLine(t, err, c.address, c.cause)
		_, password := server.Auth()
		assert.NotContains(t, err.Error(), password, name)
	}
}

// A server that takes connections and says nothing is not waited for.
func TestADatabaseThatDoesNotAnswerIsOneLine(t *testing.T) {
	t.Parallel()
	server := start(t)
	require.NoError(t, server.Pause())
	_, err := mysql.Connect(t.Context(), "root:secret@tcp("+server.Addr()+")/x")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	storetest.OneLine(t, err, server.Addr())
}

// It says hello, but late, and then somebody has locked a table.
func TestADatabaseThatIsSlowTwiceIsOneLineInTime(t *testing.T) {
	t.Parallel()
	server := start(t)
	tx := begin(t, open(t, server))
	_, err := tx.Exec("LOCK TABLES lockladder_stock WRITE")
	require.NoError(t, err)
	defer tx.Exec("UNLOCK TABLES")
	network, err := proxy.Listen(server.Addr())
	require.NoError(t, err)
	defer network.Close()
	network.Set(proxy.Weather{Hold: proxy.Replies})
	time.AfterFunc(2*time.Second, func() { network.Set(proxy.Weather{}) })
	bar, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = mysql.Open(bar, rootAt(server, network.Addr(), database))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	storetest.OneLine(t, err, network.Addr(), "tables")
	assert.NoError(t, bar.Err(), "the line is to come within five seconds")
}
