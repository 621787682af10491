package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/internal/site/pages"
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
	for _, file := range pages.Documents(root) {
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

// filesWith are all files of the module with such an ending.
func filesWith(t *testing.T, ending string) (files []string) {
	require.NoError(t, fs.WalkDir(root, ".", func(file string, e fs.DirEntry,
		err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && file != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.IsDir() && path.Ext(file) == ending:
			files = append(files, file)
		}
		return nil
	}))
	return files
}

// sources are the texts of all files with such an ending.
func sources(t *testing.T, ending string) (all []string) {
	for _, file := range filesWith(t, ending) {
		all = append(all, content(t, file))
	}
	return all
}

// No code is pasted: a page's code stands in a source file, declaration by
// declaration, letter by letter.
func TestEverySnippetStandsInTheSources(t *testing.T) {
	known := map[string][]string{
		"go": sources(t, ".go"), "lua": sources(t, ".lua")}
	found := 0
	for _, file := range pages.Documents(root) {
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
func snippets(block site.Block) []string {
	whole := []string{strings.Trim(block.Text, "\n")}
	if block.Language != "go" {
		return whole
	}
	source := "package p\n\n" + block.Text
	if _, err := parser.ParseFile(token.NewFileSet(), "", source,
		parser.SkipObjectResolution); err != nil {
		return whole
	}
	all, err := site.Declarations(source)
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

// named is a package's path in a command.
var named = regexp.MustCompile(`(?:^|\s)\./([\w/.-]+)`)

// lost are the packages that a command names and that are not where it is typed:
// at the root, or where it first goes.
func lost(line string) []string {
	root := ".."
	if rest, found := strings.CutPrefix(line, "cd "); found {
		folder, rest, _ := strings.Cut(rest, " && ")
		root, line = filepath.Join(root, folder), rest
	}
	if !strings.Contains(line, "go test") && !strings.Contains(line, "go run") {
		return nil
	}
	var all []string
	for _, match := range named.FindAllStringSubmatch(line, -1) {
		folder := strings.TrimSuffix(strings.TrimSuffix(match[1], "..."), "/")
		info, err := os.Stat(filepath.Join(root, folder))
		if err != nil || !info.IsDir() {
			all = append(all, match[1])
		}
	}
	return all
}

func TestEveryPackageThatACommandNamesIsWhereItIsTyped(t *testing.T) {
	for _, c := range shownCommands(t) {
		assert.Empty(t, lost(c.line), "%s: %s", c.file, c.line)
	}
	assert.Equal(t, []string{"mysql"}, lost("go test ./gold ./mysql -run X"))
	assert.Empty(t, lost("cd field && go test -count=1 ./mysql ./etcd"))
	assert.Equal(t, []string{"gold"}, lost("cd field && go run ./gold"))
	assert.Empty(t, lost("GOGC=off go test ./... -run X"))
}
