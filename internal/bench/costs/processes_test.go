package costs_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/lock"
)

// process is a go-redis client that no other owner has, so that its owner shares
// nothing of what the owners of one process have in common.
type process struct{ redis.UniversalClient }

// apart is a subject whose owners live in a process each.
func apart(s bench.Subject) bench.Subject {
	build := s.Build
	s.Build = func(env lock.Env) (lock.Lock, error) {
		nodes := make([]redis.UniversalClient, len(env.Nodes))
		for i, rdb := range env.Nodes {
			nodes[i] = &process{rdb}
		}
		env.Nodes = nodes
		return build(env)
	}
	return s
}

// Cohort's figure in the tables comes from clients that share a process, which is
// what it is made for. Where each has a process of its own it is no faster than
// notify. docs/choosing.md has the table.
func TestACohortIsFastOnlyWhereWaitersShareAProcess(t *testing.T) {
	locktest.Long(t, "it measures 100 clients six times")
	const clients = 100
	speed := func(s bench.Subject, clients int) float64 {
		row := measureOver(t, s, clients, 0, nil)
		require.Zero(t, row.Value("failures"), row.Value("first_failure"))
		return *row.Number("acquisitions_per_second")
	}
	serial := speed(subject(t, "serial-limit"), 1)
	ratios := map[string][2]float64{}
	var rows [][]string
	for _, name := range []string{"diamond", "reentrant/notify",
		"reentrant/cohort"} {
		r := [2]float64{speed(subject(t, name), clients) / serial,
			speed(apart(subject(t, name)), clients) / serial}
		ratios[name] = r
		rows = append(rows, []string{name, fmt.Sprintf("%.2f", r[0]),
			fmt.Sprintf("%.2f", r[1])})
	}
	cohort, notify := ratios["reentrant/cohort"], ratios["reentrant/notify"]
	assert.Greater(t, cohort[0], 1.5*notify[0])
	assert.Less(t, cohort[1], 1.1*notify[1])
	text := generated.Table(1, []string{"lock", "all in one process",
		"each in a process of its own"}, rows)
	t.Log("\n" + text)
	generated.Compare(t, "choosing.md", "processes", text)
}
