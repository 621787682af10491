package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check is a call of go test, and when it hangs.
type check struct {
	of    string // a package
	flags []string
	limit time.Duration
}

// checks are the calls of go test, the quickest first.
func checks(rung string) []check {
	all := []check{
		// An example runs after a test that has failed, and may wait forever.
		{of: "./" + rung, flags: []string{"-failfast", "-skip=^Example"}},
		{of: "./internal/ladder", flags: []string{"-failfast"}},
		{of: "./scenarios/explore/explorer", flags: []string{"-failfast",
			"-run=TheTableSays|NoWakeUpIsLost|GivesUpWakesTheNext"}},
	}
	if dir := shared[rung]; dir != "" {
		all = slices.Insert(all, 0, check{of: "./" + dir, flags: []string{"-failfast"}})
	}
	return all
}

// healthy says what fails without any change. It returns the checks, each with
// five times as long as it took, because the jobs share the machine.
func (r *run) healthy(ctx context.Context, rung string) ([]check, error) {
	all, here := checks(rung), &job{dir: r.root}
	for i, c := range all {
		all[i].limit = 4 * time.Minute
		began := time.Now()
		if out, err := here.goTest(ctx, all[i]); err != nil {
			return nil, fmt.Errorf("go test %s fails for the rung as it is: %w\n%s",
				c.of, err, out)
		}
		all[i].limit = 10*time.Second + 5*time.Since(began).Round(time.Second)
	}
	return all, nil
}

// job checks one mutant at a time, in its copy of the module. It has a build
// cache of its own, because the compiled packages of a mutant are of no use to
// the next one, and take 100 MB.
type job struct {
	dir   string
	cache string    // empty for the user's
	built time.Time // all in the cache that is not of a mutant is older
}

// job makes the n-th job, or returns it, and compiles the tests.
func (r *run) job(ctx context.Context, n int, all []check) (*job, error) {
	j := &job{dir: filepath.Join(r.dir, strconv.Itoa(n)),
		cache: filepath.Join(r.dir, fmt.Sprint("cache", n))}
	if _, err := os.Stat(j.dir); err != nil {
		if err := os.CopyFS(j.dir, os.DirFS(r.root)); err != nil {
			return nil, fmt.Errorf("copy the module: %w", err)
		}
	}
	for _, c := range all {
		c.flags = []string{"-run=^$"}
		if out, err := j.goTest(ctx, c); err != nil {
			return nil, fmt.Errorf("compile the tests: %w\n%s", err, out)
		}
	}
	j.built = time.Now()
	return j, nil
}

// forget removes the compiled packages of a mutant. A file that can't be removed
// only takes room until the command ends.
func (j *job) forget() {
	filepath.WalkDir(j.cache, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(j.built) {
			os.Remove(file)
		}
		return nil
	})
}

// fate finds out what becomes of a mutant.
func (j *job) fate(ctx context.Context, m mutant, all []check) fate {
	if slices.ContainsFunc(equivalents(), m.is) {
		return equivalent
	}
	file := filepath.Join(j.dir, filepath.FromSlash(m.file))
	original, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, m.content, 0o600)
	}
	if err != nil || ctx.Err() != nil {
		return notRun
	}
	defer os.WriteFile(file, original, 0o600)
	defer j.forget()
	for _, c := range all {
		out, err := j.goTest(ctx, c)
		switch {
		case ctx.Err() != nil:
			return notRun
		case strings.Contains(out, "[build failed]"),
			strings.Contains(out, "[setup failed]"):
			return notCompiled
		case strings.Contains(out, "panic: test timed out"):
			return hung
		case err != nil:
			return killed
		}
	}
	return alive
}

// goTest runs go test and kills it, with all that it has started, when it takes
// too long or ctx ends.
func (j *job) goTest(ctx context.Context, c check) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	// Without the debugger's tables a test is linked in a third of the time.
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-vet=off",
		"-ldflags=-s -w", "-count=1", "-timeout=" + c.limit.String()}, c.flags,
		[]string{c.of})...)
	cmd.Dir = j.dir
	if j.cache != "" {
		cmd.Env = append(os.Environ(), "GOCACHE="+j.cache)
	}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}
