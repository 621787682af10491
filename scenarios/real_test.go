package scenarios_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/scenarios"
)

var onRedis = flag.String("redis", os.Getenv("LOCKLADDER_REDIS"),
	`tell the scenarios on real servers: "auto" starts them`)

// server makes a real server what the lab asks for.
type server struct{ *servers.Redis }

func (s server) Restart() error   { return s.Redis.Restart(context.Background()) }
func (s server) Replicate() error { return s.Redis.Replicate(context.Background()) }
func (s server) Promote() error   { return s.Redis.Promote(context.Background()) }
func (s server) Restore() error   { return s.Redis.Restore(context.Background()) }

func TestEveryRungBreaksTheSameOnRealServers(t *testing.T) {
	if *onRedis == "" {
		t.Skip("without -redis auto")
	}
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			scenarios.Work(t, rung.Build)
			t.Parallel()
			all, err := servers.StartAll(t.Context(), rung.Nodes)
			require.NoError(t, err)
			defer servers.StopAll(all)
			var nodes []lab.Server
			for _, s := range all {
				nodes = append(nodes, server{s})
			}
			scenarios.Run(t, rung.Build, append(laddertest.Options(rung),
				scenarios.OnServers(nodes...))...)
		})
	}
}
