package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// summary is what a hurried reader reads of a rung's page: three lines and a picture.
var summary = regexp.MustCompile(`(?s)\n- \*\*The idea:\*\* .+\n- \*\*What it fixes:\*\* .+` +
	`\n- \*\*What still breaks:\*\* .+\n!\[.+\]\(\S+\.svg\)\n.*\n## How it works\n`)

// A rung without a page, or with half of one, is not taught.
func TestEveryRungHasAPage(t *testing.T) {
	for _, rung := range ladder.Rungs {
		page := content(t, rung.Page())
		assert.Regexp(t, summary, page, rung.Name)
		headings := strings.Join(regexp.MustCompile(`(?m)^## .+\n`).FindAllString(page, -1), "")
		assert.Regexp(t, `^## How it works\n(## The code\n)?(## Compared with `+
			rung.Parent+`\n)?## See it fail\n## What comes next\n## Three questions\n`+
			`(## Before you turn the page\n)?$`, headings, rung.Name)
		assert.Regexp(t, "<!-- generated: (code "+rung.Name+"/lock.go|diff "+rung.Name+" -->)", page)
		_, scenario, _ := strings.Cut(content(t, rung.Name+"/doc.go"), "-red=")
		scenario, _, _ = strings.Cut(scenario, "\n")
		for _, part := range []string{"place " + rung.Name, "red " + rung.Name + "/" + scenario} {
			assert.Contains(t, page, "<!-- generated: "+part, rung.Name)
		}
		assert.Contains(t, page, "<!-- run "+rung.Name+"/")
		_, questions, _ := strings.Cut(page, "## Three questions")
		assert.Equal(t, 3, strings.Count(questions, "<details>"), "%s: folded answers", rung.Name)
	}
}

// A run that a page names, and that is not made, leaves a line in its place.
func TestEveryRunThatAPageNamesIsPlayed(t *testing.T) {
	s := site.NewSite(generated.Record(t, root, exhibits()...))
	for _, file := range generated.Documents(root) {
		if text := content(t, file); strings.Contains(text, "<!-- run ") {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+file, nil))
			assert.Equal(t, strings.Count(text, "<!-- run "),
				strings.Count(w.Body.String(), `<div class="player"`), file)
		}
	}
}

// The handout has a row for every rung, with the number of its page. The workshop's
// script says when each page and each exercise has its turn, or that it is for afterwards.
func TestTheHandoutAndTheWorkshopHaveEveryRung(t *testing.T) {
	handout := content(t, "docs/handout.md")
	links := read(t, "docs/workshop.md").Links()
	for _, rung := range ladder.Rungs {
		row := "\n| "
		if rung.Step > 0 {
			row += fmt.Sprint(rung.Step, " ")
		}
		assert.Contains(t, handout, row+rung.Short()+" |")
		assert.Contains(t, links, path.Base(rung.Page()))
	}
	for _, e := range exercise.All {
		assert.Contains(t, links, "exercises/"+e.Name()+"/README.md")
	}
}
