package main

import (
	"io/fs"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios"
)

// read parses a document.
func read(t *testing.T, file string) *site.Document {
	t.Helper()
	return site.Parse(content(t, file))
}

// Links within the repository are followed, also to a heading. Those to other
// places are left alone: no test needs the network.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	followed := 0
	for _, file := range generated.Documents(root) {
		for _, target := range read(t, file).Links() {
			link, err := url.Parse(target)
			if !assert.NoError(t, err, file) || link.Scheme != "" {
				continue
			}
			followed++
			to := file
			if link.Path != "" {
				to = path.Join(path.Dir(file), link.Path)
			}
			if _, err := fs.Stat(root, to); err != nil {
				t.Errorf("%s: the link %s leads nowhere", file, target)
				continue
			}
			if link.Fragment == "" {
				continue
			}
			if asked, err := url.ParseQuery(link.EscapedFragment()); err == nil && asked.Has("rung") {
				_, noRung := ladder.Find(asked.Get("rung"))
				_, noScenario := scenarios.Find(asked.Get("scenario"))
				e, noExercise := exercise.Find(strings.TrimPrefix(asked.Get("rung"), "exercise "))
				assert.True(t, to == "docs/lab.md" && (noRung == nil && noScenario == nil ||
					noExercise == nil && e.OnlyScripts() || asked.Get("rung") == "your lock"), "%s: the laboratory can't take %s", file, target)
				continue
			}
			if path.Ext(to) != ".md" || !read(t, to).Anchors()[link.Fragment] {
				t.Errorf("%s: the link %s leads to no heading", file, target)
			}
		}
	}
	assert.Greater(t, followed, 100, "links were found")
}

// No code is pasted: what is between two empty lines of a page's code stands in a source
// file, letter by letter.
func TestEverySnippetStandsInTheSources(t *testing.T) {
	var sources strings.Builder
	require.NoError(t, fs.WalkDir(root, ".", func(file string, e fs.DirEntry, err error) error {
		if ending := path.Ext(file); err == nil && (ending == ".go" || ending == ".lua") {
			sources.WriteString("\n" + content(t, file))
		}
		return err
	}))
	for _, file := range generated.Documents(root) {
		for _, block := range read(t, file).Blocks() {
			if block.Language != "go" && block.Language != "lua" {
				continue
			}
			for snippet := range strings.SplitSeq(strings.Trim(block.Text, "\n"), "\n\n") {
				assert.True(t, strings.Contains(sources.String(), "\n"+snippet+"\n"),
					"%s: this stands in no source file:\n%s", file, snippet)
			}
		}
	}
}
