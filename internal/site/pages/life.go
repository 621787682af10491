package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/site/life"
	"github.com/lockladder/lockladder/scenarios"
)

// ordinary is the life that most rungs are shown with: two clients take turns, and
// the second one crashes.
var ordinary = scenarios.Life{Runs: []scenarios.ClientRun{
	{Client: "A", At: 0, Work: 8 * time.Second},
	{Client: "B", At: time.Second, Work: 4 * time.Second, Crashes: true},
	{Client: "A", At: 14 * time.Second, Work: 3 * time.Second},
}}

// lives are those of rungs whose idea needs others: more clients, a shared process,
// readers, or nodes that go down.
var lives = map[string]scenarios.Life{
	"reentrant/fair": {Runs: []scenarios.ClientRun{
		{Client: "A", At: 0, Work: 6 * time.Second},
		{Client: "B", At: time.Second, Work: 3 * time.Second},
		{Client: "C", At: 2 * time.Second, Work: 3 * time.Second, Crashes: true},
		{Client: "A", At: 14 * time.Second, Work: 3 * time.Second},
	}},
	"reentrant/cohort": {Runs: []scenarios.ClientRun{
		{Client: "A", At: 0, Work: 3 * time.Second},
		{Client: "B", At: time.Second / 2, Work: 7 * time.Second, Beside: "A"},
		{Client: "C", At: 5 * time.Second, Work: 3 * time.Second, Crashes: true},
		{Client: "A", At: 14 * time.Second, Work: 3 * time.Second},
	}},
	"redlock": {Runs: ordinary.Runs, Down: 2, DownAt: 5 * time.Second},
	"reentrant/readwrite": {Runs: []scenarios.ClientRun{
		{Client: "A", At: 0, Work: 6 * time.Second, Reads: true},
		{Client: "B", At: time.Second, Work: 7 * time.Second, Reads: true},
		{Client: "C", At: 2 * time.Second, Work: 4 * time.Second, Crashes: true},
		{Client: "A", At: 14 * time.Second, Work: 3 * time.Second, Reads: true},
	}},
}

// record lets every rung live.
func (g *Generator) record(t *testing.T) {
	g.lives = make([]*scenarios.Lived, len(ladder.Rungs))
	for i, rung := range ladder.Rungs {
		l, special := lives[rung.Name]
		if !special {
			l = ordinary
		}
		t.Run("life of "+rung.Name, func(t *testing.T) {
			var err error
			g.lives[i], err = l.Record(t, rung.Build, laddertest.Options(rung)...)
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// life shows the picture of a rung's life.
func (g *Generator) life(name string) (string, error) {
	if _, err := ladder.Find(name); err != nil {
		return "", err
	}
	file := life.File(name)
	return fmt.Sprintf("![%s](%s)\n", life.Text(g.lives[indexOf(name)]),
		file[len("docs/"):]), nil
}

// pictures are the files of these pictures.
func (g *Generator) pictures() map[string]string {
	files := map[string]string{}
	for i, rung := range ladder.Rungs {
		files[life.File(rung.Name)] = life.Draw(g.lives[i])
	}
	return files
}
