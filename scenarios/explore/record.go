package explore

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/site/recording"
)

// Option says what else a walk leaves behind.
type Option func(*settings)

type settings struct {
	dir string // where graphs are recorded; "": nowhere
}

// Record writes the state graph of each program into a directory, which is made, as
// PROGRAM.json, such as once.json, in place of one that is there. A relative path begins
// at the directory of the test's package. A file has the states, the actions between
// them, what these break, and the lock's code that they lead to. In a checkout of this
// module it is a level in a browser, whose player decides what happens next:
//
//	go run ./docs -open FILE
//
// The walk then uses one processor only. With an empty path nothing is written.
func Record(dir string) Option { return func(s *settings) { s.dir = dir } }

// record writes the graphs of a report.
func (s *settings) record(t *testing.T, found Report) error {
	for _, walk := range found.Walks {
		g := found.level(t.Name(), walk)
		var lines []string
		for _, state := range g.States {
			for i := 2 + len(g.Clients); i < len(state); i += 6 {
				lines = append(lines, g.Texts[state[i+5]])
			}
		}
		slices.Sort(lines)
		name := filepath.Join(s.dir, g.Program+".json")
		file := &recording.File{Graph: g,
			Sources: recording.Code(slices.Compact(lines), lab.Source)}
		if err := file.Write(name); err != nil {
			return fmt.Errorf("record the graph: %w", err)
		}
		t.Logf("the graph is in %s: go run ./docs -open plays it, in a checkout of Lock"+
			" Ladder", name)
	}
	return nil
}

// level is a walk's graph as the site plays it.
func (r Report) level(lock string, walk Walk) *recording.Graph {
	drawn := walk.drawn
	g := &recording.Graph{Lock: lock, Program: string(walk.Program), Nodes: r.Bounds.Nodes,
		Bounds: r.Bounds.String(), Stopped: walk.Stopped,
		Schedules: walk.Schedules().String()}
	bits := map[Invariant]int{}
	for i, invariant := range r.Judged() {
		f := walk.Found[invariant]
		_, failing := walk.Share(invariant)
		g.Goals = append(g.Goals, recording.Goal{Invariant: string(invariant),
			Schedule: f.Schedule, Adversary: f.Adversary, Steps: f.Steps,
			Failing: failing.String()})
		bits[invariant] = 1 << i
	}
	for _, c := range drawn.States[0].Clients {
		g.Clients = append(g.Clients, c.Name)
	}
	texts, worlds := recording.NewTexts(), &recording.States{}
	for _, s := range drawn.States {
		state := []int{int(s.At*1000 + 0.5), worlds.Index(recording.StateAt(&history.Entry{
			Inside: s.Believed, Leases: s.Leases, Stored: s.Storage}))}
		for _, c := range s.Clients {
			state = append(state, texts.Index(c.Does))
		}
		for _, w := range s.Way {
			state = append(state, w.Client, w.Node, texts.Index(w.Sign),
				texts.Index(w.Text), texts.Index(w.Reply), texts.Index(w.Line))
		}
		g.States = append(g.States, state)
	}
	g.Edges = make([][]int, len(g.States))
	for i := range g.Edges {
		g.Edges[i] = []int{}
	}
	for _, e := range drawn.Edges {
		mask := 0
		for _, invariant := range slices.Concat(e.Broken, drawn.States[e.To].Breaks) {
			mask |= bits[invariant]
		}
		for i, is := range []bool{e.Reads, e.Writes, e.Refused} {
			if is {
				mask |= 1 << (len(g.Goals) + i)
			}
		}
		g.Edges[e.From] = append(g.Edges[e.From], texts.Index(e.Action), e.To, mask)
	}
	g.Texts, g.Worlds = texts.All, worlds.All
	return g
}
