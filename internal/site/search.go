package site

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// searchFile is the script with the texts that the site's search looks through.
const searchFile = "assets/search.js"

// Section is a heading of a document with the text below it, for the search.
type Section struct {
	Title  string `json:"title"`
	Anchor string `json:"anchor,omitempty"`
	Level  int    `json:"level"`
	Text   string `json:"text"`
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
		all = append(all, found{file, exported(file), d.Title(), d.Sections()})
	}
	text, err := json.Marshal(all)
	return append(append([]byte("lockladder.pages = "), text...), ";\n"...), err
}
