package generated

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/exercise"
)

// pageOf is a rung's page, below docs: "" if it is none.
func pageOf(name string) string {
	rung, err := ladder.Find(name)
	if err != nil {
		return ""
	}
	return path.Base(rung.Page())
}

func toPage(rung ladder.Rung) string {
	return fmt.Sprintf("[%s](%s)", rung.Name, pageOf(rung.Name))
}

// place says where a rung stands.
func (g *Generator) place(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	arc := rung.Arc.Rungs()
	if rung.Step > 0 {
		fmt.Fprintf(&b, "*Step %d of %d to safety.*", rung.Step, len(arc))
	} else {
		fmt.Fprintf(&b, "*%s.*", rung.Arc)
	}
	if rung.Parent != "" {
		fmt.Fprintf(&b, " It builds on [%s](%s).", rung.Parent, pageOf(rung.Parent))
	}
	fmt.Fprintf(&b, "\nThe code: [%s](../%s/lock.go).\n\n", name, name)
	i := slices.IndexFunc(arc, func(r ladder.Rung) bool { return r.Name == name })
	switch {
	case i > 0:
		fmt.Fprint(&b, "← "+toPage(arc[i-1]))
	case rung.Step > 0:
		fmt.Fprint(&b, "← [0 before](0-before.md)")
	default:
		fmt.Fprint(&b, "← [contents](README.md#climb)")
	}
	if i+1 < len(arc) {
		fmt.Fprint(&b, " · "+toPage(arc[i+1])+" →")
	}
	return b.String() + "\n", nil
}

// climb leads to the exercise that a rung solves, from the page before the rung's.
func climb(_ *Generator, name string) (string, error) {
	e, is := solvedBy(name)
	if !is {
		return "", fmt.Errorf("no exercise is solved by %q", name)
	}
	return fmt.Sprintf("Write the next rung yourself: [%s](exercises/%s/README.md). A"+
		" solution is on [its page](%s).\n", e.Task, e.Name(), pageOf(name)), nil
}

// solvedBy is the exercise that a rung solves. There may be none.
func solvedBy(rung string) (exercise.Exercise, bool) {
	for _, e := range exercise.All {
		if e.Rung == rung {
			return e, true
		}
	}
	return exercise.Exercise{}, false
}

// exerciseTable is a table of all of them.
func exerciseTable(*Generator) string {
	var b strings.Builder
	fmt.Fprint(&b, "| exercise | effort | the flaw | what to do |\n|---|---|---|---|\n")
	for _, e := range exercise.All {
		fmt.Fprintf(&b, "| [%s](%s/README.md) | %s | %s | %s |\n", e.Name(), e.Name(),
			e.Effort(), e.Flaw, e.Task)
	}
	return b.String()
}

// exerciseTask says what an exercise is about.
func exerciseTask(_ *Generator, name string) (string, error) {
	e, err := exercise.Find(name)
	if err != nil {
		return "", err
	}
	var judged []string
	for _, scenario := range e.Scenarios {
		judged = append(judged, Played("`"+scenario+"`", "../../matrix.md#"+scenario))
	}
	checked := strings.Join(judged, ", ") + "."
	if e.Check != nil {
		checked += "\n- A check of its own: " + e.Asks + "."
	}
	var linked []string
	for _, file := range e.Files {
		linked = append(linked, fmt.Sprintf("[%s](%s)", file, file))
	}
	files := strings.Join(linked, ", ")
	if len(e.Adds) > 0 {
		files += ". It adds " + strings.Join(e.Adds, ", ")
	}
	laboratory := ""
	if e.OnlyScripts() {
		laboratory = fmt.Sprintf("- It changes only Lua, so you can also solve it in"+
			" [the laboratory](../../lab.md#rung=exercise+%s).\n", e.Name())
	}
	on, err := buildsOn(e)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("- It builds on %s.\n- Effort: %s.\n- The flaw: *%s*.\n- The task: %s.\n"+
		"- The files that the solution changes: %s.\n- The scenarios: %s\n%s\n"+
		"```console\n$ go test ./docs/exercises/%s -tags exercise\n```\n", on, e.Effort(), e.Flaw,
		e.Task, files, checked, laboratory, e.Name()), nil
}

// buildsOn is the page to read before an exercise: that of its rung's parent.
func buildsOn(e exercise.Exercise) (string, error) {
	rung, err := ladder.Find(e.Rung)
	if err != nil || rung.Parent == "" {
		return "[page 0](../../0-before.md)", err
	}
	return fmt.Sprintf("[%s](../../%s)", rung.Parent, pageOf(rung.Parent)), nil
}

// exerciseWalk says how an exercise ends: with the explorer, where it can.
func exerciseWalk(_ *Generator, name string) (string, error) {
	e, err := exercise.Find(name)
	if err != nil {
		return "", err
	}
	walk := e.Walk()
	if walk.Stays {
		return "[The explorer](../../explorer.md) can't run this lock: its cohort stays" +
			" in the process from one run to the next, so no two runs begin alike.\n", nil
	}
	var holds []string
	for _, invariant := range walk.Holds {
		holds = append(holds, fmt.Sprintf("*%s*", invariant))
	}
	return fmt.Sprintf("When all this passes, [the explorer](../../explorer.md) runs your lock"+
		" in every order of events within these bounds: %s. No order may break these"+
		" invariants: %s. Others may break; later rungs are about them. To see what the"+
		" explorer finds:\n\n```console\n$ go test ./docs/exercises/%s -tags exercise"+
		" -run Exercise/explorer -v\n```\n", walk, strings.Join(holds, ", "), name), nil
}

// contents has a table of the rungs' pages for each arc.
func contents(*Generator) string {
	var b strings.Builder
	for _, arc := range ladder.Arcs {
		fmt.Fprintf(&b, "\n**%s:** %s\n\n| | the idea | its exercise |\n|---|---|---|\n",
			arc, arc.Asks())
		for _, rung := range arc.Rungs() {
			link := "–"
			if e, is := solvedBy(rung.Name); is {
				link = fmt.Sprintf("[%s](exercises/%[1]s/README.md)", e.Name())
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", numbered(rung), rung.Idea, link)
		}
	}
	return b.String()[1:]
}

// numbered is a rung's name with a link to its page, after its step.
func numbered(rung ladder.Rung) string {
	if rung.Step == 0 {
		return toPage(rung)
	}
	return fmt.Sprintf("%d. %s", rung.Step, toPage(rung))
}

// levelList lists the levels, with their addresses on the site.
func levelList(*Generator) string {
	var b strings.Builder
	for i, l := range site.Levels {
		file := strings.TrimPrefix(site.LevelFile(l.Lock), "docs/")
		fmt.Fprintf(&b, "%d. %s: %s. %s\n", i+1, Played(l.Title, file+"#level="+
			strings.ReplaceAll(string(l.Invariant), " ", "-")), l.Lock, l.Ask)
	}
	return b.String()
}
