package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/lockladder/lockladder/docs/exercises"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/terminal"
)

// exhibits are the locks of package exercises that the site shows beside the ladder's.
func exhibits() []generated.Exhibit {
	const command = "go test ./docs/exercises -red=%s -run "
	return []generated.Exhibit{
		{Name: "mutex", Command: command + "Mutex", Build: exercises.Services()},
		{Name: "variable", Command: command + "Variable", Build: exercises.BuildVariable},
		{Name: "transaction", Command: command + "Transaction",
			Build: exercises.BuildTransaction},
	}
}

// generate rewrites the generated parts of all documents: those that the named
// tests make, and then all that are not made by tests. Each document that changes
// is named on stdout. A failing scenario fails t, and says why on the terminal.
func generate(t *testing.T, ctx context.Context, names []string, stdout io.Writer) error {
	root, err := generated.Root()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := generated.Run(ctx, root, name, stdout); err != nil {
			return err
		}
	}
	locktest.OneProcessor()
	stale, err := generated.New(t, os.DirFS(root), exhibits()...).Stale()
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
		if err := os.WriteFile(name, []byte(texts[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// known refuses names of no tests.
func known(names []string) error {
	for _, name := range names {
		if !slices.Contains(generated.Names(), name) {
			return fmt.Errorf("-generate: %w", terminal.Unknown("part", name, generated.Names()))
		}
	}
	return nil
}
