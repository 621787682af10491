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

// draw searches and keeps what the states look like.
func draw(r *run) (Walk, error) {
	r.draws = true
	return search(r)
}

// record writes the graphs of a report into a directory.
func record(t *testing.T, dir string, found Report) error {
	for _, walk := range found.Walks {
		g := found.level(t.Name(), walk)
		var lines []string
		for _, state := range g.States {
			for i := 2 + len(g.Clients); i < len(state); i += 6 {
				lines = append(lines, g.Texts[state[i+5]])
			}
		}
		slices.Sort(lines)
		name := filepath.Join(dir, g.Program+".json")
		file := &recording.File{Graph: g,
			Sources: recording.Code(slices.Compact(lines), lab.Source)}
		if err := file.Write(name); err != nil {
			return fmt.Errorf("record the graph: %w", err)
		}
		t.Logf("the graph is in %s: go run ./docs -open plays it, in a checkout of Lock Ladder", name)
	}
	return nil
}

// level is a walk's graph as the site plays it.
func (r Report) level(lock string, walk Walk) *recording.Graph {
	g := &recording.Graph{Lock: lock, Program: string(walk.Program), Nodes: r.Bounds.Nodes,
		Bounds: r.Bounds.String(), Stopped: walk.Stopped,
		Schedules: walk.Schedules().String(), Clients: walk.owners}
	bits := map[Invariant]int{}
	for i, invariant := range r.Judged() {
		f := walk.Found[invariant]
		_, failing := walk.Share(invariant)
		g.Goals = append(g.Goals, recording.Goal{Invariant: string(invariant),
			Schedule: f.Schedule, Adversary: f.Adversary, Steps: f.Steps,
			Failing: failing.String()})
		bits[invariant] = 1 << i
	}
	texts, worlds := recording.NewTexts(), &recording.States{}
	order, numbers := walk.inBreadth()
	for _, s := range order {
		l := s.label
		state := []int{l.at, worlds.Index(l.world)}
		for _, does := range l.does {
			state = append(state, texts.Index(does))
		}
		for _, w := range l.way {
			state = append(state, w.client, w.node, texts.Index(string(w.sign)),
				texts.Index(w.text), texts.Index(w.reply), texts.Index(w.line))
		}
		g.States = append(g.States, state)
	}
	for _, s := range order {
		edges := []int{}
		for i := range s.edges {
			e := &s.edges[i]
			mask := 0
			for _, b := range e.breaks(walk.graph) {
				mask |= bits[b.Invariant]
			}
			for i, is := range []bool{e.asked.reads, e.asked.writes, e.asked.refused} {
				if is {
					mask |= 1 << (len(g.Goals) + i)
				}
			}
			edges = append(edges, texts.Index(e.action.write(r.Bounds.Nodes)), numbers[e.to], mask)
		}
		g.Edges = append(g.Edges, edges)
	}
	g.Texts, g.Worlds = texts.All, worlds.All
	return g
}

// label describes the state that the run is in.
func (r *run) label() *label {
	log := r.world.Log()
	l := &label{at: int(r.world.Now().Seconds()*1000 + 0.5), way: r.ways(),
		world: recording.StateAt(&history.Entry{Inside: log.Believers(),
			Leases: log.Leases(), Stored: log.Stored()})}
	for _, p := range r.players {
		does := p.doing
		switch {
		case p.Dead():
			does = "is dead"
		case p.Asleep():
			does = "is stopped: " + does
		}
		l.does = append(l.does, does)
	}
	return l
}

// ways is what is under way. Of what comes on one connection only the first can
// arrive, so only that is counted.
func (r *run) ways() []way {
	var ways []way
	for _, f := range r.flights {
		if f.behind {
			continue
		}
		c := f.conn.client
		w := way{client: c.index, node: f.conn.Port.Index, sign: f.sign(), text: f.text,
			line: c.Line(f.args)}
		if f.kind == aReply {
			w.reply = r.world.Names().Reply(c.Name, f.raw)
		}
		ways = append(ways, w)
	}
	return ways
}
