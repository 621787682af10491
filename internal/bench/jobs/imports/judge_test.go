package imports_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench/jobs/imports"
)

// judge reads a log whose entries are separated by commas. Two tasks of group g
// were pushed, 1 and 2.
func judge(t *testing.T, log string, left ...imports.Task) imports.Figures {
	t.Helper()
	f, err := imports.Judge(strings.Split("push 1 g -, push 2 g -, "+log, ", "), left)
	require.NoError(t, err)
	return f
}

func TestWhatTheJudgeSays(t *testing.T) {
	for _, c := range []struct {
		name string
		log  string
		left []imports.Task
		want imports.Figures
	}{
		{"a task is nowhere", "begin 1 g a, end 1 g a", nil,
			imports.Figures{Done: 1, Lost: 1}},
		{"a task stands in a queue and in a slot", "begin 1 g a, end 1 g a",
			[]imports.Task{{ID: 2}, {ID: 2}}, imports.Figures{Done: 1, Left: 1}},
		{"what is done may still stand somewhere",
			"begin 1 g a, end 1 g a, begin 2 g a, end 2 g a",
			[]imports.Task{{ID: 2}}, imports.Figures{Done: 2}},
		{"two of a group at once",
			"begin 1 g a, begin 2 g b, end 1 g a, end 2 g b", nil,
			imports.Figures{Done: 2, Overlapped: 1}},
		{"the later one first",
			"begin 2 g a, end 2 g a, begin 1 g a, end 1 g a", nil,
			imports.Figures{Done: 2, OutOfOrder: 1}},
		{"twice, and too late",
			"begin 1 g a, end 1 g a, begin 2 g a, end 2 g a, begin 1 g b, end 1 g b",
			nil, imports.Figures{Done: 2, DoneTwice: 1, OutOfOrder: 1,
				StartedAgain: 1}},
		{"an end that came too late does not count",
			"begin 1 g a, begin 1 g b, end 1 g b, refused 1 g a, begin 2 g b, end 2 g b",
			nil, imports.Figures{Done: 2, StartedAgain: 1,
				Overlapped: 1, Refused: 1}},
		{"what a dead worker had sent arrives after its death",
			"dead - - a, begin 1 g a, begin 1 g b, end 1 g b, begin 2 g b, end 2 g b",
			nil, imports.Figures{Done: 2, StartedAgain: 1, Deaths: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Pushed = 2
			assert.Equal(t, c.want, judge(t, c.log, c.left...))
		})
	}
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	for _, entry := range []string{"", "begin 1 g", "begin one g a", "jump 1 g a"} {
		_, err := imports.Judge([]string{entry}, nil)
		assert.Error(t, err, entry)
	}
}
