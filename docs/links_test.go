package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/exercise"
	"github.com/lockladder/lockladder/internal/pages"
	"github.com/lockladder/lockladder/internal/pages/parts"
)

// read parses a document.
func read(t *testing.T, file string) *pages.Document {
	t.Helper()
	return pages.Parse(content(t, file))
}

// Links within the repository are followed, also to a heading. Those to other
// places are left alone: no test needs the network.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	followed := 0
	for _, file := range parts.Documents(root) {
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
			if level, ok := strings.CutPrefix(link.Fragment, "level="); ok {
				assert.Contains(t, content(t, to), fmt.Sprintf("{\"invariant\":%q",
					strings.ReplaceAll(level, "-", " ")), target)
				continue
			}
			if number, ok := strings.CutPrefix(link.Fragment, "rung=exercise+"); ok {
				e, err := exercise.Find(number)
				assert.NoError(t, err, target)
				assert.True(t, to == "docs/lab.md" && e.OnlyScripts(),
					"%s: the laboratory can't take %s", file, target)
				continue
			}
			if path.Ext(to) != ".md" || !read(t, to).Anchors()[link.Fragment] {
				t.Errorf("%s: the link %s leads to no heading", file, target)
			}
		}
	}
	assert.Greater(t, followed, 100, "links were found")
}

// sources are the texts of all files with such an ending.
func sources(t *testing.T, ending string) []string {
	var all []string
	require.NoError(t, fs.WalkDir(root, ".", func(file string, e fs.DirEntry,
		err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && file != "." && strings.HasPrefix(e.Name(), ".") {
			return fs.SkipDir
		}
		if e.IsDir() || path.Ext(file) != ending {
			return nil
		}
		content, err := fs.ReadFile(root, file)
		all = append(all, strings.ReplaceAll(string(content), "\r\n", "\n"))
		return err
	}))
	return all
}

// No code is pasted: what a page shows stands in a source file, declaration by
// declaration, letter by letter.
func TestEverySnippetStandsInTheSources(t *testing.T) {
	known := map[string][]string{
		"go": sources(t, ".go"), "lua": sources(t, ".lua")}
	found := 0
	for _, file := range parts.Documents(root) {
		for _, block := range read(t, file).Blocks() {
			texts, ok := known[block.Language]
			if !ok {
				continue
			}
			found++
			for _, snippet := range snippets(block) {
				if !within(texts, snippet) {
					t.Errorf("%s: this stands in no source file:\n%s", file,
						snippet)
				}
			}
		}
	}
	assert.Greater(t, found, 20, "blocks of code were found")
}

// snippets are the declarations of a block, or else the block as it is.
func snippets(block pages.Block) []string {
	whole := []string{strings.Trim(block.Text, "\n")}
	if block.Language != "go" {
		return whole
	}
	source := "package p\n\n" + block.Text
	if _, err := parser.ParseFile(token.NewFileSet(), "", source,
		parser.SkipObjectResolution); err != nil {
		return whole
	}
	all, err := pages.Declarations(source)
	if err != nil || len(all) == 0 {
		return whole
	}
	var texts []string
	rest := block.Text
	for _, d := range all {
		texts = append(texts, d.Text)
		rest = strings.Replace(rest, d.Text, "", 1)
	}
	if strings.TrimSpace(rest) != "" {
		return whole // something stands between the declarations
	}
	return texts
}

// within finds whole lines.
func within(texts []string, snippet string) bool {
	lines := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(snippet) + `$`)
	for _, text := range texts {
		if strings.Contains(text, snippet) && lines.MatchString(text) {
			return true
		}
	}
	return false
}
