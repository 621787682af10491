// Package generated makes the generated parts of the workshop's documents, from the
// code, from the scenarios that it runs, and from the results that are kept. It has the
// marks around them, the list of the tests that make some, and the comparison that these
// tests share.
package generated

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site"
)

// Generator makes the parts that are not made by tests.
type Generator struct {
	root       fs.FS // the module
	recordings *Recordings
	pictures   map[string]string // that documents show, by the names of their files

	Rungs      []Lock       // what the ladder's rungs did
	run        bench.Report // what the locks cost
	Candidates []Candidate  // the rungs, and the locks of docs/results
}

// New runs every scenario against every rung, and lets t fail when a rung breaks something
// else than its flaws. The others are locks beside the ladder that a page shows.
func New(t *testing.T, root fs.FS, others ...Exhibit) *Generator {
	t.Helper()
	g := &Generator{root: root, recordings: Record(t, root, others...),
		pictures: map[string]string{}, Rungs: make([]Lock, len(ladder.Rungs))}
	t.Run("rungs", func(t *testing.T) {
		for i, rung := range ladder.Rungs {
			t.Run(rung.Name, func(t *testing.T) {
				t.Parallel()
				g.Rungs[i] = Did(rung.Name, locktest.Scenarios(t, rung.Name))
			})
		}
	})
	if t.Failed() {
		t.Fatal("the documents are made only when every rung does what it should")
	}
	if err := g.choose(); err != nil {
		t.Fatal(err)
	}
	return g
}

// Documents are the README, all pages and all exercises; root is the module.
func Documents(root fs.FS) []string {
	return append([]string{"README.md"}, site.NewSite(root).Order()...)
}

// Stale are the documents and the pictures that are not what they should be: their
// present and their right texts, by name.
func (g *Generator) Stale() (map[string][2]string, error) {
	stale := map[string][2]string{}
	for _, file := range Documents(g.root) {
		present, err := g.source(file)
		if err != nil {
			return nil, err
		}
		want, err := Rewrite(present, func(maker, part, text string) (string, error) {
			if _, known := tests[maker]; known {
				return text, nil
			}
			return g.part(file, part)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if want != present {
			stale[file] = [2]string{present, want}
		}
	}
	for file, want := range g.pictures {
		present, err := g.source(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if present != want {
			stale[file] = [2]string{present, want}
		}
	}
	return stale, nil
}

var errUnknown = errors.New("nobody makes such a part")

// part makes a part of a document.
func (g *Generator) part(file, part string) (string, error) {
	for _, p := range registry {
		argument, found := strings.CutPrefix(part, p.name)
		takes := strings.HasSuffix(p.name, " ")
		if found && takes == (argument != "") && (p.page == "" || p.page == file) {
			return p.make(g, argument)
		}
	}
	return "", errUnknown
}

// source reads a file of the module.
func (g *Generator) source(file string) (string, error) {
	text, err := fs.ReadFile(g.root, file)
	return strings.ReplaceAll(string(text), "\r\n", "\n"), err
}
