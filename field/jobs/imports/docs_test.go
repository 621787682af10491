package imports_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/field/jobs/imports"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// faults are the columns of the tables: the faults of A. B has another slot,
// and asks more often in the article's form.
var faults = []struct {
	name string
	run  func(s *scenario)
}{
	{"nothing", func(s *scenario) { s.worker("A", 1, 0, lasting(second)) }},
	{"dies with its slot written", func(s *scenario) {
		s.crashesBefore(func(cmd redis.Cmder) bool {
			return cmd.Name() == "lrem" || slices.Contains(cmd.Args(), "begin")
		})
	}},
	{"dies at work", func(s *scenario) { s.crashesAtWork(2*second + second/2) }},
	{"dies with the queue lock", func(s *scenario) {
		s.crashesBefore(func(cmd redis.Cmder) bool {
			return cmd.Name() == "lindex" ||
				slices.Contains(cmd.Args(), any(prefix+"fence"))
		})
	}},
	{"its work fails", func(s *scenario) { s.worker("A", 1, 0, failing(1)) }},
	{"works for 15 s", func(s *scenario) {
		s.worker("A", 1, 0, func(_ context.Context, w *worker, t imports.Task, _ int) error {
			if t.ID == 1 {
				w.Sleep(lease + 4*second)
			}
			w.Sleep(second)
			return nil
		})
	}},
}

func TestTheTablesOfThePageAreFresh(t *testing.T) {
	locktest.WhenNamed(t, "it runs every scenario of the page:"+
		" cd field && go test ./jobs/imports -run OfThePage")
	generated.Compare(t, "import.md", "article", table(t, imports.Worker.Article))
	generated.Compare(t, "import.md", "improved", table(t, imports.Worker.Improved))
	_, timeline := runScenario(t, imports.Worker.Article, "reentrant", tasks(3, 1), scanned)
	generated.Compare(t, "import.md", "scan", generated.Block(narrow(timeline)))
}

// table is what becomes of four tasks behind every rung; those that do the same share a row.
func table(t *testing.T, form imports.Form) string {
	head := []string{"the lock, and what happens to A"}
	for _, fault := range faults {
		head = append(head, fault.name)
	}
	var rows [][]string
	for _, rung := range ladder.Rungs {
		row := []string{rung.Short()}
		for _, fault := range faults {
			v, _ := runScenario(t, form, rung.Name, []imports.Task{task(1, 1), task(2, 1),
				task(3, 2), task(4, 1)}, func(s *scenario) {
				fault.run(s)
				b := s.worker("B", 2, second/2, lasting(second))
				b.job.Poll = 200 * time.Millisecond
				s.until(time.Minute / 2)
			})
			row = append(row, summary(v))
		}
		if same := slices.IndexFunc(rows, func(r []string) bool {
			return slices.Equal(r[1:], row[1:])
		}); same >= 0 {
			rows[same][0] += ", " + row[0]
		} else {
			rows = append(rows, row)
		}
	}
	return generated.Table(1, head, rows)
}

// summary is what went wrong.
func summary(v verdict) string {
	var words []string
	for _, what := range []string{"stuck", "lost", "twice", "overlapped", "out of order"} {
		if v[what] > 0 {
			words = append(words, fmt.Sprintf("**%d %s**", v[what], what))
		}
	}
	if len(words) == 0 {
		return "✓"
	}
	return strings.Join(words, ", ")
}

// narrow leaves out what pages have no room for.
func narrow(timeline string) string {
	var b strings.Builder
	for line := range strings.Lines(timeline) {
		b.WriteString(strings.TrimRight(line, " -\n") + "\n")
	}
	return b.String()
}

// scanned lets B go through the queue while A works on task 1, and pass task 2. A ends. B
// comes to task 3, whose group is free now.
func scanned(s *scenario) {
	s.worker("A", 1, 0, lasting(3*second))
	b := s.worker("B", 2, 2*second, lasting(second))
	nth := 0
	b.before(func(cmd redis.Cmder) bool { return cmd.Name() == "lindex" }, func() {
		if nth++; nth == 2 {
			b.Sleep(2 * second)
		}
	})
	s.until(9 * second)
}
