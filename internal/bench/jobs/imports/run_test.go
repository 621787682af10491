package imports_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) {
	imports.Serve(func(name string) (lock.Build, error) {
		rung, err := ladder.Find(name)
		return rung.Build, err
	})
	laddertest.Main(m)
}

func TestWorkersThatAreKilledLoseNothing(t *testing.T) {
	laddertest.Long(t, "it starts processes and kills them")
	server := miniredis.RunT(t)
	server.ClockTTL(true) // or no lease would ever end
	server.RequireAuth("s3cret")
	servers, err := nodes.Connect(t.Context(), []string{server.Addr()},
		nodes.Config{Clients: 1, Password: "s3cret"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers.Close(t.Context())) })
	r := &imports.Runner{Form: imports.Improved, Workers: 3, Tasks: 60,
		Ungrouped: 10, Work: time.Millisecond, Poll: 2 * time.Millisecond, Seed: 1,
		Launch: imports.Launch, Kill: 4, Common: bench.Common{Servers: servers,
			TTL: time.Second, Timeout: time.Minute}}
	fenced, err := bench.Select(bench.Rungs(), "reentrant/fenced")
	require.NoError(t, err)
	row, err := r.Measure(t.Context(), fenced[0], 5)
	require.NoError(t, err)
	t.Logf("%+v", row)
	assert.Equal(t, 4, row.Killed)
	assert.Equal(t, 60, row.Done)
	assert.Zero(t, row.Lost+row.DoneTwice+row.Overlapped+row.OutOfOrder+
		row.AgainUnforced+row.Failures)
	assert.Equal(t, 4, row.Deaths)
}
