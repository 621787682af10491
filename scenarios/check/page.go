package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/scenarios"
)

// writable says why a file can't be written, before minutes have passed. It leaves
// nothing behind.
func writable(file string) error {
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: this is not a file", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no directory %s", file, filepath.Dir(file))
	}
	beside, err := createBeside(file)
	if err != nil {
		return err
	}
	return errors.Join(beside.Close(), os.Remove(beside.Name()))
}

// createBeside creates a file in the directory of another one.
func createBeside(file string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(file), ".check-*.html")
}

// writeHTML writes the results as a page. A file that is there is replaced when the
// new one is complete.
func (c *checking) writeHTML(took time.Duration) error {
	which := "All scenarios"
	if c.run != "" {
		which = "The scenarios that match " + c.run
	}
	page := site.Report{
		Title: "A check of " + c.lockName,
		About: []string{"The program: " + strings.Join(c.program, " "),
			fmt.Sprintf("%s ran on real servers, in %v, on %s.", which,
				took.Round(time.Second), time.Now().Format(time.DateOnly)),
			c.summary(), "The times are those of the summaries, in which a lease has ten" +
				" seconds: the lock's own lasts three."},
	}
	if g := c.grade(); g != nil {
		page.About = append(g.Sentences(c.lockName), page.About...)
	}
	for _, line := range c.unlikeDeclared() {
		page.About = append(page.About, strings.ToUpper(line[:1])+line[1:])
	}
	page.NoVerdict = c.withoutVerdict()
	for _, r := range c.results {
		page.Verdicts = append(page.Verdicts, site.Verdict{Scenario: r.Scenario,
			Invariant: r.Invariant, Verdict: c.verdict(r)})
		if r.Verdict == scenarios.Breaks && len(r.Sequence) > 0 {
			page.Broken = append(page.Broken, r.Recording(c.lockName))
		}
	}
	file, err := createBeside(c.html)
	if err != nil {
		return fmt.Errorf("write %s: %w", c.html, err)
	}
	err = errors.Join(page.Write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), c.html)
	}
	if err != nil {
		os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", c.html, err)
	}
	return nil
}
