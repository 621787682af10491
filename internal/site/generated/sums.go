package generated

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sums has, below docs, a line for each slow test: its name, and the sum over what its
// parts were made of when they were made. A test whose sum is still the same need not run.
const sums = "results/sums.txt"

// sum is over a test's command, the files of its packages and of those that they import,
// and the parts themselves: one that somebody has edited is made again.
func (t test) sum(ctx context.Context, root, name string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-f",
		"{{with .Module}}{{if or .Main .Replace}}{{$.Dir}}{{end}}{{end}}",
		strings.Fields(t.args)[0])
	list.Dir = filepath.Join(root, t.module)
	dirs, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("list the packages of %s: %w", name, err)
	}
	files := []string{filepath.Join(list.Dir, "go.mod"), filepath.Join(list.Dir, "go.sum")}
	for _, dir := range strings.Fields(string(dirs)) {
		for _, below := range []string{"*.*", "testdata/*.*", "testdata/*/*.*"} {
			found, _ := filepath.Glob(filepath.Join(dir, below)) // the pattern is right
			files = append(files, found...)
		}
	}
	slices.Sort(files)
	of := sha256.New()
	fmt.Fprintln(of, t.args)
	for _, file := range slices.Compact(files) {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		below, _ := filepath.Rel(root, file)
		fmt.Fprintln(of, filepath.ToSlash(below), len(text), string(text))
	}
	err = parts(of, root, name)
	return fmt.Sprintf("%x", of.Sum(nil)), err
}

// parts writes the texts of all parts that a test of that name makes.
func parts(w io.Writer, root, name string) error {
	module := os.DirFS(root)
	for _, file := range Documents(module) {
		text, err := (&Generator{root: module}).source(file)
		if err != nil {
			return err
		}
		for _, part := range whole.FindAllStringSubmatch(text, -1) {
			if part[2] == name {
				fmt.Fprintln(w, part[0])
			}
		}
	}
	return nil
}

// keptSums are those of the file, by name.
func keptSums(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", sums))
	kept := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
		kept[name] = sum
	}
	return kept, err
}

// keepSum writes a test's sum.
func keepSum(root, name, sum string) error {
	kept, err := keptSums(root)
	if err != nil {
		return err
	}
	kept[name] = sum
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		fmt.Fprintln(&b, name, kept[name])
	}
	return os.WriteFile(filepath.Join(root, "docs", sums), []byte(b.String()), 0o644)
}
