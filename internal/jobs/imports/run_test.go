package imports_test

import (
	"os"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/benchmark/nodes"
	"github.com/lockladder/lockladder/internal/jobs/imports"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/ladder/laddertest"
	"github.com/lockladder/lockladder/lock"
)

func TestMain(m *testing.M) {
	imports.Serve(func(name string) (lock.Build, error) {
		rung, err := ladder.Find(name)
		return rung.Build, err
	})
	laddertest.CollectLess()
	laddertest.OneProcessor()
	os.Exit(m.Run())
}

func subject(t *testing.T, name string) benchmark.Subject {
	found, err := benchmark.Select(benchmark.Rungs(), name)
	require.NoError(t, err)
	return found[0]
}

func runner(servers *nodes.Servers, form imports.Form) *imports.Runner {
	return &imports.Runner{Form: form, Workers: 3, Tasks: 60, Ungrouped: 10,
		Work: time.Millisecond, Poll: 2 * time.Millisecond, Seed: 1,
		Basic: benchmark.Basic{Servers: servers, TTL: time.Second,
			Timeout: time.Minute}}
}

// outside is a server of another process, as the workers see it.
func outside(t *testing.T) *nodes.Servers {
	server := miniredis.RunT(t)
	server.ClockTTL(true) // or no lease would ever end
	server.RequireAuth("s3cret")
	servers, err := nodes.Connect(t.Context(), []string{server.Addr()},
		nodes.Config{Clients: 1, Password: "s3cret"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers.Close(t.Context())) })
	return servers
}

func TestWorkersInThisProcessDoEveryTaskOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("its workers do their tasks in real time")
	}
	for _, rung := range []string{"bronze", "reentrant/notify",
		"reentrant/fenced", "redlock"} {
		for _, form := range []imports.Form{imports.Article, imports.Improved} {
			t.Run(rung+"/"+string(form), func(t *testing.T) {
				servers := nodes.Embed(5, nodes.Config{Clients: 1})
				defer servers.Close(t.Context())
				row, err := runner(servers, form).Measure(t.Context(),
					subject(t, rung), 5)
				require.NoError(t, err)
				assert.Equal(t, imports.Figures{Pushed: 60, Done: 60},
					row.Figures)
				assert.True(t, row.Finished)
				assert.Nil(t, row.FirstFailure)
			})
		}
	}
}

func TestWorkersThatAreKilledLoseNothing(t *testing.T) {
	r := runner(outside(t), imports.Improved)
	r.Launch, r.Kill = imports.Launch, 4
	row, err := r.Measure(t.Context(), subject(t, "reentrant/fenced"), 5)
	require.NoError(t, err)
	t.Logf("%+v", row)
	assert.Equal(t, 4, row.Killed)
	assert.Equal(t, 60, row.Done)
	assert.Zero(t, row.Lost+row.DoneTwice+row.Overlapped+row.OutOfOrder+
		row.AgainUnforced+row.Failures)
	assert.Equal(t, 4, row.Deaths)
}
