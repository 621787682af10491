package site

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
)

// searchFile is the script with the texts that the site's search looks through.
const searchFile = "assets/search.js"

// navigation is a paragraph that only leads to other pages and to the code.
var navigation = regexp.MustCompile(`^← |The code: |^Write the next rung`)

var notLetters = regexp.MustCompile(`[^a-z]+`)

// Section is a heading of a document with the text below it, for the search.
type Section struct {
	Title  string     `json:"title"`
	Anchor string     `json:"anchor,omitempty"`
	Level  int        `json:"-"`
	Text   string     `json:"text"`             // its blocks in lines
	Tables [][]string `json:"tables,omitempty"` // their rows, with the heads and the cells in lines
	Code   []string   `json:"code,omitempty"`   // its lines, each where the document first has it
	Term   bool       `json:"term,omitempty"`   // of the glossary
}

// Sections are the document's sections in order, without navigation. In a glossary, so is
// each paragraph that begins with a term, whose anchor the document's HTML has from then on.
func (d *Document) Sections(glossary bool) []Section {
	sections, known := []Section{{}}, map[string]bool{}
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		last := &sections[len(sections)-1]
		switch n := n.(type) {
		case *ast.Heading:
			sections = append(sections, Section{Title: content(n, d.source), Anchor: anchor(n), Level: n.Level})
		case *ast.HTMLBlock: // what is folded begins with a question
			if _, text, is := strings.Cut(lines(n, d.source), "<summary>"); is {
				question, _, _ := strings.Cut(text, "</summary>")
				last.Text += "\n" + question
			}
		case *ast.Paragraph, *ast.List, *ast.Blockquote:
			if term, is := n.FirstChild().(*ast.Emphasis); is && glossary {
				title := strings.TrimSuffix(content(term, d.source), ".")
				n.SetAttributeString("id", []byte(strings.Trim(notLetters.ReplaceAllString(strings.ToLower(title), "-"), "-")))
				sections = append(sections, Section{Level: 2, Term: true, Title: title, Anchor: anchor(n)})
				last = &sections[len(sections)-1]
			}
			if text := words(n, d.source); !navigation.MatchString(text) {
				last.Text = strings.TrimSpace(last.Text + "\n" + text)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for line := range strings.Lines(lines(n, d.source)) {
				if line = strings.Trim(line, "+- \t\n"); len(line) > 2 && !known[line] {
					last.Code, known[line] = append(last.Code, line), true
				}
			}
		case *table.Table:
			var rows []string
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				rows = append(rows, words(row, d.source))
			}
			last.Tables = append(last.Tables, rows)
		}
	}
	return sections[1:]
}

// excerpt is the beginning of a text, which a shared link shows.
func excerpt(text string) string {
	if text = strings.ReplaceAll(text, "\n", " "); len(text) <= 160 {
		return text
	}
	return text[:strings.LastIndexByte(text[:160], ' ')] + " …"
}

// words is the text of all that is below a node, with its blocks in lines.
func words(n ast.Node, source []byte) string {
	var all []string
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if child.Type() != ast.TypeBlock {
			return content(n, source)
		}
		all = append(all, words(child, source))
	}
	return strings.Join(all, "\n")
}

// search is the script: everyday words, and a list of pages with their sections, and the levels.
func (s *Site) search() []byte {
	var all []map[string]any
	add := func(file, title string, sections ...Section) {
		all = append(all, map[string]any{"file": file, "title": title, "sections": sections})
	}
	for _, file := range s.Order() {
		text, _ := fs.ReadFile(s.root, file) // its page says what is wrong
		d := Parse(strings.ReplaceAll(string(text), "\r\n", "\n"))
		add(file, d.Title(), d.Sections(file == glossaryPage)...)
	}
	for i, l := range levels(Levels, "") {
		text := Levels[i].Ask + "\n" + Levels[i].Story
		add(l.Path[1:], l.Title, Section{Title: l.Title, Level: 1, Text: text})
	}
	words, _ := assets.ReadFile("assets/words.js")
	text, _ := json.Marshal(all) // strings and numbers
	return append(append(append(words, "lockladder.pages = "...), text...), ";\n"...)
}
