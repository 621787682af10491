package site

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
)

// searchFile is the script with the texts that the site's search looks through.
const searchFile = "assets/search.js"

const glossaryPage = "docs/glossary.md"

// Section is a heading of a document with the text below it, for the search.
type Section struct {
	Title  string     `json:"title"`
	Anchor string     `json:"anchor,omitempty"`
	Level  int        `json:"level"`
	Text   string     `json:"text"`
	Tables [][]string `json:"tables,omitempty"` // their rows, with the heads
	Term   bool       `json:"term,omitempty"`   // of the glossary
}

// Sections are the document's sections in order, without code. In a glossary, so is each
// paragraph that begins with a term.
func (d *Document) Sections(glossary bool) []Section {
	var sections []Section
	last := &Section{}
	for n := d.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			sections = append(sections, Section{Title: content(n, d.source), Anchor: anchor(n), Level: n.Level})
			last = &sections[len(sections)-1]
		case *ast.Paragraph, *ast.List, *ast.Blockquote:
			if term, is := n.FirstChild().(*ast.Emphasis); is && glossary {
				sections = append(sections, Section{Level: 2, Term: true,
					Title: strings.TrimSuffix(content(term, d.source), ".")})
				last = &sections[len(sections)-1]
			}
			last.Text = strings.TrimSpace(last.Text + " " + words(n, d.source))
		case *table.Table:
			var rows []string
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				rows = append(rows, words(row, d.source))
			}
			last.Tables = append(last.Tables, rows)
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

// search is the script: a list of pages with their sections, and the levels.
func (s *Site) search() ([]byte, error) {
	var all []map[string]any
	add := func(file, hash, title string, sections ...Section) {
		_, rung := rungOf(file)
		all = append(all, map[string]any{"file": file + hash, "page": exported(file) + hash, // in an export
			"title": title, "rung": rung && hash == "", "sections": sections})
	}
	for _, file := range s.Order() {
		text, err := fs.ReadFile(s.root, file)
		if err != nil {
			return nil, err
		}
		d := Parse(strings.ReplaceAll(string(text), "\r\n", "\n"))
		add(file, "", d.Title(), d.Sections(file == glossaryPage)...)
	}
	for i, l := range levels(Levels, "") {
		file, hash, _ := strings.Cut(l.Path[1:], "#")
		add(file, "#"+hash, l.Title, Section{Title: l.Title, Level: 1, Text: Levels[i].Ask + " " + Levels[i].Story})
	}
	text, err := json.Marshal(all)
	return append(append([]byte("lockladder.pages = "), text...), ";\n"...), err
}
