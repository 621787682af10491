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

// pageOf is the page of the i-th rung, below docs.
func pageOf(i int) string { return path.Base(ladder.Rungs[i].Page()) }

func indexOf(name string) int {
	return slices.IndexFunc(ladder.Rungs, func(r ladder.Rung) bool {
		return r.Name == name
	})
}

// place says where a rung stands.
func (g *Generator) place(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	i := indexOf(name)
	var b strings.Builder
	fmt.Fprintf(&b, "*Rung %d of %d: %s.*", i+1, len(ladder.Rungs), rung.Idea)
	if parent := indexOf(rung.Parent); parent >= 0 {
		fmt.Fprintf(&b, " Read it beside [%s](%s).", rung.Parent,
			pageOf(parent))
	}
	fmt.Fprintf(&b, "\nThe code: [%s](../%s/lock.go).", name, name)
	fmt.Fprintf(&b, " Climb it yourself: [the exercise](exercises/%s/README.md)."+
		"\n\n", rung.Short())
	if i == 0 {
		fmt.Fprint(&b, "← [0 before](0-before.md)")
	} else {
		fmt.Fprintf(&b, "← [%s](%s)", ladder.Rungs[i-1].Name, pageOf(i-1))
	}
	if i+1 < len(ladder.Rungs) {
		fmt.Fprintf(&b, " · [%s](%s) →", ladder.Rungs[i+1].Name, pageOf(i+1))
	}
	return b.String() + "\n", nil
}

// exerciseTable is a table of all of them.
func exerciseTable(*Generator) string {
	var b strings.Builder
	fmt.Fprint(&b, "| exercise | the flaw | what to do |\n|---|---|---|\n")
	for _, e := range exercise.All {
		fmt.Fprintf(&b, "| [%s](%s/README.md) | %s | %s |\n", e.Name(), e.Name(),
			e.Flaw, e.Task)
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
	return fmt.Sprintf("- It builds on %s.\n- The flaw: *%s*.\n- The task: %s.\n"+
		"- The files that the solution changes: %s.\n- The scenarios: %s\n%s\n"+
		"```console\n$ go test ./docs/exercises/%s -tags exercise\n```\n", on, e.Flaw,
		e.Task, files, checked, laboratory, e.Name()), nil
}

// buildsOn is the page to read before an exercise: that of its rung's parent.
func buildsOn(e exercise.Exercise) (string, error) {
	rung, err := ladder.Find(e.Rung)
	if err != nil || rung.Parent == "" {
		return "[page 0](../../0-before.md)", err
	}
	return fmt.Sprintf("[%s](../../%s)", rung.Parent, pageOf(indexOf(rung.Parent))), nil
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
				" in the process from one run to the next, so no two runs begin alike.\n",
			nil
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

// contents is a table of the rungs' pages.
func contents(*Generator) string {
	var b strings.Builder
	fmt.Fprint(&b, "| page | the idea | its exercise |\n|---|---|---|\n")
	for i, rung := range ladder.Rungs {
		fmt.Fprintf(&b, "| [%s](%s) | %s | [%s](exercises/%[4]s/README.md) |\n",
			rung.Name, pageOf(i), rung.Idea, rung.Short())
	}
	return b.String()
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
