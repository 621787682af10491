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
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/pages"
	"github.com/lockladder/lockladder/scenarios"
)

var answer = regexp.MustCompile(`(?s)<details>\n<summary>[^\n]+</summary>\n\n` +
	`.+?\n\n</details>`)

// summary is what a hurried reader reads of a rung's page: three lines, and the
// picture of the lock's life.
var summary = regexp.MustCompile(`(?s)\n<!-- end of place \S+ -->\n\n` +
	`(\*\*[^\n]+\n\n)?- \*\*The idea:\*\* .+\n- \*\*What it fixes:\*\* .+` +
	`\n- \*\*What still breaks:\*\* .+\n\n<!-- generated: life (\S+) -->\n` +
	`!\[A recorded run\. .+\]\(life/\S+\.svg\)\n<!-- end of life \S+ -->\n\n` +
	`## How it works\n`)

// A rung without a page, or with half of one, is not taught.
func TestEveryRungHasAPage(t *testing.T) {
	for i, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) {
			page := content(t, "docs/"+pages.PageOf(i))
			headings := []string{"## How it works", "## The code",
				"## See it fail", "## What comes next", "## Three questions"}
			if rung.Parent != "" {
				headings = slices.Insert(headings, 2,
					"## Compared with "+rung.Parent)
			}
			require.Regexp(t, summary, page, "three lines that sum it up, and the"+
				" picture of the lock's life")
			require.Equal(t, rung.Name, summary.FindStringSubmatch(page)[2],
				"whose life it is")
			require.Equal(t, headings, regexp.MustCompile(`(?m)^## .+`).
				FindAllString(page, -1))
			_, questions, _ := strings.Cut(page, "## Three questions")
			require.Len(t, answer.FindAllString(questions, -1), 3,
				"questions with folded answers")
			names, _, err := generated.Parts(page)
			require.NoError(t, err)
			wanted := []string{"place " + rung.Name,
				"code " + rung.Name + "/lock.go", "red " + rung.Name + "/",
				"sequence " + rung.Name + "/"}
			if rung.Parent != "" {
				wanted = append(wanted, "diff "+rung.Name)
			}
			_, scenario, _ := strings.Cut(content(t, rung.Name+"/doc.go"), "-red=")
			scenario, _, _ = strings.Cut(scenario, "\n")
			wanted = append(wanted, "red "+rung.Name+"/"+scenario)
			for _, part := range wanted {
				require.True(t, slices.ContainsFunc(names, func(p string) bool {
					return strings.HasPrefix(p, part)
				}), "the page has no generated part %q", part)
			}
		})
	}
}

// A difference that is longer than a screen is folded.
func TestALongDifferenceIsFolded(t *testing.T) {
	diff := regexp.MustCompile(`(?s)(</summary>\n\n)?<!-- generated: diff .*?-->` +
		`(.*?)<!-- end of diff`)
	for i := range ladder.Rungs {
		file := "docs/" + pages.PageOf(i)
		for _, found := range diff.FindAllStringSubmatch(content(t, file), -1) {
			if found[1] == "" {
				assert.Less(t, strings.Count(found[2], "\n"), 60,
					"%s: fold this difference with <details>", file)
			}
		}
	}
}

// The handout has a row for every rung, with the number of its page.
func TestTheHandoutHasEveryRung(t *testing.T) {
	handout := content(t, "docs/handout.md")
	for i := range ladder.Rungs {
		number, name, _ := strings.Cut(strings.TrimSuffix(pages.PageOf(i), ".md"), "-")
		assert.Contains(t, handout, "\n| "+number+" "+name+" ")
	}
}

// The workshop's script says when each page and each exercise has its turn, or
// that it is for afterwards.
func TestTheWorkshopHasAPlaceForEveryPageAndExercise(t *testing.T) {
	links := read(t, "docs/workshop.md").Links()
	for i, rung := range ladder.Rungs {
		require.Contains(t, links, pages.PageOf(i), rung.Name)
		require.Contains(t, links, fmt.Sprintf("exercises/%02d/README.md", i+1),
			rung.Name)
	}
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
	assert.Equal(t, 12, strings.Count(matrix, "| **"), "scenarios")
}

// The arrows of a page lead where the site's keys lead.
func TestAnArrowLeadsToTheNextDocument(t *testing.T) {
	arrow := regexp.MustCompile(`\]\(([^)]+)\) →`)
	arrows := 0
	for _, file := range pages.Documents(root) {
		for _, found := range arrow.FindAllStringSubmatch(content(t, file), -1) {
			arrows++
			next, err := pages.Next(root, file)
			require.NoError(t, err)
			assert.Equal(t, next, path.Join(path.Dir(file), found[1]), file)
		}
	}
	assert.Equal(t, len(ladder.Rungs)+1, arrows, "page 00, and each rung's")
}

// The page names a test for each thing that one server can't show, and the test exists.
func TestWhatOneServerCantTellIsATestElsewhere(t *testing.T) {
	for _, e := range pages.Elsewhere {
		assert.Regexp(t, regexp.MustCompile(`(?m)^func `+e.Test+`\(`),
			content(t, "field/"+e.File), e.File)
	}
}

// The page's words on how the stores are run are those of the code that runs
// them.
func TestThePageSaysHowTheStoresAreRun(t *testing.T) {
	page := strings.Join(strings.Fields(content(t, "docs/choosing.md")), " ")
	for _, c := range []struct{ file, code, words string }{
		{"internal/servers/store.go", `"--innodb-flush-log-at-trx-commit=2"`,
			"`innodb-flush-log-at-trx-commit=2`"},
		{"internal/servers/store.go", `"--sync-binlog=0"`, "`sync-binlog=0`"},
		{"internal/servers/store.go", `forceSync=no\n`, "`forceSync=no`"},
		{"internal/servers/store.go", `"--unsafe-no-fsync"`,
			"`--unsafe-no-fsync`"},
		{"internal/servers/redis.go", `"--save", ""`, "(`--save \"\"`)"},
		{"scenarios/server.go", `n.Restart("restarts, with its data")`,
			"MariaDB, ZooKeeper and etcd restart with their data"},
		{"scenarios/server.go", `n.Restart("restarts without its data")`,
			"Redis restarts without its data"},
		{"field/bench/stores.go", "askEvery = 20 * time.Millisecond",
			"mysql/record and mysql/lease: 20 ms each time"},
		{"field/libraries/redislock.go",
			"redislock.LinearBackoff(lock.DefaultPoll)", "redislock: 100 ms"},
		{"lock/options.go", "DefaultPoll = 100 * time.Millisecond",
			"The ladder's locks: up to 100 ms"},
	} {
		assert.Contains(t, content(t, c.file), c.code, c.file)
		assert.Contains(t, page, c.words)
	}
}
