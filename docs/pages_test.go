package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// summary is what a hurried reader reads of a rung's page: three lines and a picture.
var summary = regexp.MustCompile(`(?s)\n- \*\*The idea:\*\* .+\n- \*\*What it fixes:\*\* .+` +
	`\n- \*\*What still breaks:\*\* .+\n!\[.+\]\(\S+\.svg\)\n.*\n## How it works\n`)

// A rung without a page, or with half of one, is not taught.
func TestEveryRungHasAPage(t *testing.T) {
	for i, rung := range ladder.Rungs {
		page := content(t, "docs/"+generated.PageOf(i))
		assert.Regexp(t, summary, page, rung.Name)
		headings := []string{"## How it works", "## The code"}
		wanted := []string{"place ", "code " + rung.Name + "/lock.go", "sequence " + rung.Name + "/"}
		if rung.Parent != "" {
			headings = append(headings, "## Compared with "+rung.Parent)
			wanted = append(wanted, "diff "+rung.Name)
		}
		headings = append(headings, "## See it fail", "## What comes next", "## Three questions")
		assert.Equal(t, headings, regexp.MustCompile(`(?m)^## .+`).FindAllString(page, -1))
		_, scenario, _ := strings.Cut(content(t, rung.Name+"/doc.go"), "-red=")
		scenario, _, _ = strings.Cut(scenario, "\n")
		for _, part := range append(wanted, "red "+rung.Name+"/"+scenario) {
			assert.Contains(t, page, "<!-- generated: "+part, rung.Name)
		}
		_, questions, _ := strings.Cut(page, "## Three questions")
		assert.Equal(t, 3, strings.Count(questions, "<details>"), "%s: folded answers", rung.Name)
	}
}

// The handout has a row for every rung, with the number of its page. The workshop's
// script says when each page and each exercise has its turn, or that it is for afterwards.
func TestTheHandoutAndTheWorkshopHaveEveryRung(t *testing.T) {
	handout := content(t, "docs/handout.md")
	links := read(t, "docs/workshop.md").Links()
	for i := range ladder.Rungs {
		page := generated.PageOf(i)
		assert.Contains(t, handout, "\n| "+strings.Replace(strings.TrimSuffix(page, ".md"),
			"-", " ", 1)+" ")
		assert.Contains(t, links, page)
		assert.Contains(t, links, fmt.Sprintf("exercises/%02d/README.md", i+1))
	}
}

// The list of the site's pages has the order of the contents, not of the alphabet.
func TestThePagesHaveTheOrderOfTheContents(t *testing.T) {
	order := site.NewSite(root).Order()
	assert.Less(t, slices.Index(order, "docs/ttl.md"), slices.Index(order, "docs/alternatives.md"))
}

// The poster for the wall has every scenario and every rung that the 90 minutes run.
func TestTheWorkshopMatrixHasWhatTheWorkshopRuns(t *testing.T) {
	_, minutes, _ := strings.Cut(content(t, "docs/workshop.md"), "## 90 minutes")
	minutes, _, _ = strings.Cut(minutes, "## Half a day")
	_, matrix, _ := strings.Cut(content(t, "docs/matrix.md"), "<!-- generated: workshop -->")
	matrix, _, _ = strings.Cut(matrix, "<!-- end of workshop -->")
	for _, s := range scenarios.Catalogue {
		if strings.Contains(minutes, s.Name) {
			assert.Contains(t, matrix, "| **"+s.Name+"**")
		}
	}
	for _, rung := range ladder.Rungs {
		if strings.Contains(minutes, "go test ./"+rung.Name+" ") {
			assert.Contains(t, matrix, " "+path.Base(rung.Name)+" |")
		}
	}
	require.Equal(t, 12, strings.Count(matrix, "| **"), "scenarios")
}
