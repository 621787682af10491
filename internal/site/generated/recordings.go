package generated

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// Recordings are a module's files and, below recording.Dir and site.LevelDir, the runs
// and the levels of its locks, which aren't stored anywhere. Each is made when it is
// first opened, in a few milliseconds or for the largest level in a second, and is kept.
// A file of a run that is of no interest doesn't exist.
//
// Several goroutines may open files. One that asks for what is being made waits for it.
// The goroutine that makes it does so to the end, also for a request that was canceled.
type Recordings struct {
	fs.FS
	exhibits []Exhibit
	t        *testing.T

	mu   sync.Mutex
	kept map[string]any // the recordings, and what they are made from
}

// Record adds recordings to a module's files. They need a test, because Go has virtual
// time only there; it must last for as long as files are opened.
func Record(t *testing.T, module fs.FS, exhibits ...Exhibit) *Recordings {
	return &Recordings{FS: module, exhibits: exhibits, t: t, kept: map[string]any{}}
}

// Open opens a file for reading.
func (r *Recordings) Open(name string) (fs.File, error) {
	file, isRun := strings.CutPrefix(name, recording.Dir+"/")
	lock, isLevel := strings.CutPrefix(strings.TrimSuffix(name, ".json"), site.LevelDir+"/")
	var text []byte
	var err error
	switch {
	case isRun:
		text, err = r.run(file)
	case isLevel:
		text, err = keep(r, name, func(t *testing.T) ([]byte, error) { return level(t, lock) })
	default:
		return r.FS.Open(name)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "record", Path: name, Err: err}
	}
	return fstest.MapFS{name: {Data: text}}.Open(name)
}

// keep returns what make has made under a name, now or before.
func keep[T any](r *Recordings, name string, make func(*testing.T) (T, error)) (T, error) {
	r.mu.Lock()
	made, known := r.kept[name].(func() (T, error))
	if !known {
		made = sync.OnceValues(func() (value T, err error) {
			err = errors.New("the run ended in the middle") // unless make returns
			r.t.Run(name, func(t *testing.T) { value, err = make(t) })
			return value, err
		})
		r.kept[name] = made
	}
	r.mu.Unlock()
	return made()
}

// run is the run of a file LOCK/SCENARIO/INVARIANT.json. Of a rung it exists where the
// rung or one beside it breaks the invariant, and names the rungs beside it whose run
// exists too.
func (r *Recordings) run(file string) ([]byte, error) {
	scenario := path.Base(path.Dir(file))
	name := path.Dir(path.Dir(file))
	result, err := r.result(name, scenario, path.Base(file))
	if err != nil {
		return nil, err
	}
	var beside []string
	rung, err := ladder.Find(name)
	if err == nil { // else it is an exhibit
		for _, other := range ladder.Rungs {
			if !near(rung, other) {
				continue
			}
			_, err := r.result(other.Name, scenario, path.Base(file))
			if err == nil {
				beside = append(beside, other.Name)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	return json.Marshal(result.Recording(name, beside...))
}

// result is the recorded result that a file is made from.
func (r *Recordings) result(name, scenario, file string) (scenarios.Result, error) {
	named := func(invariant string) bool {
		return path.Base(recording.Name(scenario, invariant)) == file
	}
	if rung, err := ladder.Find(name); err == nil && !slices.ContainsFunc(around(rung),
		func(f lock.Flaw) bool { return f.Scenario == scenario && named(f.Invariant) }) {
		return scenarios.Result{}, fs.ErrNotExist
	}
	results, err := r.results(name, scenario)
	if err != nil {
		return scenarios.Result{}, err
	}
	for _, result := range results {
		if named(result.Invariant) && len(result.Sequence) > 0 {
			return result, nil
		}
	}
	return scenarios.Result{}, fs.ErrNotExist
}

// results are what a lock did in a scenario.
func (r *Recordings) results(name, scenario string) (scenarios.Report, error) {
	build, options := r.lock(name)
	if _, err := scenarios.Find(scenario); build == nil || err != nil {
		return nil, fs.ErrNotExist
	}
	return keep(r, path.Join(name, scenario), func(t *testing.T) (scenarios.Report, error) {
		results, _, err := scenarios.Try(t, build, scenario, scenarios.Change{}, options...)
		return results, err
	})
}

// lock is how a rung or an exhibit is built and run. No such lock has no build.
func (r *Recordings) lock(name string) (lock.Build, []scenarios.Option) {
	for _, e := range r.exhibits {
		if e.Name == name {
			return e.Build, nil
		}
	}
	rung, err := ladder.Find(name)
	if err != nil || rung.Name != name {
		return nil, nil
	}
	return rung.Build, locktest.Options(rung)
}

// around are the flaws of a rung and of those beside it, whose runs are shown.
func around(rung ladder.Rung) []lock.Flaw {
	flaws := slices.Clone(rung.Flaws)
	for _, other := range ladder.Rungs {
		if near(rung, other) {
			flaws = append(flaws, other.Flaws...)
		}
	}
	return flaws
}

// near says whether one of two rungs is the other's parent.
func near(a, b ladder.Rung) bool { return a.Parent == b.Name || b.Parent == a.Name }

// level is the state graph of a lock on which its levels are played, within the bounds
// of the rung's first row in docs/explorer.md.
func level(t *testing.T, name string) ([]byte, error) {
	if !slices.ContainsFunc(site.Levels, func(l site.Level) bool { return l.Lock == name }) {
		return nil, fs.ErrNotExist
	}
	rung, err := ladder.Find(name)
	if err != nil {
		return nil, err
	}
	bounds := explore.Bounds{Clients: 2, Nodes: 1, Expiries: 1, Crashes: 1,
		Programs: []explore.Program{explore.Once}}
	if rung.Renews {
		bounds.Pauses = 1
	}
	dir := t.TempDir()
	explore.Run(t, rung.Build, bounds, explore.Record(dir))
	recorded, err := os.Open(filepath.Join(dir, string(explore.Once)+".json"))
	if err != nil {
		return nil, err
	}
	defer recorded.Close()
	read, err := recording.Read(recorded)
	if err != nil {
		return nil, fmt.Errorf("read the graph of %s: %w", name, err)
	}
	read.Graph.Lock = name
	return json.Marshal(read.Graph)
}
