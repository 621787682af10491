package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/docs/before"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/parts"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// generate rewrites the generated parts of all documents: those that the named
// tests make, and then all that are not made by tests. Each document that changes
// is named on stdout. It ends the process: with 0, or with 1 after a failure.
//
// Scenarios run in virtual time, which Go offers to tests only. So this is one.
func generate(ctx context.Context, names []string, stdout io.Writer) {
	testing.Init()
	flag.CommandLine.Parse(nil)
	laddertest.CollectLess()
	laddertest.OneProcessor()
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Generate", F: func(t *testing.T) {
			if err := rewrite(t, ctx, names, stdout); err != nil {
				t.Fatal(err)
			}
			// Nobody asked for a test: its PASS goes nowhere.
			if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
				os.Stdout = nowhere
			}
		}}}, nil, nil)
}

func rewrite(t *testing.T, ctx context.Context, names []string, stdout io.Writer,
) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := generated.Run(ctx, root, name, stdout); err != nil {
			return err
		}
	}
	stale, err := generator(t, root).Stale()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(stale) == 0 {
		fmt.Fprintln(stdout, "docs: the generated parts of all pages are up to date")
	}
	for file, texts := range stale {
		fmt.Fprintln(stdout, file)
		name := filepath.Join(root, filepath.FromSlash(file))
		if texts[1] == "" {
			err = os.Remove(name)
		} else if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			err = os.WriteFile(name, []byte(texts[1]), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generator shows the locks of package before beside the ladder's.
func generator(t *testing.T, root string) *parts.Generator {
	var shown []parts.Exhibit
	for _, l := range []struct {
		name, test string
		build      lock.Build
		flaw       string
	}{
		{"mutex", "Mutex", before.Services(), "mutual_exclusion: two holders"},
		{"variable", "Variable", before.BuildVariable,
			"mutual_exclusion: two holders"},
		{"transaction", "Transaction", before.BuildTransaction,
			"crash_holding: orphaned, foreign renewal"},
	} {
		t.Run(l.name, func(t *testing.T) {
			scenario, _, _ := strings.Cut(l.flaw, ":")
			report := scenarios.Run(t, l.build, scenarios.Only(scenario),
				scenarios.Flaws(lock.Flaws(l.flaw)...))
			shown = append(shown, parts.Exhibit{Name: l.name, Report: report,
				Command: "go test ./docs/before -red=%s -run " + l.test})
		})
	}
	return parts.New(t, os.DirFS(root), shown...)
}

// known refuses names of no tests.
func known(names []string) error {
	for _, name := range names {
		if !slices.Contains(generated.Names(), name) {
			return fmt.Errorf("-generate %s: nothing has this name, the names"+
				" are %s", name, strings.Join(generated.Names(), ", "))
		}
	}
	return nil
}
