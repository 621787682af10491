package explore_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var (
	schedule = flag.String("schedule", "", "the schedule that Replay takes")
	rungFlag = flag.String("rung", "gold", "the rung that Replay takes it with")
)

func TestReplay(t *testing.T) {
	if *schedule == "" {
		t.Skip()
	}
	rung, err := ladder.Find(*rungFlag)
	require.NoError(t, err)
	r := explore.Replay(t, rung.Build, explore.Bounds{Nodes: 1}, *schedule)
	t.Log("\n" + r.Timeline)
}
