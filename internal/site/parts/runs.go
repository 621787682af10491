package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/levels"
	"github.com/lockladder/lockladder/internal/site/play"
	"github.com/lockladder/lockladder/scenarios"
)

// runs are the files with the runs that the player shows, by their names: the runs
// in which a lock breaks an invariant, and beside each the same scenario with the
// lock's parent and with the locks whose parent it is.
func (g *Generator) runs() (map[string]string, error) {
	files := map[string]string{}
	keep := func(lock string, r scenarios.Result, beside ...string) error {
		text, err := r.Recording(lock, beside...).JSON()
		files[play.RunFile(lock, r.Scenario, r.Invariant)] = text
		return err
	}
	for _, e := range g.others {
		for _, r := range e.Report {
			if err := keep(e.Name, r); err != nil {
				return nil, err
			}
		}
	}
	for i, rung := range ladder.Rungs {
		for _, r := range g.reports[i] {
			if !g.shown(rung, r) {
				continue
			}
			var beside []string
			for k, other := range ladder.Rungs {
				if near(rung, other) && g.recorded(k, r) {
					beside = append(beside, other.Name)
				}
			}
			if err := keep(rung.Name, r, beside...); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// levelList lists the levels, with their addresses on the site.
func levelList(*Generator) string {
	var b strings.Builder
	for i, l := range levels.All {
		fmt.Fprintf(&b, "%d. [%s](%s#level=%s): %s. %s\n", i+1, l.Title,
			strings.TrimPrefix(levels.File(l.Lock), "docs/"),
			strings.ReplaceAll(string(l.Invariant), " ", "-"), l.Lock, l.Ask)
	}
	return b.String()
}

// near says whether one of two rungs is the other's parent.
func near(a, b ladder.Rung) bool { return a.Parent == b.Name || b.Parent == a.Name }

// shown says whether a run was recorded, of a rung that breaks what it is about or
// has a neighbor that does.
func (g *Generator) shown(rung ladder.Rung, r scenarios.Result) bool {
	if len(r.Sequence) == 0 {
		return false
	}
	for i, other := range ladder.Rungs {
		if (other.Name == rung.Name || near(rung, other)) &&
			g.reports[i].Verdict(r.Scenario, r.Invariant) == scenarios.Breaks {
			return true
		}
	}
	return false
}

// recorded says whether the run of the i-th rung that compares with a result is
// shown, too.
func (g *Generator) recorded(i int, r scenarios.Result) bool {
	return slices.ContainsFunc(g.reports[i], func(other scenarios.Result) bool {
		return other.Scenario == r.Scenario && other.Invariant == r.Invariant &&
			g.shown(ladder.Rungs[i], other)
	})
}

// staleFiles adds the files below a directory that are not what they should be.
func (g *Generator) staleFiles(dir string, want map[string]string,
	stale map[string][2]string) error {
	err := fs.WalkDir(g.root, dir, func(file string, d fs.DirEntry,
		err error) error {
		if errors.Is(err, fs.ErrNotExist) && file == dir {
			return fs.SkipDir // none was made yet
		}
		if err != nil || d.IsDir() {
			return err
		}
		present, err := g.source(file)
		if present != want[file] {
			stale[file] = [2]string{present, want[file]}
		}
		delete(want, file)
		return err
	})
	for file, text := range want {
		stale[file] = [2]string{"", text}
	}
	return err
}
