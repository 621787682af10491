package site

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extended "github.com/yuin/goldmark/extension/ast"
)

// Passage is a piece of running text in a document, without its code.
type Passage struct {
	Text    string
	Heading int  // the level of a heading, 0 for other text
	Table   bool // a cell of a table
}

var tag = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]+>`)

// Prose is the text that a reader reads as sentences: headings, paragraphs, items
// of lists, summaries of folded parts and cells of tables, in order. Code is left
// out, also code within a line.
func (d *Document) Prose() []Passage {
	var all []Passage
	add := func(p Passage) {
		p.Text = strings.Join(strings.Fields(p.Text), " ")
		if p.Text != "" {
			all = append(all, p)
		}
	}
	d.walk(func(n ast.Node) {
		switch b := n.(type) {
		case *ast.Heading:
			add(Passage{Text: spoken(b, d.source), Heading: b.Level})
		case *ast.Paragraph, *ast.TextBlock:
			add(Passage{Text: spoken(b, d.source)})
		case *extended.TableCell:
			add(Passage{Text: spoken(b, d.source), Table: true})
		case *ast.HTMLBlock:
			add(Passage{Text: html.UnescapeString(tag.ReplaceAllString(
				lines(b, d.source), " "))})
		}
	})
	return all
}

// spoken is the text below a node without code.
func spoken(n ast.Node, source []byte) string {
	return content(n, source, ast.KindCodeSpan)
}
