// Package serverstest gets tests the real servers that somebody asks for. It
// stands between the lab and the servers, which do not know each other.
package serverstest

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/servers"
)

// Variable is the environment's way to ask, for all packages of a run.
const Variable = "LOCKLADDER_REDIS"

// Auto asks for servers that are started here.
const Auto = "auto"

// Flag defines the flag -redis of a test binary. Its value is what is asked for:
// nothing, Auto, or somebody's servers.
func Flag() *string {
	return flag.String("redis", os.Getenv(Variable), "tell the scenarios on"+
		` real servers: "auto" starts them, and host:port, or`+
		" redis://user:password@host:port, uses somebody's; several are"+
		" separated by commas")
}

// Nodes are so many servers, of those that are asked for. Started ones end with
// the test. A server that can't be had fails the test in one line, which never
// shows a password; too few skip it.
func Nodes(t *testing.T, asked string, n int) []lab.Server {
	t.Helper()
	var nodes []lab.Server
	if asked == Auto {
		all, err := servers.StartAll(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { servers.StopAll(all) })
		for _, s := range all {
			nodes = append(nodes, started{s})
		}
		return nodes
	}
	named := strings.Split(asked, ",")
	if len(named) < n {
		t.Skipf("it needs %d servers, and -redis names %d", n, len(named))
	}
	for _, name := range named[:n] {
		options := &redis.Options{Addr: name}
		if strings.Contains(name, "://") {
			var err error
			if options, err = redis.ParseURL(name); err != nil {
				t.Fatal("-redis is no address and no redis:// URL")
			}
		}
		if err := servers.Reach(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, somebodys{options})
	}
	return nodes
}

// Cluster is a Redis Cluster of so many masters. It ends with the test.
func Cluster(t *testing.T, masters int) *servers.Cluster {
	t.Helper()
	c, err := servers.StartCluster(t.Context(), masters)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// Clustered is a Redis Cluster as the lab wants it: one node to a lock.
func Clustered(c *servers.Cluster) lab.Server { return clustered{c} }

// Watched is a master whose replica is promoted by a Sentinel. It ends with the
// test.
func Watched(t *testing.T) lab.Server {
	t.Helper()
	s, err := servers.StartSentinel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return watched{s}
}

// started is a server of our own, with what the lab asks of one.
type started struct{ *servers.Redis }

func (s started) Auth() (user, password string) { return "", "" }
func (s started) Restart() error                { return s.Redis.Restart(context.Background()) }
func (s started) Replicate() error              { return s.Redis.Replicate(context.Background()) }
func (s started) Promote() error                { return s.Redis.Promote(context.Background()) }
func (s started) Restore() error                { return s.Redis.Restore(context.Background()) }

// somebodys is a server that is only borrowed.
type somebodys struct{ options *redis.Options }

func (s somebodys) Addr() string { return s.options.Addr }
func (s somebodys) Auth() (user, password string) {
	return s.options.Username, s.options.Password
}

type clustered struct{ *servers.Cluster }

func (clustered) Auth() (user, password string) { return "", "" }

// watched can fail over, once, and nothing else.
type watched struct{ *servers.Sentinel }

var errOnlyFailover = errors.New("a server under a Sentinel only fails over")

func (watched) Auth() (user, password string) { return "", "" }
func (watched) Kill()                         {}
func (watched) Restart() error                { return errOnlyFailover }
func (watched) Pause() error                  { return errOnlyFailover }
func (watched) Resume() error                 { return errOnlyFailover }
func (watched) Restore() error                { return nil }
func (w watched) Replicate() error {
	return w.HoldReplication(context.Background())
}
func (w watched) Promote() error { return w.Failover(context.Background()) }
