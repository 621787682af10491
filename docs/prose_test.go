package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/pages"
)

const (
	easiest   = 55   // a page's Flesch reading ease is at least this
	firstPart = 2000 // words before a page's reference part, at most
)

// A page that is written for a room has short words in short sentences.
func TestEveryPageReadsEasily(t *testing.T) {
	for _, file := range append(pages.Documents(root), "CONTRIBUTING.md") {
		page := proseOf(t, file)
		ease := fleschEase(page)
		t.Logf("%-34s %5.1f, %5d words", file, ease, len(words(page)))
		assert.GreaterOrEqual(t, ease, float64(easiest), "%s: its Flesch reading"+
			" ease: shorten the sentences, choose shorter words", file)
		assert.LessOrEqual(t, len(words(beforeReference(page))), firstPart,
			"%s: words before a heading Reference", file)
	}
}

func proseOf(t *testing.T, file string) []site.Passage {
	return site.Parse(content(t, file)).Prose()
}

// beforeReference is what stands before a heading Reference.
func beforeReference(page []site.Passage) []site.Passage {
	for i, p := range page {
		if p.Heading > 0 && strings.HasPrefix(p.Text, "Reference") {
			return page[:i]
		}
	}
	return page
}

var (
	sentenceEnds = regexp.MustCompile(`[.!?]+["”)]*( |$)`)
	word         = regexp.MustCompile(`[\p{L}][\p{L}'’]*`)
)

// words are those of headings and sentences, not of tables.
func words(page []site.Passage) []string {
	var all []string
	for _, p := range page {
		if !p.Table {
			all = append(all, word.FindAllString(p.Text, -1)...)
		}
	}
	return all
}

// fleschEase is the Flesch reading ease of a page's sentences: 206.835 - 1.015
// words a sentence - 84.6 syllables a word. Headings and tables are none. An item
// of a list and a paragraph end a sentence, with or without a full stop.
func fleschEase(page []site.Passage) float64 {
	count, all, syllables := 0, 0, 0
	for _, p := range page {
		found := word.FindAllString(p.Text, -1)
		if p.Table || p.Heading > 0 || len(found) == 0 {
			continue
		}
		count += len(sentences(p.Text))
		all += len(found)
		for _, w := range found {
			syllables += syllablesOf(w)
		}
	}
	return 206.835 - 1.015*float64(all)/float64(count) -
		84.6*float64(syllables)/float64(all)
}

// syllablesOf counts the groups of vowels of an English word; an e at its end is
// silent, as are -es and -ed after most letters. It is wrong by one for a word in
// twenty, in both directions.
func syllablesOf(w string) int {
	w = apostrophe.ReplaceAllString(strings.ToLower(w), "")
	if !spokenEnd.MatchString(w) {
		w = silentEnd.ReplaceAllString(w, "$1$2$3")
	}
	n := len(vowels.FindAllString(w, -1)) + len(apart.FindAllString(w, -1)) -
		len(together.FindAllString(w, -1))
	return max(n, 1)
}

var (
	apostrophe = regexp.MustCompile(`['’].*$`)
	spokenEnd  = regexp.MustCompile(`[^aeiouy]le$`)
	silentEnd  = regexp.MustCompile(
		`([^aeiouydt])ed$|([^aeiouysxzcg])es$|([^aeiouy])e$`)
	vowels   = regexp.MustCompile(`[aeiouy]+`)
	apart    = regexp.MustCompile(`i[ao]|[^q]ua|eo$`) // two syllables of one run of vowels
	together = regexp.MustCompile(`[ctgs]i[ao]`)
)

// Counted by hand. The counter may be wrong by one in a word, and not in the sum.
func TestSyllablesAreCounted(t *testing.T) {
	sum, counted := 0, 0
	for _, w := range strings.Fields("lock/1 lease/1 holder/2 release/2" +
		" released/2 renewed/2 granted/2 handle/2 releases/3 majority/4" +
		" client/2 until/2 section/2 acquisition/4 doesn't/2 times/1" +
		" validity/4 page/1 server/2 deadline/2 token/2 a/1 between/2" +
		" another/3 nobody/3 question/2 paused/1 writes/1 believes/2" +
		" critical/3 language/2 goroutine/3 every/2 area/3 schedule/2" +
		" owner/2 waiter/2 because/2 machine/2 the/1 people/2 asked/1" +
		" decides/2 storage/2 message/2 pages/2 process/2 processes/3") {
		word, want, _ := strings.Cut(w, "/")
		n, err := strconv.Atoi(want)
		require.NoError(t, err)
		got := syllablesOf(word)
		assert.InDelta(t, n, got, 1, word)
		sum += n
		counted += got
	}
	assert.InEpsilon(t, sum, counted, 0.05, "all words together")
}

// A rule is a line of testdata/prose.txt.
type rule struct {
	where   string
	pattern *regexp.Regexp
	instead string
}

func rules(t *testing.T) []rule {
	var all []rule
	for line := range strings.Lines(content(t, "docs/testdata/prose.txt")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		where, rest, _ := strings.Cut(line, " | ")
		i := strings.LastIndex(rest, " | ")
		require.Positive(t, i, line)
		require.Contains(t, []string{"everywhere", "page", "sentence", "heading",
			"name"}, where, line)
		pattern, err := regexp.Compile("(?i)" + rest[:i])
		require.NoError(t, err, line)
		all = append(all, rule{where, pattern, rest[i+3:]})
	}
	require.NotEmpty(t, all)
	return all
}

// statement is a sentence that is neither a question nor led in by a label, such
// as "What it fixes:".
var statement = regexp.MustCompile(`^[^:]{25,}.*\.["”)]*$`)

// offences are what a passage should not say.
func offences(rules []rule, p site.Passage) []string {
	var all []string
	for _, r := range rules {
		texts := []string{p.Text}
		switch r.where {
		case "name":
			continue
		case "heading":
			if p.Heading == 0 {
				continue
			}
		case "sentence":
			if p.Heading > 0 || p.Table {
				continue
			}
			texts = sentences(p.Text)
		}
		for _, text := range texts {
			at := r.pattern.FindStringIndex(text)
			if at == nil || r.where == "sentence" &&
				(at[0] > 0 || !statement.MatchString(text)) {
				continue
			}
			all = append(all, fmt.Sprintf("%q: write %s: %s",
				text[at[0]:at[1]], r.instead, shortened(text)))
		}
	}
	return all
}

// sentences are those of a passage.
func sentences(text string) []string {
	var all []string
	for text != "" {
		end := sentenceEnds.FindStringIndex(text)
		if end == nil {
			return append(all, text)
		}
		all = append(all, strings.TrimSpace(text[:end[1]]))
		text = text[end[1]:]
	}
	return all
}

func shortened(text string) string {
	if len(text) > 100 {
		return text[:100] + "..."
	}
	return text
}

// A machine finds some of the words over which a reader would stumble.
func TestPagesAreWrittenInPlainEnglish(t *testing.T) {
	all := rules(t)
	for _, file := range append(pages.Documents(root), "CONTRIBUTING.md") {
		for _, p := range proseOf(t, file) {
			if file == "docs/sources.md" && strings.Contains(p.Text, "File seeds/") {
				continue // where the short names are defined
			}
			for _, offence := range offences(all, p) {
				t.Errorf("%s: %s", file, offence)
			}
		}
	}
}

// Comments and messages keep the rules that hold everywhere.
func TestCodeIsCommentedInPlainEnglish(t *testing.T) {
	var all []rule
	for _, r := range rules(t) {
		if r.where == "everywhere" {
			all = append(all, r)
		}
	}
	found := 0
	plain := func(file string, texts ...string) {
		for _, text := range texts {
			found++
			text = strings.Join(strings.Fields(text), " ")
			for _, offence := range offences(all, site.Passage{Text: text}) {
				t.Errorf("%s: %s", file, offence)
			}
		}
	}
	for _, file := range filesWith(t, ".go") {
		if file != "docs/prose_test.go" { // it shows what is not to be written
			plain(file, textsOf(t, file)...)
		}
	}
	for _, file := range filesWith(t, ".lua") {
		plain(file, content(t, file))
	}
	assert.Greater(t, found, 1000, "comments and messages were found")
}

// textsOf are the comments and the strings of a Go file.
func textsOf(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content(t, file),
		parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err, file)
	var all []string
	for _, c := range parsed.Comments {
		all = append(all, c.Text())
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
			all = append(all, s.Value)
		}
		return true
	})
	return all
}

// wordsIn are the words that identifiers, and the names of JSON fields, are made of.
var wordsIn = regexp.MustCompile(`[A-Z]?[a-z]+`)

// namesOf are the words of the names that a Go file declares, once each.
func namesOf(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), "", content(t, file),
		parser.SkipObjectResolution)
	require.NoError(t, err, file)
	found := map[string]bool{}
	add := func(name string) {
		for _, word := range wordsIn.FindAllString(name, -1) {
			found[strings.ToLower(word)] = true
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			add(n.Name)
		case *ast.Field:
			if n.Tag != nil {
				add(n.Tag.Value)
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

// unusual are the rules that a name breaks.
func unusual(rules []rule, name string) []string {
	var all []string
	for _, r := range rules {
		if r.where == "name" && r.pattern.MatchString(name) {
			all = append(all, fmt.Sprintf("a name has %q: write %s", name, r.instead))
		}
	}
	return all
}

func TestNamesInCodeAreTheFieldsTerms(t *testing.T) {
	all := rules(t)
	files := filesWith(t, ".go")
	for _, file := range files {
		for _, name := range namesOf(t, file) {
			for _, offence := range unusual(all, name) {
				t.Errorf("%s: %s", file, offence)
			}
		}
	}
	assert.Greater(t, len(files), 300, "files were found")
}

func TestTheRulesOfProseFindWhatTheyAreFor(t *testing.T) {
	all := rules(t)
	for text, want := range map[string]int{
		"The holder waits for ever.":                        1,
		"The key is there. Who dies here leaves it behind.": 1,
		"What is left? The lease.":                          0,
		"The source tells it with these seconds.":           1,
		"A token mends the second one only.":                1,
		"The story `oversell` is told every time.":          1,
		"A holder that is done deletes the key.":            0,
		"The article says what a lease is.":                 0,
		"2400 hand-overs a second":                          1,
	} {
		assert.Len(t, offences(all, site.Passage{Text: text}), want, text)
	}
	for name, want := range map[string]int{"story": 1, "sale": 1, "steered": 1,
		"history": 0, "seated": 0, "scenario": 0} {
		assert.Len(t, unusual(all, name), want, name)
	}
	for heading, want := range map[string]int{"The story": 2,
		"What may be forgotten": 1, "How it works": 0, "What breaks": 0} {
		assert.Len(t, offences(all, site.Passage{Text: heading, Heading: 2}),
			want, heading)
	}
}
