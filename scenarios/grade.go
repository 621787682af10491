package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
)

// Grade is where a lock stands on the ladder's arc of safety: bronze, silver, gold,
// platinum, diamond, watchdog, fenced, redlock.
//
// A lock stands on a rung when it holds everything that the steps up to it have fixed for
// good, and breaks no exclusion that they hold. The highest such rung counts. redlock
// branches off at diamond: on several nodes, of which some may fail, it takes what diamond
// holds and what redlock has fixed, and none of what watchdog and fenced add. What real
// servers can't judge doesn't count, and neither do random worlds.
type Grade struct {
	Rung string `json:"rung"` // "": none yet

	// Next are the steps above that are nearest, two at most, with what the lock must hold
	// for each besides what the one before needs.
	Next []NextRung `json:"next,omitempty"`

	// Beyond is what the lock offers, and holds, that its rung doesn't have.
	Beyond []string `json:"beyond,omitempty"`

	// Besides is what it breaks, "scenario: invariant", as its rung does not, and what
	// is missing for no step ahead: the arc isn't about it.
	Besides []string `json:"besides,omitempty"`

	// Unknown is what its steps must hold, and could not be judged.
	Unknown []string `json:"unknown,omitempty"`
}

// NextRung is a rung that a lock has not reached. What it needs, "scenario: invariant", is
// missing where the lock breaks it, and untested where the lock never got into the situation.
type NextRung struct {
	Rung     string   `json:"rung"`
	Missing  []string `json:"missing,omitempty"`
	Untested []string `json:"untested,omitempty"`

	verdicts map[string]Verdict
}

// What shows that a lock renews its lease, has fencing tokens, and survives without some of
// its nodes: other locks don't get into the situation.
const (
	renews    = "renewal_fails_once: two holders"
	hasTokens = "tokens_rise: wrong token"
	survives  = "nodes_down: unavailable"
)

// Grade is computed from what the rungs are known to break. It is of use where all
// scenarios were run.
func (r Report) Grade() Grade {
	return GradeOf(r.verdicts())
}

func (r Report) verdicts() map[string]Verdict {
	verdicts := map[string]Verdict{}
	for _, result := range r {
		verdicts[result.Scenario+": "+result.Invariant] = result.Verdict
	}
	return verdicts
}

// GradeOf is the grade of a lock with these verdicts, by "scenario: invariant". What a
// scenario lists and has no verdict isn't held.
func GradeOf(verdicts map[string]Verdict) Grade {
	var g Grade
	missing := missingOf(verdicts)
	reached := -1
	for step, left := range missing {
		if len(left) == 0 {
			reached = step
		}
	}
	if reached >= 0 {
		g.Rung = flaws.Safety[reached].Rung
	}
	steps := ahead(reached, missing, verdicts)
	g.Next = steps[:min(2, len(steps))]
	for _, b := range beyond {
		if verdicts[b.shown] == Holds && (reached < 0 || !offers(reached, b.from)) {
			g.Beyond = append(g.Beyond, b.name)
		}
	}
	g.Besides = g.besides(verdicts, steps)
	g.Unknown = unknown(reached, verdicts)
	return g
}

// missingOf is what a lock with these verdicts must hold yet for each step and those below.
func missingOf(verdicts map[string]Verdict) [][]string {
	missing := make([][]string, len(flaws.Safety))
	for step, s := range flaws.Safety {
		if s.Above >= 0 {
			missing[step] = slices.Clone(missing[s.Above])
		}
		for _, needs := range needed(step, verdicts) {
			if !holds(step, verdicts[needs], needs) {
				missing[step] = append(missing[step], needs)
			}
		}
	}
	return missing
}

// beyond is what a lock may offer besides the arc, or above its rung, with what shows it
// and the step from which on the rungs have it, if any.
var beyond = []struct{ name, shown, from string }{
	{"renewal", renews, renews},
	{"notice of a loss", "lost_lease_told: not told", renews},
	{"tokens", hasTokens, hasTokens},
	{"re-entry", "nested: self-deadlock", ""},
	{"waking", "prompt_wake: thundering herd", ""},
	{"readers", "readers_together: unavailable", ""},
}

// offers says whether a step, or one below it, shows something.
func offers(step int, shows string) bool {
	for ; step >= 0; step = flaws.Safety[step].Above {
		if shows != "" && flaws.Safety[step].Shows == shows {
			return true
		}
	}
	return false
}

// ahead are the steps above the one that is reached, with what is missing for each besides
// those before. A lock of several nodes, which a scenario has seen survive without some or
// should have, climbs on to redlock.
func ahead(reached int, missing [][]string, verdicts map[string]Verdict) (steps []NextRung) {
	several := verdicts[survives] == Holds || verdicts[survives] == Breaks
	var listed []string
	for step := reached + 1; step < len(flaws.Safety); step++ {
		if several && offers(step, renews) {
			continue
		}
		left := slices.DeleteFunc(missing[step], func(name string) bool {
			return slices.Contains(listed, name)
		})
		if len(left) > 0 {
			listed = append(listed, left...)
			next := NextRung{Rung: flaws.Safety[step].Rung, verdicts: verdicts}
			for _, name := range left {
				if verdicts[name] == Breaks {
					next.Missing = append(next.Missing, name)
				} else {
					next.Untested = append(next.Untested, name)
				}
			}
			steps = append(steps, next)
		}
	}
	return steps
}

// besides are the breaks that neither the rung has nor a step ahead asks for.
func (g Grade) besides(verdicts map[string]Verdict, ahead []NextRung) (names []string) {
	known := flaws.Of(g.Rung)
	for _, s := range Catalogue {
		for _, invariant := range s.Judged() {
			name := s.Name + ": " + invariant
			asked := slices.ContainsFunc(ahead, func(n NextRung) bool {
				return slices.Contains(n.Missing, name)
			})
			if verdicts[name] == Breaks && !asked && (g.Rung != "" || !s.fixed(invariant)) &&
				!slices.Contains(known, lock.Flaw{Scenario: s.Name, Invariant: invariant}) {
				names = append(names, name)
			}
		}
	}
	return names
}

// unknown is what a step and those below it must hold, and could not be judged.
func unknown(step int, verdicts map[string]Verdict) (names []string) {
	for ; step >= 0; step = flaws.Safety[step].Above {
		for _, name := range needed(step, verdicts) {
			if verdicts[name] == CannotRun {
				names = append(names, name)
			}
		}
	}
	return names
}

// String is what Sentences says of your lock, in lines of 68 columns.
func (g Grade) String() string {
	var lines []string
	for _, sentence := range g.Sentences("Your lock") {
		lines = append(lines, terminal.Wrap(sentence, terminal.Columns, 2)...)
	}
	return strings.Join(lines, "\n")
}

// Sentences say where a lock of that name stands, what to look at next, and the rest.
func (g Grade) Sentences(name string) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if g.Rung == "" {
		say("%s stands on no rung yet.", name)
	} else {
		say("%s stands on %s.", name, g.Rung)
	}
	for i, n := range g.Next {
		say("%s %s: %s.", [...]string{"To reach", "Then, to reach"}[i], n.Rung, n.Asks())
	}
	for _, rest := range []struct {
		says string
		what []string
	}{
		{"Beyond its rung it has", g.Beyond},
		{"Unlike that rung, it also breaks:", g.Besides},
		{"Not judged on real servers:", g.Unknown},
	} {
		if rest.what != nil {
			say("%s %s.", rest.says, strings.Join(rest.what, ", "))
		}
	}
	return all
}

// Asks are the scenarios that the rung asks for, the first with what goes wrong there, and
// last those that were not put to the test.
func (n NextRung) Asks() string {
	names := scenariosOf(n.Missing)
	for _, name := range scenariosOf(slices.Concat(n.Missing, n.Untested))[len(names):] {
		at := slices.IndexFunc(n.Untested, func(needs string) bool { return strings.HasPrefix(needs, name+": ") })
		names = append(names, fmt.Sprintf("%s (%s)", name, cmp.Or(n.verdicts[n.Untested[at]], "untested")))
	}
	if len(n.Missing) > 0 {
		_, invariant, _ := strings.Cut(n.Missing[0], ": ")
		names[0] += " (" + cmp.Or(meanings[invariant], invariant) + ")"
	}
	return strings.Join(names, ", ")
}

// scenariosOf are the scenarios of some flaws, each once.
func scenariosOf(flaws []string) (names []string) {
	for _, f := range flaws {
		name, _, _ := strings.Cut(f, ": ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// meanings are the invariants that a step may be missing, as its lock breaks them.
var meanings = map[string]string{
	TwoHolders:     "two clients hold the lock together",
	ForeignRelease: "A deletes the lock of B",
	ForeignRenewal: "A renews the lock of B",
	LostUpdate:     "a write destroys another one",
	StaleWrite:     "a former holder writes after the next one",
	Orphaned:       "nobody gets in, though nobody holds the lock",
	SelfDeadlock:   "the owner waits for itself",
	NotTold:        "the holder isn't told that it has lost the lock",
	FalseSuccess:   "a call succeeds, and the server says otherwise",
	LeftBehind:     "a key stays forever",
	WrongToken:     "the fencing token isn't the acquisition's",
	Unavailable:    "refused, though it could be granted",
}

// holds says whether a verdict lets a lock stand on a step.
func holds(step int, v Verdict, needs string) bool {
	switch v {
	case DoesNotArise:
		return needs != flaws.Safety[step].Shows
	case "":
		return !lists(needs)
	}
	return v == Holds || v == CannotRun && step > 0 // bronze is seen
}

// lists says whether a scenario has a verdict on the invariant where it doesn't break.
func lists(name string) bool {
	of, invariant, _ := strings.Cut(name, ": ")
	s, _ := Find(of)
	return slices.Contains(s.Invariants, invariant)
}

// needed is what a step must hold, and none above which it stands. Exclusion is needed
// where the lock has broken it.
func needed(step int, verdicts map[string]Verdict) (all []string) {
	for _, f := range flaws.Fixed(step) {
		all = append(all, f.Scenario+": "+f.Invariant)
	}
	if shows := flaws.Safety[step].Shows; shows != "" {
		all = append(all, shows)
	}
	for _, s := range Catalogue {
		for _, invariant := range s.Judged() {
			name := s.Name + ": " + invariant
			if verdicts[name] == Breaks && s.from(invariant) == step &&
				!slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// from is the first step that holds an invariant which the arc has not fixed: a break of
// exclusion is nobody's known flaw. It is -1 for what no step is about.
func (s Scenario) from(invariant string) int {
	switch {
	case s.fixed(invariant), s.Family == Sharing, slices.Contains(s.features, Reentry):
		return -1
	case invariant == WrongToken:
		return stepOf(hasTokens)
	case !slices.Contains([]string{TwoHolders, ForeignRelease, ForeignRenewal, LostUpdate,
		StaleWrite}, invariant):
		return -1
	case slices.Contains([]string{Loss, Crash, Reentrant}, s.Family),
		slices.Contains(s.features, Renewal):
		return stepOf(renews) // where a lock claims to renew, a holder works on there
	}
	return 0
}

// stepOf is the step that shows something.
func stepOf(shows string) int {
	return slices.IndexFunc(flaws.Safety, func(s flaws.Step) bool { return s.Shows == shows })
}

// fixed says whether some rung of the arc breaks an invariant, as it is known to.
func (s Scenario) fixed(invariant string) bool {
	return slices.ContainsFunc(flaws.Safety, func(step flaws.Step) bool {
		return slices.Contains(flaws.Of(step.Rung), lock.Flaw{Scenario: s.Name, Invariant: invariant})
	})
}

// Challenge is a step of the arc of safety as a task, see docs/challenges.md: write a lock
// that holds what the rung holds.
type Challenge struct {
	Rung      string
	Scenarios []string // to run, in the order of the catalogue
	New       []string // those that the step below doesn't have, and real servers can run

	step int
}

// Challenges are the tasks in their order.
func Challenges() (all []Challenge) {
	for step, s := range flaws.Safety {
		c := Challenge{Rung: s.Rung, step: step}
		var below []string
		if s.Above >= 0 {
			below = all[s.Above].Scenarios
		}
		for _, one := range Catalogue {
			if slices.Contains(below, one.Name) || one.begins() == step || one.asked(step) {
				c.Scenarios = append(c.Scenarios, one.Name)
			}
		}
		c.New = slices.DeleteFunc(slices.Clone(c.Scenarios), func(name string) bool {
			s, _ := Find(name)
			return s.exact != "" || slices.Contains(below, name)
		})
		all = append(all, c)
	}
	return all
}

// begins is the step from which on a scenario is run for its family's sake, or -1.
func (s Scenario) begins() int {
	switch s.Family {
	case Exclusion:
		return 0
	case Loss:
		return stepOf(renews)
	case Fencing:
		return stepOf(hasTokens)
	}
	return -1
}

// asked says whether a step has fixed something in a scenario, or shows it there.
func (s Scenario) asked(step int) bool {
	return slices.ContainsFunc(s.Invariants, func(invariant string) bool {
		return slices.Contains(needed(step, nil), s.Name+": "+invariant)
	})
}

// Open is the number, from 1, of the first challenge on the way to c, c included, that a
// lock doesn't pass by a report on c's scenarios. It is 0 if the lock passes c.
func (c Challenge) Open(r Report) (number int) {
	missing := missingOf(r.verdicts())
	for step := c.step; step >= 0; step = flaws.Safety[step].Above {
		if len(missing[step]) > 0 {
			number = step + 1
		}
	}
	return number
}

// Missing is what a lock must hold yet, "scenario: invariant", by a report on the
// challenge's scenarios: nothing if it passes.
func (c Challenge) Missing(r Report) []string { return missingOf(r.verdicts())[c.step] }
