package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/terminal"
)

// Verdict is the outcome of a scenario for one invariant.
type Verdict string

// The verdicts.
const (
	Holds        Verdict = "holds"
	Breaks       Verdict = "breaks"
	DoesNotArise Verdict = "does not arise" // the scenario could not happen
	NotOffered   Verdict = "not offered"    // it needs a declined feature
	CannotRun    Verdict = "can't be run"   // not on a real server
)

// Result is what one scenario says of one invariant.
type Result struct {
	Scenario  string
	Invariant string
	Verdict   Verdict
	Event     string   // what broke it: when, who, which command
	Timeline  string   // all that was recorded, in the run that was judged
	Sequence  []*Entry // the same, a line each
	BrokenAt  int      // the index in Sequence of the entry that broke it
	Story     string   // of a random world, in place of a scenario's summary

	shown timeline // of one that breaks

	Asked []Feature // the features that the scenario asked the lock for
}

// Report has the results in the order of the catalogue.
type Report []Result

// Verdict looks up one result; it is empty when there is none.
func (r Report) Verdict(scenario, invariant string) Verdict {
	for _, result := range r {
		if result.Scenario == scenario && result.Invariant == invariant {
			return result.Verdict
		}
	}
	return ""
}

// ended holds the results of a scenario against what is declared, and records them. It
// returns those that belong to the report: none if there are none but an error.
func (s *settings) ended(t *testing.T, scenario Scenario, results []Result, err error) []Result {
	t.Helper()
	s.ran.Add(1)
	if s.each != nil {
		s.each(scenario.Name, results, err)
	}
	if err != nil {
		t.Errorf("%s: %v", scenario.Name, err)
		return nil
	}
	s.judge(t, results)
	for _, r := range results {
		s.record(t, r)
	}
	return results
}

// ranAll says whether every scenario has come to its end: none was left out, neither by an
// option nor by -run.
func (s *settings) ranAll() bool { return int(s.ran.Load()) == len(Catalogue) }

// judge holds a scenario's results against what is declared.
func (s *settings) judge(t *testing.T, results []Result) {
	t.Helper()
	var broken, known Report
	for _, r := range results {
		declared := s.declares(r.Scenario, r.Invariant)
		switch {
		case r.Verdict == Breaks && !s.red && s.expects(r.Scenario, r.Invariant):
			known = append(known, r)
		case r.Verdict == Breaks:
			broken = append(broken, r)
		case declared && r.Verdict != CannotRun:
			t.Errorf("%s: %s is declared as a flaw, but it %s now\n\n%s",
				r.Scenario, r.Invariant, r.Verdict, r.Timeline)
		case s.red && testing.Verbose(): // a test that fails shows its logs without -v
			t.Logf("%s: %s: %s\n\n%s\n%s\n%s", r.Scenario, r.Invariant, r.Verdict,
				summary(r.Scenario), r.Timeline, history.Legend)
		}
	}
	switch {
	case len(broken) > 0 && s.red:
		t.Error(broken.Failures())
	case len(broken) > 0 && s.whole():
		t.Errorf("a flaw that is not declared:\n%s\n%s%s", broken.Failures(), broken.places(),
			declines(broken[0].Asked))
	case len(broken) > 0:
		t.Errorf("%s%sAll of it: "+alone, broken.brief(0), strings.ReplaceAll(broken.places()+
			declines(broken[0].Asked), "\n\n", "\n"), s.lock, broken[0].Scenario)
	}
	if len(known) > 0 {
		t.Logf("a known flaw, as declared:\n%s", known.Failures())
	}
}

// wholly is how many scenarios that break are shown whole where many do.
const wholly = 2

// whole says whether a scenario that breaks is shown whole: the first ones are, and all with -v.
func (s *settings) whole() bool {
	return testing.Verbose() || s.only != nil || s.shown.Add(1) <= wholly
}

// alone runs one scenario of a test and shows all of it.
const alone = "go test -v -run '%s/^%s$'"

// places are the lines of the lock's code that were under way when something broke.
func (r Report) places() string {
	var lines []string
	for _, result := range r {
		for i := result.BrokenAt; i >= 0; i-- {
			e := result.Sequence[i]
			if e.Client != result.Sequence[result.BrokenAt].Client || e.Line == "" {
				continue
			}
			line := fmt.Sprintf("%s: look at %s, at %s s.\n", result.Invariant, e.Line,
				history.Seconds(e.At))
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
			break
		}
	}
	return strings.Join(lines, "")
}

// with are the scenarios and invariants with a verdict, in the order of the catalogue.
func (r Report) with(v Verdict) []Flaw {
	var flaws []Flaw
	for _, result := range r {
		if result.Verdict == v {
			flaws = append(flaws, Flaw{Scenario: result.Scenario, Invariant: result.Invariant})
		}
	}
	return flaws
}

// without is what a list has and another one lacks.
func without[T comparable](list, others []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(of T) bool {
		return slices.Contains(others, of)
	})
}

// declines says how a lock declines the features that a scenario has asked for.
func declines(features []Feature) string {
	names := map[Feature]string{Reentry: "Reentry", Renewal: "Renewal",
		LossNotices: "LossNotices", FixedLeases: "FixedLeases"}
	var text strings.Builder
	for _, f := range features {
		fmt.Fprintf(&text, "\nA lock without the feature %q declines this with\n"+
			"scenarios.WithoutFeatures(scenarios.%s).\n", f, names[f])
	}
	return text.String()
}

// Failures are what a test prints of the scenarios that break, in lines of 68 columns: what
// happens in each, and its timeline up to the last break, with every break marked.
func (r Report) Failures() string { return r.brief(len(r)) }

// Brief is Failures where there are many: of all scenarios but the first two it has only what breaks.
func (r Report) Brief() string { return r.brief(wholly) }

func (r Report) brief(whole int) string {
	broken := slices.DeleteFunc(slices.Clone(r), func(r Result) bool {
		return r.Verdict != Breaks
	})
	var texts []string
	for len(broken) > 0 {
		n := 1
		for n < len(broken) && broken[n].Scenario == broken[0].Scenario {
			n++
		}
		text := broken[:n].failure()
		if len(texts) >= whole {
			text = strings.Join(marked.FindAllString(text, -1), "")
		}
		texts = append(texts, text)
		broken = broken[n:]
	}
	return strings.Join(texts, "\n")
}

// marked are the headline, and lines of a timeline with the marks of what breaks there.
var marked = regexp.MustCompile(`(?m)\A.*\n|^ *\d+\.\d{3}  .*\n( {10,}.*\n)*( {9}\^\^\^.*\n( {13}.*\n)*)+`)

// failure is that of one scenario's broken invariants. Those that broke in one world share
// its timeline.
func (r Report) failure() string {
	var invariants []string
	var worlds []*timeline
	for _, result := range r {
		invariants = append(invariants, result.Invariant)
		i := slices.IndexFunc(worlds, func(w *timeline) bool {
			return w.History == result.shown.History
		})
		if i < 0 {
			i = len(worlds)
			worlds = append(worlds, &timeline{History: result.shown.History})
		}
		worlds[i].breaks = append(worlds[i].breaks, result.shown.breaks...)
		worlds[i].last = max(worlds[i].last, result.BrokenAt)
	}
	text := r[0].Scenario + ": " + strings.Join(invariants, ", ") + "\n\n" + summary(r[0].Scenario)
	for _, w := range worlds {
		text += "\n" + w.Render(w.last, w.breaks)
	}
	return text
}

// summary is a scenario's, in lines of 68 columns.
func summary(scenario string) string {
	s, _ := Find(scenario)
	return strings.Join(terminal.Wrap(s.Summary, terminal.Columns, 0), "\n") + "\n"
}

// timeline is what was recorded of a world, and what to mark in it.
type timeline struct {
	*history.History
	breaks []*lab.Break
	last   int // the last entry to show
}

// verdict is given on invariants without a run of the scenario, because none is
// possible with this lock. A lock that lacks what the scenario is about has its verdicts.
func (s *S) verdict(v Verdict, invariants ...string) {
	if s.absent {
		return
	}
	s.settled = true
	for _, invariant := range invariants {
		s.results[invariant] = &Result{Scenario: s.scenario.Name,
			Invariant: invariant, Verdict: v, BrokenAt: -1}
	}
}

// unjudged says why invariants can't be judged on real servers.
func (s *S) unjudged(why string, invariants ...string) {
	if s.absent {
		return
	}
	s.t.Logf("%s can't be run: %s", s.scenario.Name, why)
	s.verdict(CannotRun, invariants...)
	for _, invariant := range invariants {
		s.results[invariant].Event = why
	}
}

// judge gives the verdict on invariants: breaks when the world or the scenario
// reported any, does not arise when the scenario could not happen, else holds. A
// break in one world of a scenario is the scenario's.
func (s *S) judge(arose bool, invariants ...string) {
	for _, invariant := range invariants {
		s.judgeAs(arose, invariant)
	}
}

// judgeAs is judge for an invariant that the breaks of others count for.
func (s *S) judgeAs(arose bool, invariant string, aliases ...string) {
	if len(s.Failures()) > 0 || s.absent {
		return // its error is reported instead of a verdict, or there is one
	}
	var broken []*lab.Break
	for _, b := range s.Breaks(append(aliases, invariant)...) {
		if b.Apart {
			continue
		}
		marked := *b
		marked.Invariant = invariant // the mark says what the headline says
		broken = append(broken, &marked)
	}
	s.judged = append(s.judged, invariant)
	s.keep(s.result(invariant, broken, arose && !s.Unfired()))
}

// result is what a world says of an invariant.
func (s *S) result(invariant string, broken []*lab.Break, arose bool) *Result {
	r := &Result{Scenario: s.scenario.Name, Invariant: invariant,
		Verdict: Holds, BrokenAt: -1, Sequence: s.Timeline()}
	broken = once(broken)
	if !arose {
		r.Verdict = DoesNotArise
	}
	if len(broken) > 0 {
		r.Verdict, r.Event = Breaks, broken[0].String()
		r.BrokenAt = broken[0].Entry
	}
	if !s.settings.change.tried() { // else somebody waits who reads the sequence
		r.Timeline = s.Log().Render(-1, broken)
	}
	r.shown = timeline{History: &s.Log().History, breaks: broken}
	return r
}

// once leaves out what says the same of the same entry again.
func once(broken []*lab.Break) (different []*lab.Break) {
	for _, b := range broken {
		if !slices.ContainsFunc(different, func(other *lab.Break) bool {
			return other.Entry == b.Entry && other.Event == b.Event
		}) {
			different = append(different, b)
		}
	}
	return different
}

// keep keeps a result, if it says more than that of another world.
func (s *S) keep(r *Result) {
	before, judged := s.results[r.Invariant]
	if !judged || rank(r.Verdict) > rank(before.Verdict) {
		s.results[r.Invariant] = r
	}
}

// rank says which verdict of several worlds speaks for the scenario.
func rank(v Verdict) int {
	return slices.Index([]Verdict{NotOffered, DoesNotArise, Holds, Breaks}, v)
}
