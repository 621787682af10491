package mysql_test

import (
	"context"
	"database/sql"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/storetest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// every is the pause of a waiter: a hundredth of the lease, as in [wukong].
const every = 30 * time.Millisecond

// kind is one of the locks, and how the scenarios see what the database holds.
type kind struct {
	build  func(db *sql.DB, env scenarios.Env) (scenarios.Lock, error)
	holder string // selects what differs from grant to grant, and what is left
	remove string
	flaws  []scenarios.Flaw
	not    []scenarios.Feature
}

var kinds = map[string]kind{
	"record": {
		build: func(db *sql.DB, env scenarios.Env) (scenarios.Lock, error) {
			return mysql.NewRecord(db, env.Key, every)
		},
		holder: "SELECT taken_at, 0 FROM lockladder_record WHERE name = ?",
		remove: "DELETE FROM lockladder_record WHERE name = ?",
		not: []scenarios.Feature{scenarios.Reentry, scenarios.Renewal,
			scenarios.LossNotices},
		flaws: lock.Flaws(
			// No expiry: a row that nobody deletes stays.
			"crash_holding: orphaned", "crash_after_first_command: orphaned",
			"abandoned_acquire: orphaned", "cancelled_context: orphaned",
			"hung_worker: orphaned", "lost_reply: self-deadlock",
			"refused_by_itself: self-deadlock",
			// No owner: any client can delete the row.
			"lost_release_reply: foreign release",
			"unlock_not_held: foreign release, false success"),
	},
	"lease": {
		build: func(db *sql.DB, env scenarios.Env) (scenarios.Lock, error) {
			return mysql.NewLease(db, env.Key, env.TTL, every)
		},
		holder: "SELECT owner, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)" +
			" FROM lockladder_lease WHERE name = ? AND expires_at > UTC_TIMESTAMP(6)",
		remove: "DELETE FROM lockladder_lease WHERE name = ?",
		not:    []scenarios.Feature{scenarios.Renewal, scenarios.LossNotices},
		flaws: lock.Flaws(
			// A lease that is not renewed ends under its holder, as with Redis.
			"overrun_overlap: two holders", "paused_holder: stale write",
			"oversell: lost update"),
	},
	"pessimistic": {
		build: func(db *sql.DB, env scenarios.Env) (scenarios.Lock, error) {
			return mysql.NewPessimistic(db, env.Key)
		},
		// One lock a server: the holder is the one of our own connections
		// that has locked a row and waits for none.
		holder: "SELECT trx_mysql_thread_id, 0 FROM information_schema" +
			".INNODB_TRX WHERE trx_state = 'RUNNING' AND trx_rows_locked > 0" +
			" AND FIND_IN_SET(trx_mysql_thread_id, ?)",
		not: []scenarios.Feature{scenarios.Reentry, scenarios.Renewal,
			scenarios.LossNotices},
		flaws: lock.Flaws(
			// The lock is the connection's, which a restart ends, and which a
			// holder that hangs keeps.
			"node_restart: two holders", "hung_worker: orphaned"),
	},
}

// store is a server in the scenarios, and its database.
type store struct {
	*servers.Server
	kind kind
	db   *sql.DB

	mu      sync.Mutex
	threads []string // the server's names of the scenarios' connections
}

// Auth is nothing that the scenarios need: build knows it.
func (s *store) Auth() (user, password string) { return "", "" }

func (s *store) Holder(ctx context.Context, key string) (string, time.Time, error) {
	var holder string
	var left int64
	if s.kind.remove == "" {
		s.mu.Lock()
		key = strings.Join(s.threads, ",")
		s.mu.Unlock()
	}
	err := s.db.QueryRowContext(ctx, s.kind.holder, key).Scan(&holder, &left)
	if err == sql.ErrNoRows {
		return "", time.Time{}, nil
	}
	if err != nil || left == 0 {
		return holder, time.Time{}, err
	}
	return holder, time.Now().Add(time.Duration(left) * time.Microsecond), nil
}

func (s *store) Delete(ctx context.Context, key string) error {
	if s.kind.remove != "" {
		_, err := s.db.ExecContext(ctx, s.kind.remove, key)
		return err
	}
	thread, _, err := s.Holder(ctx, key)
	if err == nil && thread != "" {
		_, err = s.db.ExecContext(ctx, "KILL "+thread)
	}
	return err
}

func (s *store) Tidy(ctx context.Context, key string) error {
	for _, table := range []string{"lockladder_record", "lockladder_lease", "lockladder_row"} {
		if _, err := s.db.ExecContext(ctx, "DELETE FROM "+table+
			" WHERE name LIKE ?", "%"+key+"%"); err != nil {
			return err
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	storetest.Main(m, stores.HasMariaDB())
}

func TestEveryLockBreaksWhatIsKnown(t *testing.T) {
	var locks []storetest.Lock
	for _, name := range []string{"record", "lease", "pessimistic"} {
		locks = append(locks, kinds[name].known(name))
	}
	storetest.Compare(t, stores.HasMariaDB(), "mysql", locks...)
}

// known is a lock in the scenarios.
func (k kind) known(name string) storetest.Lock {
	return storetest.Lock{Name: name, Flaws: k.flaws, Not: k.not,
		Build: func(*testing.T) lock.Build {
			return func(env scenarios.Env) (scenarios.Lock, error) {
				config, err := driver.ParseDSN("root:" + os.Getenv(passwordEnv) +
					"@tcp(lab)/" + stores.Database)
				if err != nil {
					return nil, err
				}
				db, err := mysql.OpenBy(config, func(ctx context.Context, _,
					_ string) (net.Conn, error) {
					return env.Dial(ctx, 0)
				})
				if err != nil {
					return nil, err
				}
				return k.build(db, env)
			}
		},
		Start: func(t *testing.T) (scenarios.RealServer, error) {
			server := start(t)
			return &store{Server: server, kind: k, db: open(t, server)}, nil
		},
	}
}

// passwordEnv tells this process's workers the password of the servers that it
// has started. Everything else that a worker must know is the same for every store.
const passwordEnv = "LOCKLADDER_MARIADB_PASSWORD"

// start starts a server that ends with the test.
func start(t *testing.T, options ...string) *servers.Server {
	t.Helper()
	s, err := stores.StartMariaDB(context.Background(), options...)
	storetest.Started(t, err, s)
	require.NoError(t, os.Setenv(passwordEnv, s.Password))
	return s
}

// open connects to the tests' database.
func open(t *testing.T, server *servers.Server) *sql.DB {
	t.Helper()
	return connect(t, stores.DSN(server))
}

// connect makes a client that ends with the test.
func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := mysql.Open(context.Background(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}
