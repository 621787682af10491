package scenarios_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

var onRedis = flag.String("redis", os.Getenv("LOCKLADDER_REDIS"),
	`tell the scenarios on real servers: "auto" starts them, and host:port, or`+
		" redis://user:password@host:port, uses somebody's; several are"+
		" separated by commas")

func TestMain(m *testing.M) {
	flag.Parse()
	if *onRedis != "" {
		// The stories mostly wait: all rungs can wait at the same time.
		flag.Set("test.parallel", "12")
	}
	os.Exit(m.Run())
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

// nodes are the servers for a rung that needs so many.
func nodes(t *testing.T, n int) []lab.Server {
	var nodes []lab.Server
	if *onRedis == "auto" {
		all, err := servers.StartAll(t.Context(), n)
		require.NoError(t, err)
		t.Cleanup(func() { servers.StopAll(all) })
		for _, s := range all {
			nodes = append(nodes, started{s})
		}
		return nodes
	}
	named := strings.Split(*onRedis, ",")
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

func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("real servers are asked for with -redis auto")
	}
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			scenarios.Work(t, rung.Build)
			t.Parallel()
			scenarios.Run(t, rung.Build, append(laddertest.Options(rung),
				scenarios.OnServers(nodes(t, rung.Nodes)...))...)
		})
	}
}
