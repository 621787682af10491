// Package wrong has locks with one mistake each, and says for each what finds it:
// an invariant of a scenario, a walk of the explorer, or a line that the author of
// the lock is told. A check that no mutant needs could be one that nothing can
// break.
package wrong

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// A Mutant is a lock with one mistake.
type Mutant struct {
	Name string // what is wrong

	// The lock is a rung whose files are edited, or it is written here.
	Rung  string
	Edits []Edit
	Build func() lock.Build
	Nodes int // that it is built on; 0: one

	// These find the mistake.
	Killers []string // "scenario: invariant", which breaks
	Spares  []string // and which it must not be accused of
	Row     string   // the bounds of a row of the explorer's, or OneSchedule
	Walk    *Walk
	Says    string // a line that scenarios.Run prints for the lock's author
	In      string // the scenario that is enough for it; "": it takes them all
}

// OneSchedule is the Row of what a single schedule finds.
const OneSchedule = "one schedule"

// An Edit replaces text that a file of the rung has exactly once, or a file of a
// package that it shares with others: "internal/waiters/waiters.go".
type Edit struct{ File, Old, New string }

// A Walk is one of the explorer's, in which an invariant breaks. The lock without
// the mistake is held to the same bounds.
type Walk struct {
	Breaks explore.Invariant
	Right  lock.Build // nil: Mistakes{}
	Bounds explore.Bounds
	Long   bool
}

//go:embed edits.txt
var edits string

// All are the mutants.
var All = append(parse(edits), written...)

// parse reads mutants from text. A line that it doesn't know is a mistake of the
// program.
func parse(text string) (all []Mutant) {
	var m *Mutant
	side := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		before := side
		key, value, _ := strings.Cut(line, ": ")
		switch side = ""; {
		case line == "", line[0] == '#':
		case line[0] == '-':
			e := &m.Edits[len(m.Edits)-1]
			if before == "+" { // another edit of the same file
				m.Edits = append(m.Edits, Edit{File: e.File})
				e = &m.Edits[len(m.Edits)-1]
			}
			e.Old, side = join(e.Old, line, before == "-"), "-"
		case line[0] == '+':
			e := &m.Edits[len(m.Edits)-1]
			e.New, side = join(e.New, line, before == "+"), "+"
		case key == "mutant":
			all = append(all, Mutant{Name: value})
			m = &all[len(all)-1]
		case key == "rung":
			m.Rung = value
		case key == "killer":
			if row, ok := strings.CutPrefix(value, "explorer: "); ok {
				m.Row = row
			} else {
				m.Killers = append(m.Killers, value)
			}
		case key == "file":
			m.Edits = append(m.Edits, Edit{File: value})
		default:
			panic("edits.txt: what is " + line)
		}
	}
	return all
}

// join appends a line of an edit, without its sign.
func join(text, line string, follows bool) string {
	if follows {
		text += "\n"
	}
	return text + line[1:]
}

// Dir is the directory of one of Files, from the module's.
func (m Mutant) Dir(file string) string {
	if dir := path.Dir(file); dir != "." {
		return path.Join(path.Dir(m.Rung), dir)
	}
	return m.Rung
}

// Files are the files of the mutant's package by name: its rung's, with the edits,
// and those of the packages that it shares. Tests are left out. Top is the module's
// directory.
func (m Mutant) Files(top string) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{".", "internal/waiters/.",
		"internal/subscription/."} {
		dir := filepath.Join(top, filepath.FromSlash(m.Dir(name)))
		all, err := filepath.Glob(filepath.Join(dir, "*.*"))
		if err != nil {
			return nil, fmt.Errorf("read the rung of %s: %w", m.Name, err)
		}
		for _, file := range all {
			if ext := filepath.Ext(file); ext != ".lua" && ext != ".go" ||
				strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read the rung of %s: %w", m.Name, err)
			}
			files[path.Join(path.Dir(name), filepath.Base(file))] = string(content)
		}
	}
	for _, e := range m.Edits {
		if strings.Count(files[e.File], e.Old) != 1 {
			return nil, fmt.Errorf("%s: in %s/%s this must stand exactly once: %s",
				m.Name, m.Dir(e.File), path.Base(e.File), e.Old)
		}
		files[e.File] = strings.Replace(files[e.File], e.Old, e.New, 1)
	}
	return files, nil
}

// Overlay shows files to the compiler in place of others, or beside them: the
// argument of -overlay. It writes into a directory; files are named by their paths.
func Overlay(dir string, files map[string]string) (path string, err error) {
	replace := map[string]string{}
	for path, content := range files {
		file := filepath.Join(dir, fmt.Sprint(len(replace)))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return "", fmt.Errorf("write an overlay: %w", err)
		}
		replace[path] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	path = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		return "", fmt.Errorf("write an overlay: %w", err)
	}
	return path, nil
}
