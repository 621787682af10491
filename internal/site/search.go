package site

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// searchFile is the script with the texts that the site's search looks through.
const searchFile = "assets/search.js"

const glossaryPage = "docs/glossary.md"

// Section is a heading of a document with the text below it, for the search.
type Section struct {
	Title  string `json:"title"`
	Anchor string `json:"anchor,omitempty"`
	Level  int    `json:"level"`
	Text   string `json:"text"`
	Term   bool   `json:"term,omitempty"` // of the glossary
}

// Sections are the document's sections in order. Code and tables are not searched.
func (d *Document) Sections() []Section {
	var sections []Section
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			sections = append(sections, Section{Title: content(n, d.source),
				Anchor: anchor(n), Level: n.Level})
		case *ast.Paragraph, *ast.List, *ast.Blockquote:
			if len(sections) > 0 {
				last := &sections[len(sections)-1]
				last.Text = strings.TrimSpace(last.Text + " " + words(n, d.source))
			}
		}
	}
	return sections
}

// excerpt is the beginning of a text, which a shared link shows.
func excerpt(text string) string {
	const most = 160
	if len(text) <= most {
		return text
	}
	return text[:strings.LastIndexByte(text[:most], ' ')] + " …"
}

// terms are the paragraphs of a glossary, each of which begins with what it explains.
func (d *Document) terms() []Section {
	terms := []Section{{Title: d.Title(), Level: 1}}
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		if term, is := n.FirstChild().(*ast.Emphasis); is {
			terms = append(terms, Section{Title: strings.TrimSuffix(content(term,
				d.source), "."), Level: 2, Text: words(n, d.source), Term: true})
		}
	}
	return terms
}

// words is the text of all that is below a node, with spaces between blocks.
func words(n ast.Node, source []byte) string {
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil &&
		n.FirstChild().Type() == ast.TypeBlock {
		var all []string
		for child := n.FirstChild(); child != nil; child = child.NextSibling() {
			all = append(all, words(child, source))
		}
		return strings.Join(all, " ")
	}
	return content(n, source)
}

// search is the script: a list of pages with their sections.
func (s *Site) search() ([]byte, error) {
	type found struct {
		File     string    `json:"file"`
		Page     string    `json:"page"` // in an export
		Title    string    `json:"title"`
		Sections []Section `json:"sections"`
	}
	var all []found
	for _, file := range s.Order() {
		text, err := fs.ReadFile(s.root, file)
		if err != nil {
			return nil, err
		}
		d := Parse(strings.ReplaceAll(string(text), "\r\n", "\n"))
		sections := d.Sections()
		if file == glossaryPage {
			sections = d.terms()
		}
		all = append(all, found{file, exported(file), d.Title(), sections})
	}
	text, err := json.Marshal(all)
	return append(append([]byte("lockladder.pages = "), text...), ";\n"...), err
}
