// Package whatif runs a rung through a scenario that a learner has changed:
// another lease, a slower network, a lost reply, another script. The site runs it in
// the browser, as WebAssembly; a test runs it natively and wants the same bytes.
//
// A question and its answer are JSON. A question that can't be asked gets an answer
// with one line that says what would be right.
package whatif

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// Question is a run that is asked for. A number that is missing stays as the
// scenario has it.
type Question struct {
	// List asks for nothing but the Catalogue.
	List bool `json:"list,omitempty"`

	Rung      string `json:"rung"`
	Scenario  string `json:"scenario"`
	Invariant string `json:"invariant"` // whose run is shown; "": the first that breaks

	Lease   *float64 `json:"lease,omitempty"`   // milliseconds
	Work    *float64 `json:"work,omitempty"`    // percent of the scenario's
	Latency *float64 `json:"latency,omitempty"` // milliseconds, each way
	Poll    *float64 `json:"poll,omitempty"`    // milliseconds, the longest pause
	Skew    *float64 `json:"skew,omitempty"`    // milliseconds; negative: behind
	Skewed  string   `json:"skewed,omitempty"`  // the client whose clock that is
	Faults  []Fault  `json:"faults,omitempty"`
	Again   bool     `json:"again,omitempty"` // see scenarios.Change
	Scripts []Script `json:"scripts,omitempty"`

	// Grade asks for nothing but the grade of a lock with these verdicts.
	Grade []Verdict `json:"grade,omitempty"`

	// Exercise asks for all scenarios of an exercise and for its further check,
	// with the scripts as they are here.
	Exercise string `json:"exercise,omitempty"`

	// Worlds asks for the random worlds of seed 1 from one number to before another,
	// until one shows what nobody has declared.
	Worlds *[2]int `json:"worlds,omitempty"`

	// Code is a learner's lock, which runs in place of a rung. Shown are the flaws that its
	// scenarios have shown: in a random world they are no news, as a rung's declared ones aren't.
	Code  string      `json:"code,omitempty"`
	Shown []lock.Flaw `json:"shown,omitempty"`
	own   *Program
}

// Fault is what happens to a client's n-th command.
type Fault struct {
	Client string  `json:"client"`
	Nth    int     `json:"nth"`
	Kind   string  `json:"kind"` // see kinds
	By     float64 `json:"by,omitempty"`
}

// Script is a Lua script that runs in place of the rung's.
type Script struct {
	Name     string `json:"name"`
	Original string `json:"original"`
	Edited   string `json:"edited"`
}

// Answer is what came out.
type Answer struct {
	// Error is one line: the question is wrong, or the run can't be judged.
	Error    string    `json:"error,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"`

	// Outcome is what came of a fault that ended an acquire with an error. When the
	// scenario can't go on from there, there is no Error but this.
	Outcome  string `json:"outcome,omitempty"`
	Unjudged bool   `json:"unjudged,omitempty"`

	// Run is the text of a play.Run, and Numbers says of each of its entries which
	// of its client's commands it is; 0: none.
	Run     string `json:"run,omitempty"`
	Numbers []int  `json:"numbers,omitempty"`

	Story string `json:"story,omitempty"` // of a random world that breaks the lock

	Catalogue *Catalogue `json:"catalogue,omitempty"`
	Grade     *Grade     `json:"grade,omitempty"`

	// Unfired says what changed nothing: faults whose command was never sent, and the
	// clock of a client that is not there.
	Unfired []string `json:"unfired,omitempty"`
}

// Verdict is what was judged of one invariant.
type Verdict struct {
	Scenario  string            `json:"scenario"`
	Invariant string            `json:"invariant"`
	Verdict   scenarios.Verdict `json:"verdict"`
	Event     string            `json:"event,omitempty"`
	Declared  bool              `json:"declared"`     // the rung is known to break it
	At        int               `json:"at,omitempty"` // the entry, if the run has several breaks
}

// Grade is where a lock stands, and the sentences that say so.
type Grade struct {
	scenarios.Grade
	Says []string `json:"says"`
}

// graded is the grade of a lock with these verdicts.
func graded(verdicts []Verdict) *Grade {
	var report scenarios.Report
	for _, v := range verdicts {
		report = append(report,
			scenarios.Result{Scenario: v.Scenario, Invariant: v.Invariant, Verdict: v.Verdict})
	}
	g := report.Grade()
	return &Grade{g, g.Sentences("Your lock")}
}

// Respond answers a question that is JSON with JSON. A run needs a test, because Go
// has virtual time only there; it doesn't fail. Compile makes a learner's lock of code, or
// returns nil, and keeps what is wrong.
func Respond(t *testing.T, question string, compile func(code string) *Program) string {
	var q Question
	d := json.NewDecoder(strings.NewReader(question))
	d.DisallowUnknownFields()
	var a Answer
	if err := d.Decode(&q); err != nil {
		a.Error = fmt.Sprintf("the question can't be read: %v", err)
	} else {
		if q.Code != "" {
			q.own = compile(q.Code)
		}
		a = Ask(t, q)
	}
	return text(a)
}

// lock is what the question is about.
func (q *Question) lock() (ladder.Rung, error) {
	switch {
	case q.Code == "":
		return ladder.Find(q.Rung)
	case q.own == nil:
		return ladder.Rung{}, errors.New("the code isn't a lock")
	}
	return ladder.Rung{Name: path.Dir(q.own.File), Nodes: 1, Build: q.own.Build,
		Flaws: q.Shown, Renews: q.own.Renews}, nil
}

// Ask makes the run that is asked for.
func Ask(t *testing.T, q Question) Answer {
	switch {
	case q.List:
		return Answer{Catalogue: catalogue()}
	case q.Grade != nil:
		return Answer{Grade: graded(q.Grade)}
	case q.Exercise != "": // it is run as it is written: only the scripts are the learner's
		q = Question{Rung: q.Rung, Exercise: q.Exercise, Scripts: q.Scripts}
	}
	rung, change, err := q.understood()
	if err != nil {
		return Answer{Error: err.Error()}
	}
	switch {
	case q.Exercise != "":
		return q.exercise(t, rung, change)
	case q.Worlds != nil:
		return q.inWorlds(t, rung, change)
	}
	options := locktest.Options(q.unlisted(rung))
	results, unfired, err := scenarios.Try(t, rung.Build, q.Scenario, change, options...)
	if shown := broken(results); len(shown) > 0 { // what only follows from a flaw is no other
		results, unfired, err = scenarios.Try(t, rung.Build, q.Scenario, change,
			append(options, scenarios.Flaws(shown...))...)
	}
	a := Answer{Outcome: q.outcome(results), Unjudged: err != nil}
	if err != nil && a.Outcome == "" {
		a.Error = unjudged(err)
	}
	for _, f := range unfired {
		a.Unfired = append(a.Unfired,
			fmt.Sprintf("%s never sent its command %d in this run", f.Client, f.Nth))
	}
	a.add(rung, results...)
	if r := q.shown(results); r != nil {
		whole := *r
		for i, other := range results { // several may break in one run
			if q.Invariant == "" && err == nil && min(r.BrokenAt, other.BrokenAt) > 0 &&
				other.Sequence[0] == r.Sequence[0] {
				a.Verdicts[i].At, whole.BrokenAt = other.BrokenAt, max(other.BrokenAt, whole.BrokenAt)
			}
		}
		run := whole.Recording(rung.Name)
		run.Broken = r.BrokenAt
		a.Run = text(run)
		if q.Skew != nil && !slices.Contains(run.Clients, q.Skewed) {
			a.Unfired = append(a.Unfired, q.Skewed+" is not in this scenario: its clock changes nothing")
		}
		for _, e := range r.Sequence[:len(run.Entries)] {
			a.Numbers = append(a.Numbers, e.Nth)
		}
	}
	return a
}

// unlisted is a rung without the declared flaws that the scenario is about: with a change they
// may break for a reason which the scenario excuses in a rung that doesn't declare them.
func (q *Question) unlisted(rung ladder.Rung) ladder.Rung {
	s, _ := scenarios.Find(q.Scenario)
	rung.Flaws = slices.DeleteFunc(slices.Clone(rung.Flaws), func(f lock.Flaw) bool {
		return f.Scenario == s.Name && slices.Contains(s.Invariants, f.Invariant)
	})
	return rung
}

// broken are the flaws that a scenario is about and has shown, if it has shown others, too.
func broken(results []scenarios.Result) (flaws []lock.Flaw) {
	for _, r := range results {
		s, _ := scenarios.Find(r.Scenario)
		if len(results) > len(s.Invariants) && r.Verdict == scenarios.Breaks &&
			slices.Contains(s.Invariants, r.Invariant) {
			flaws = append(flaws, lock.Flaw{Scenario: r.Scenario, Invariant: r.Invariant})
		}
	}
	return flaws
}

// add adds what was judged.
func (a *Answer) add(rung ladder.Rung, results ...scenarios.Result) {
	for _, r := range results {
		if r.Verdict == "" {
			continue
		}
		a.Verdicts = append(a.Verdicts, Verdict{r.Scenario, r.Invariant, r.Verdict, r.Event,
			slices.Contains(rung.Flaws, lock.Flaw{Scenario: r.Scenario, Invariant: r.Invariant}), 0})
	}
}

// shown is the result whose run is shown: of the invariant that is asked for, else
// the first that breaks, else the first that was recorded.
func (q *Question) shown(results []scenarios.Result) *scenarios.Result {
	var best *scenarios.Result
	for i := range results {
		r := &results[i]
		switch {
		case len(r.Sequence) == 0:
		case r.Invariant == q.Invariant:
			return r
		case best == nil, r.Verdict == scenarios.Breaks && best.Verdict != scenarios.Breaks:
			best = r
		}
	}
	return best
}

// inWorlds plays random worlds. A learner's lock offers nothing that its functions have no
// name for.
func (q *Question) inWorlds(t *testing.T, rung ladder.Rung, change scenarios.Change) (a Answer) {
	options := locktest.Options(rung)
	if q.own != nil {
		options = append(options, scenarios.WithoutFeatures(scenarios.Reentry,
			scenarios.LossNotices, scenarios.FixedLeases))
	}
	r, err := scenarios.TryWorlds(t, rung.Build, change, 1, q.Worlds[0], q.Worlds[1], options...)
	if err != nil {
		return Answer{Error: unjudged(err)}
	}
	if r != nil {
		a.add(rung, *r)
		a.Story, a.Run = r.Story, text(r.Recording(rung.Name))
	}
	return a
}

// text is an answer or a run as JSON.
func text(what any) string {
	json, err := json.Marshal(what)
	if err != nil {
		panic(err) // it has only what JSON has
	}
	return string(json)
}

// exercise runs an exercise's scenarios, and what it checks besides.
func (q *Question) exercise(t *testing.T, rung ladder.Rung, change scenarios.Change) (a Answer) {
	e, err := exercise.Find(q.Exercise)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	rung.Flaws = nil
	var report scenarios.Report
	for _, name := range e.Scenarios {
		results, _, err := scenarios.Try(t, rung.Build, name, change, locktest.Options(rung)...)
		if err != nil {
			a.Error = name + ": " + unjudged(err)
			break
		}
		report = append(report, results...)
	}
	a.add(rung, report...)
	if a.Error == "" {
		err := e.Anywhere(t, rung.Build)
		if err == nil && e.Check != nil {
			err = e.Check(t, rung.Build, report)
		}
		if err != nil {
			a.Error = oneLine(err)
		}
	}
	return a
}

// understood is the rung and the change that are asked for.
func (q *Question) understood() (rung ladder.Rung, c scenarios.Change, err error) {
	if rung, err = q.lock(); err != nil {
		return rung, c, err
	}
	for _, n := range []struct {
		what, unit, example string
		value               *float64
		scale, least, most  float64
	}{
		{"lease", "s", "10", q.Lease, 1e-3, 0.001, 3600}, // as the page asks for it
		{"work", "%", "100", q.Work, 1, 1, 1000},
		{"latency", "ms", "0.5", q.Latency, 1, 0.001, 10e3},
		{"polling interval", "ms", "100", q.Poll, 1, 0.1, 60e3},
		{"clock's difference", "ms", "0", q.Skew, 1, -3600e3, 3600e3},
	} {
		if n.value == nil {
			continue
		}
		if x := *n.value * n.scale; !(x >= n.least && x <= n.most) {
			return rung, c, fmt.Errorf("the %s is %v %s, it must be from %v to %v %s"+
				" (example: %s)", n.what, x, n.unit, n.least, n.most, n.unit, n.example)
		}
	}
	c = scenarios.Change{Lease: duration(q.Lease).Truncate(time.Millisecond),
		Latency: duration(q.Latency), Poll: duration(q.Poll), Again: q.Again}
	if q.Work != nil {
		c.Work = *q.Work / 100
	}
	if q.Skew != nil {
		c.Skew = map[string]time.Duration{q.Skewed: duration(q.Skew)}
	}
	for _, f := range q.Faults {
		fault, err := f.understood()
		if err != nil {
			return rung, c, err
		}
		c.Faults = append(c.Faults, fault)
	}
	c.Rewrite, err = rewriting(q.Scripts)
	return rung, c, err
}

// longestFault is how late a message may be, in milliseconds.
const longestFault = 3600e3

// duration is so many milliseconds; none: zero, which changes nothing.
func duration(ms *float64) time.Duration {
	if ms == nil {
		return 0
	}
	return time.Duration(*ms * float64(time.Millisecond))
}

func (f Fault) understood() (scenarios.Fault, error) {
	fault, by := scenarios.Fault{Client: f.Client, Nth: f.Nth, LoseReply: f.Kind == "lost reply",
		LoseRequest: f.Kind == "lost request", Hang: f.Kind == "hang"}, duration(&f.By)
	switch f.Kind {
	case "late":
		fault.Late = by
	case "late reply":
		fault.LateReply = by
	case "lost request", "lost reply", "hang":
	default:
		return fault, fmt.Errorf("there is no fault %q, the faults are late, late"+
			" reply, lost request, lost reply and hang", f.Kind)
	}
	if strings.HasPrefix(f.Kind, "late") && !(f.By > 0 && f.By <= longestFault) {
		return fault, fmt.Errorf("the message is late by %v ms, it must be more than 0"+
			" and at most %v ms (example: 2000)", f.By, float64(longestFault))
	}
	return fault, nil
}

// rewriting has edited scripts run in place of the rung's: it replaces a script's
// source and its SHA1, by which a client names a script that the server knows.
func rewriting(scripts []Script) (func([]any), error) {
	instead := map[string]string{}
	for _, s := range scripts {
		if err := compiles(s); err != nil {
			return nil, err
		}
		if s.Edited != s.Original {
			instead[s.Original] = s.Edited
			instead[redis.NewScript(s.Original).Hash()] = redis.NewScript(s.Edited).Hash()
		}
	}
	if len(instead) == 0 {
		return nil, nil
	}
	return func(words []any) {
		for i := 1; i < min(len(words), 3); i++ { // EVAL source, SCRIPT LOAD source
			if word, ok := words[i].(string); ok {
				if other, ok := instead[word]; ok {
					words[i] = other
				}
			}
		}
	}, nil
}

// unjudged is why a run can't be judged, for a reader who knows no driver's errors.
func unjudged(err error) string {
	const late = "it waited until its deadline passed"
	what, cause, _ := strings.Cut(oneLine(err), ": ") // another failure may have another one
	for known, means := range map[error]string{context.DeadlineExceeded: late,
		os.ErrDeadlineExceeded: late, io.EOF: "its connection ended before a reply came"} {
		if errors.Is(err, known) && strings.Contains(cause, known.Error()) {
			return what + ": " + means
		}
	}
	return oneLine(err)
}

// oneLine is the first line of an error.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// compiles says whether a script is Lua, as the virtual server understands it.
func compiles(s Script) error {
	if strings.TrimSpace(s.Edited) == "" {
		return fmt.Errorf("%s: it is empty: write a script that returns a value", s.Name)
	}
	chunk, err := parse.Parse(strings.NewReader(s.Edited), s.Name)
	if at, ok := errors.AsType[*parse.Error](err); ok {
		where, near := "at the end", ""
		if at.Pos.Line > 0 {
			where = fmt.Sprintf("in line %d", at.Pos.Line)
		}
		if at.Token != "" {
			near = fmt.Sprintf(" near %q", at.Token)
		}
		return fmt.Errorf("%s is not Lua: %s %s%s", s.Name, at.Message, where, near)
	}
	if err == nil {
		_, err = lua.Compile(chunk, s.Name)
	}
	if err != nil {
		return fmt.Errorf("%s is not Lua: %s", s.Name, oneLine(err))
	}
	return nil
}
