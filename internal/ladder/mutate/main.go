package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
)

//go:embed equivalent.txt
var explained string

// defaultRungs are those that the project recommends.
const defaultRungs = "diamond/watchdog,reentrant,reentrant/notify," +
	"reentrant/fenced,reentrant/fair,reentrant/cohort,redlock,reentrant/readwrite"

func main() {
	rungs := flag.String("rungs", defaultRungs, "the rungs to change, by name")
	jobs := flag.Int("jobs", 2, "how many mutants are checked at the same time")
	every := flag.Int("every", 1, "take only each n-th mutant")
	only := flag.String("only", "", "take only the mutants whose line, as -list prints"+
		" it, matches this regular `expression`")
	list := flag.Bool("list", false, "print the mutants and check none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt,
		syscall.SIGTERM)
	defer stop()
	r := run{jobs: *jobs, every: *every, list: *list, only: *only}
	switch survived, err := r.all(ctx, strings.Split(*rungs, ",")); {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case survived:
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong flag")

// shared are the packages that rungs have in common, by the rung whose checks are
// to notice their mutants.
var shared = map[string]string{
	"reentrant/notify": "reentrant/internal/subscription",
	"reentrant/fair":   "reentrant/internal/waiters",
}

// run is one call of the command.
type run struct {
	root  string
	dir   string // has a copy of the module for each job
	jobs  int
	every int
	only  string
	list  bool
}

// all checks the mutants of the rungs and says whether any survives unexplained.
func (r *run) all(ctx context.Context, names []string) (survived bool, err error) {
	if r.jobs < 1 || r.every < 1 {
		return false, fmt.Errorf("%w: -jobs and -every must be at least 1", errUsage)
	}
	for _, name := range names {
		if _, err := ladder.Find(name); err != nil {
			return false, fmt.Errorf("%w: -rungs: %w", errUsage, err)
		}
	}
	only, err := regexp.Compile(r.only)
	if err != nil {
		return false, fmt.Errorf("%w: -only: %w", errUsage, err)
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return false, fmt.Errorf("find the module's directory: %w", err)
	}
	r.root = strings.TrimSpace(string(out))
	if r.dir, err = os.MkdirTemp("", "lockladder-mutate-"); err != nil {
		return false, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(r.dir)
	for _, name := range names {
		mutants, err := mutantsOf(r.root, name)
		if err != nil {
			return false, err
		}
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool {
			return !only.MatchString(m.String())
		})
		if r.list {
			for _, m := range mutants {
				fmt.Println(m)
			}
			continue
		}
		left, err := r.rung(ctx, name, mutants)
		if err != nil {
			return survived, err
		}
		survived = survived || left
	}
	return survived, nil
}

// fate is what became of a mutant.
type fate int

const (
	notRun fate = iota
	killed
	hung // killed, because a check took too long
	notCompiled
	equivalent
	alive
)

// rung checks the mutants of a rung and prints the score and the survivors.
func (r *run) rung(ctx context.Context, name string, mutants []mutant) (
	survived bool, err error) {
	all, err := r.healthy(ctx, name)
	if err != nil {
		return false, err
	}
	var chosen []mutant
	for i := 0; i < len(mutants); i += r.every {
		chosen = append(chosen, mutants[i])
	}
	fates := make([]fate, len(chosen))
	next := make(chan int)
	var workers sync.WaitGroup
	for n := range r.jobs {
		j, err := r.job(ctx, n, all)
		if err != nil {
			close(next)
			workers.Wait()
			return false, err
		}
		workers.Go(func() {
			for i := range next {
				fates[i] = j.fate(ctx, chosen[i], all)
				switch fates[i] {
				case alive:
					fmt.Println("survives:", chosen[i])
				case hung:
					fmt.Println("hangs:   ", chosen[i])
				}
			}
		})
	}
	began := time.Now()
	for i := range chosen {
		select {
		case next <- i:
			fmt.Fprintf(os.Stderr, "\r%s: %d of %d mutants, %v ", name, i+1,
				len(chosen), time.Since(began).Round(time.Second))
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	fmt.Fprintln(os.Stderr)
	count := map[fate]int{}
	for _, f := range fates {
		count[f]++
	}
	dead := count[killed] + count[hung]
	judged := dead + count[alive]
	fmt.Printf("%s: %d of %d mutants killed, %.1f %%, %d of them by a time-out;"+
		" %d are equivalent and explained, %d don't compile\n", name, dead, judged,
		100*float64(dead)/float64(max(judged, 1)), count[hung],
		count[equivalent], count[notCompiled])
	return count[alive] > 0, ctx.Err()
}

// explanation is a line of equivalent.txt: the file's name, the line as it is (and
// the next one behind " / ", where the line alone is not enough), what is changed,
// and why nobody can notice it.
type explanation struct{ file, from, what, why string }

// equivalents are the mutants that behave as the rung does.
func equivalents() []explanation {
	var all []explanation
	for _, line := range strings.Split(explained, "\n") {
		if parts := strings.Split(line, " | "); len(parts) == 4 {
			all = append(all, explanation{parts[0], parts[1], parts[2], parts[3]})
		}
	}
	return all
}

// is says whether an explanation is about this mutant: of any rung, where the
// file's name is not preceded by one.
func (m mutant) is(e explanation) bool {
	return (e.file == m.file || e.file == filepath.Base(m.file)) &&
		(e.from == m.from || e.from == m.from+" / "+m.next) && e.what == m.what
}
