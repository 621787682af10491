// Package stores starts servers of other kinds than Redis, as package servers does.
//
// MariaDB has a random password. ZooKeeper and etcd have none. ZooKeeper's nodes
// are protected only by the rights that a client gives to each one it makes, and
// the recipes make nodes that are everybody's. etcd learns users
// and passwords from a client when it runs already, and gives each connection a
// ticket that it forgets when it restarts: the scenarios about outages would be
// about tickets.
package stores

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql" // for sql.Open

	"github.com/lockladder/lockladder/internal/servers"
)

//go:embed mariadb.sh
var installFirst string

// HasMariaDB says whether StartMariaDB can: nil, or servers.ErrMissing.
func HasMariaDB() error { return servers.Has("mariadb-install-db") }

// HasZooKeeper says whether StartZooKeeper can: nil, or servers.ErrMissing.
func HasZooKeeper() error {
	if err := servers.Has("java"); err != nil {
		return err
	}
	if _, err := os.Stat(zookeeperJar); err != nil {
		return fmt.Errorf("zookeeper is %w", servers.ErrMissing)
	}
	return nil
}

// HasEtcd says whether StartEtcd can: nil, or servers.ErrMissing.
func HasEtcd() error { return servers.Has("etcd") }

// StartMariaDB starts a MariaDB server on a fresh data directory and waits until
// it answers. The only user is root, from this machine and with a random
// password. It has an empty database, see DSN. Committed data outlives the server, and
// not the machine.
// Options are as on its command line: "--innodb-lock-wait-timeout=1".
func StartMariaDB(ctx context.Context, options ...string) (*servers.Server, error) {
	if err := HasMariaDB(); err != nil {
		return nil, err
	}
	return servers.Start(ctx, servers.Kind{Name: "MariaDB", Ready: answers, User: "root",
		Password: servers.Password(), Command: func(s *servers.Server) ([]string, error) {
			first, err := s.Configure("first.sql", secure, s.Password, Database)
			return append([]string{"sh", "-c", installFirst, "mariadb", s.Dir,
				account(), program("mariadbd"), "--no-defaults",
				"--datadir=" + filepath.Join(s.Dir, "data"), "--tmpdir=" + s.Dir,
				"--port=" + strconv.Itoa(s.Port), "--bind-address=127.0.0.1",
				"--socket=socket",      // in data; a long path is refused
				"--init-file=" + first, // done before the first client is greeted
				"--pid-file=" + filepath.Join(s.Dir, "mariadbd.pid"),
				"--user=" + account(), "--skip-name-resolve",
				"--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M",
				"--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0",
				"--max-connections=2000"}, options...), err
		}})
}

// secure has the statements that a MariaDB server executes first, on one line
// each. They are kept from the log that a replica reads.
const secure = `SET sql_log_bin = 0;
DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> '127.0.0.1');
UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, '$.plugin', 'mysql_native_password', '$.authentication_string', PASSWORD('%s')) WHERE User = 'root';
FLUSH PRIVILEGES;
CREATE DATABASE IF NOT EXISTS %s;
`

// Database is the name of the database that a MariaDB server has from the beginning.
const Database = "lockladder"

// DSN is how the one user of a MariaDB server reaches that database.
func DSN(s *servers.Server) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", s.User, s.Password, s.Addr(), Database)
}

// zookeeper is a server that knows of the others in its ensemble, if there are any.
func zookeeper(tick time.Duration, in ensemble) servers.Kind {
	return servers.Kind{Name: "ZooKeeper", Ready: opens,
		Command: func(s *servers.Server) ([]string, error) {
			others, err := in.config(s.Dir)
			if err != nil {
				return nil, err
			}
			config, err := s.Configure("zoo.cfg", "tickTime=%d\ndataDir=%s\n"+
				"clientPort=%d\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"+
				"admin.enableServer=false\nforceSync=no\n"+
				"4lw.commands.whitelist=wchs,srvr\n%s",
				tick.Milliseconds(), filepath.Join(s.Dir, "data"), s.Port, others)
			return []string{"java", "-Xmx256m", "-Dzookeeper.forceSync=no", "-cp",
				zookeeperJar, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
				config}, err
		}}
}

// etcd is one member of those that talk to each other on these ports.
func etcd(peers []int, member int) servers.Kind {
	return servers.Kind{Name: "etcd", Ready: isHealthy,
		Command: func(s *servers.Server) ([]string, error) {
			clients := "http://" + s.Addr()
			own := "http://127.0.0.1:" + strconv.Itoa(peers[member])
			var all []string
			for i, port := range peers {
				all = append(all, fmt.Sprintf("%s=http://127.0.0.1:%d",
					memberName(i), port))
			}
			return []string{"etcd", "--name", memberName(member),
				"--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", own, "--initial-advertise-peer-urls", own,
				"--initial-cluster", strings.Join(all, ","),
				"--unsafe-no-fsync", "--logger", "zap", "--log-level", "error"}, nil
		}}
}

func memberName(i int) string { return "member" + strconv.Itoa(i) }

// zookeeperJar is where Debian's package puts it.
const zookeeperJar = "/usr/share/java/zookeeper.jar"

// program finds a server that is not on everybody's path.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return filepath.Join("/usr/sbin", name)
}

// account is who runs the servers: MariaDB refuses root unless it is named.
func account() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// answers says whether a MariaDB server takes connections.
func answers(ctx context.Context, s *servers.Server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	db, err := sql.Open("mysql", DSN(s))
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// opens says whether a ZooKeeper server opens sessions: it says that it is well
// before it does. The session ends soon.
func opens(ctx context.Context, s *servers.Server) error {
	// A length, and a request without any past: version, transaction, timeout in
	// milliseconds, session, and a password of 16 bytes.
	request := make([]byte, 4+44)
	binary.BigEndian.PutUint32(request, 44)
	binary.BigEndian.PutUint32(request[4+4+8:], 1)
	binary.BigEndian.PutUint32(request[4+4+8+4+8:], 16)
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write(request); err != nil {
		return err
	}
	_, err = io.ReadFull(c, make([]byte, 5)) // a length, and what has that
	return err
}

// isHealthy says whether an etcd server has a leader.
func isHealthy(ctx context.Context, s *servers.Server) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+s.Addr()+"/health", nil)
	if err != nil {
		return err
	}
	request.Close = true // the connection is not kept
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it is not healthy: %s", answer.Status)
	}
	return nil
}
