package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/servers/proxy"
	"github.com/lockladder/lockladder/scenarios"
)

// dsn names somebody's database. The variable is no default of the flag's: a
// usage text would print it, with the password.
var dsn = func() *string {
	value := os.Getenv("LOCKLADDER_MYSQL")
	flag.Func("mysql", "run the scenarios on the database of this DSN,"+
		" user:password@tcp(host:3306)/database; tables named lockladder_* are"+
		" made there and removed; one run at a time",
		func(asked string) error {
			value = asked
			return nil
		})
	return &value
}()

// tables are the locks'.
var tables = []string{"lockladder_record", "lockladder_lease", "lockladder_row",
	"lockladder_stock"}

// run names this run, for its rows.
var run = servers.RunName()

// sweeper is the process that removes what a run leaves in somebody's database.
const sweeper = "sweeper"

// borrowed is what the sweeper is told.
type borrowed struct {
	Run, DSN string
	Were     []string // tables that were there before
}

// borrow fails the test when somebody's database can't be used, and else sees to
// it that nothing of ours stays there, however this process ends.
func borrow(t *testing.T) {
	t.Helper()
	db, err := mysql.Connect(t.Context(), *dsn)
	if err != nil {
		t.Fatalf("-mysql: %v", err)
	}
	defer db.Close()
	were, err := there(t.Context(), db)
	require.NoError(t, err)
	finish, err := process.After(sweeper, borrowed{run, *dsn, were})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, finish()) })
}

// there are those of the tables that the database has.
func there(ctx context.Context, db *sql.DB) (found []string, err error) {
	for _, table := range tables {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM"+
			" information_schema.tables WHERE table_schema = DATABASE()"+
			" AND table_name = ?", table).Scan(&n); err != nil {
			return nil, err
		}
		if n > 0 {
			found = append(found, table)
		}
	}
	return found, nil
}

// sweep removes the tables that the run has made, and its rows from others.
func (b borrowed) sweep() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	db, err := mysql.Connect(ctx, b.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	// Twice: a statement of a worker that was just killed may still arrive.
	for range 2 {
		for _, table := range tables {
			do, args := "DROP TABLE IF EXISTS "+table, []any(nil)
			if slices.Contains(b.Were, table) {
				do = "DELETE FROM " + table + " WHERE name LIKE ?"
				args = []any{"%lockladder:" + b.Run + ":%"}
			}
			_, failed := db.ExecContext(ctx, do, args...)
			err = errors.Join(err, failed)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// somebodys is the database that is named. It is told what does nothing to the
// server, and nobody's rows are touched.
func somebodys(t *testing.T, kind kind) (scenarios.RealServer, error) {
	db, err := mysql.Open(t.Context(), *dsn)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { db.Close() })
	config, err := driver.ParseDSN(*dsn)
	return &store{addr: config.Addr, kind: kind, db: db}, err
}

// named is a pool whose keys bear this run's name.
type named struct{ scenarios.RealServers }

func (named) Run() string { return run }

// scenarioTests is this test binary, to run some scenarios on somebody's
// database. The arguments of a process can be read by others.
func scenarioTests(of, which string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run",
		"TestEveryLockBreaksWhatIsKnown/locks/"+which)
	cmd.Env = append(os.Environ(), "LOCKLADDER_MYSQL="+of)
	return cmd
}

func TestSomebodysDatabaseIsLeftAsItWas(t *testing.T) {
	server := start(t)
	of := rootOf(server, database)
	db, err := mysql.Connect(t.Context(), of)
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE record_lock (name VARCHAR(20)) ENGINE=InnoDB",
		"INSERT INTO record_lock VALUES ('theirs')",
		// As a table of ours that another run has left.
		"CREATE TABLE lockladder_record (name VARCHAR(191) NOT NULL PRIMARY KEY," +
			" taken_at DATETIME(6) NOT NULL) ENGINE=InnoDB",
		"INSERT INTO lockladder_record VALUES ('theirs', NOW(6))",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	all := func() (found []string) {
		for _, from := range []string{"SHOW TABLES", "SELECT name FROM" +
			" record_lock", "SELECT name FROM lockladder_record"} {
			rows, err := db.Query(from)
			require.NoError(t, err)
			for name := ""; rows.Next(); found = append(found, name) {
				require.NoError(t, rows.Scan(&name))
			}
			require.NoError(t, rows.Close())
		}
		return found
	}
	before := all()

	t.Run("when the run ends", func(t *testing.T) {
		// Somebody works there, and has locked a row.
		tx := begin(t, db)
		_, err := tx.Exec("UPDATE record_lock SET name = 'changed'")
		require.NoError(t, err)
		out, err := scenarioTests(of, "(record|pessimistic)/"+
			"(mutual_exclusion|lost_lease_told)$").CombinedOutput()
		assert.NoError(t, err, "%s", out)
		// A scenario ends the holder's connection, and not theirs.
		s := &store{kind: kinds["pessimistic"], db: db}
		holder, _, err := s.Holder(t.Context(), "stock")
		require.NoError(t, err)
		assert.Empty(t, holder)
		assert.NoError(t, s.Delete(t.Context(), "stock"))
		assert.NoError(t, tx.Rollback(), "their transaction is still open")
		assert.Equal(t, before, all())
	})
	t.Run("when the run is killed", func(t *testing.T) {
		cmd := scenarioTests(of, "(record|lease)/(mutual_exclusion|hung_worker)$")
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool {
			var rows int
			return db.QueryRow("SELECT COUNT(*) FROM lockladder_record"+
				" WHERE name <> 'theirs'").Scan(&rows) == nil && rows > 0
		}, 30*time.Second, time.Millisecond, "it uses the database")
		require.NoError(t, cmd.Process.Kill())
		cmd.Wait()
		assert.Eventually(t, func() bool {
			return assert.ObjectsAreEqual(before, all())
		}, 30*time.Second, 20*time.Millisecond)
	})
}

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
	// And the flag goes before the variable.
	cmd := scenarioTests("", "")
	cmd.Args = append(cmd.Args, "-mysql", "root:secret@tcp(127.0.0.1:1)/x")
	out, err := cmd.CombinedOutput()
	assert.Error(t, err)
	assert.Regexp(t, `(?m)^    \w+\.go:\d+: -mysql: .*127.0.0.1:1.*refused.*\n^FAIL\n`,
		string(out))
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
