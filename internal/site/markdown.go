package site

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	markup "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is GitHub's dialect, for the documents are read there, too. They are
// this module's own, so HTML in them is let through: it folds the answers.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(markup.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(fences{}, 100))),
)

// Document is a Markdown text that was understood.
type Document struct {
	source []byte
	root   ast.Node
}

// Parse understands a Markdown text; every text is one.
func Parse(source string) *Document {
	d := &Document{source: []byte(source)}
	d.root = markdown.Parser().Parse(text.NewReader(d.source))
	return d
}

// HTML renders the document.
func (d *Document) HTML() (string, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, d.source, d.root)
	return b.String(), err
}

// Title is the text of the first heading, "" when there is none.
func (d *Document) Title() string {
	title := ""
	d.walk(func(n ast.Node) {
		if h, ok := n.(*ast.Heading); ok && title == "" {
			title = content(h, d.source)
		}
	})
	return title
}

// Anchors are the fragments that a link can lead to.
func (d *Document) Anchors() map[string]bool {
	anchors := map[string]bool{}
	d.walk(func(n ast.Node) {
		if _, ok := n.(*ast.Heading); ok {
			anchors[anchor(n)] = true
		}
	})
	return anchors
}

// anchor is the fragment that leads to a heading.
func anchor(n ast.Node) string {
	id, _ := n.AttributeString("id")
	name, _ := id.([]byte)
	return string(name)
}

// Links are the targets of all links and images, in order.
func (d *Document) Links() []string {
	var targets []string
	d.walk(func(n ast.Node) {
		switch l := n.(type) {
		case *ast.Link:
			targets = append(targets, string(l.Destination))
		case *ast.Image:
			targets = append(targets, string(l.Destination))
		case *ast.AutoLink:
			targets = append(targets, string(l.URL(d.source)))
		}
	})
	return targets
}

// Block is a piece of code in a document.
type Block struct {
	Language string // of a fence; "" for an indented block or a span of code
	Text     string
}

// Blocks are all pieces of code, in order.
func (d *Document) Blocks() []Block {
	var blocks []Block
	d.walk(func(n ast.Node) {
		switch c := n.(type) {
		case *ast.FencedCodeBlock:
			blocks = append(blocks, Block{Language: string(c.Language(d.source)), Text: lines(c, d.source)})
		case *ast.CodeBlock:
			blocks = append(blocks, Block{Text: lines(c, d.source)})
		case *ast.CodeSpan:
			blocks = append(blocks, Block{Text: strings.Join(strings.Fields(content(c, d.source)), " ")})
		}
	})
	return blocks
}

func (d *Document) walk(visit func(ast.Node)) {
	ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

// content is the text below a node.
func content(n ast.Node, source []byte) string {
	var b strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		switch c := child.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(source))
			if c.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		default:
			b.WriteString(strings.ReplaceAll(content(child, source), "\n", " ")) // code may be wrapped
		}
	}
	return b.String()
}

func lines(n ast.Node, source []byte) string { return string(n.Lines().Value(source)) }

// fences renders fenced code: colored, or in two panes.
type fences struct{}

func (fences) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte,
		n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		c := n.(*ast.FencedCodeBlock)
		language := string(c.Language(source))
		code := strings.TrimSuffix(lines(c, source), "\n")
		if language == "diff" { // the names of the two files come behind it
			w.WriteString(panes(code, strings.Fields(string(c.Info.Value(source)))[1:]))
		} else {
			fmt.Fprintf(w, "<pre class=\"code %s\"><code>%s</code></pre>\n", html.EscapeString(language),
				strings.Join(highlight(language, code), "\n"))
		}
		return ast.WalkContinue, nil
	})
}

// panes shows a diff as two texts side by side. A run of lines that are gone
// stands beside the run that came for it.
func panes(diff string, names []string) string {
	var before, after []string
	var marks []byte
	for line := range strings.SplitSeq(diff, "\n") {
		mark := byte(' ')
		if line != "" {
			mark, line = line[0], line[1:]
		}
		marks = append(marks, mark)
		if mark != '+' {
			before = append(before, line)
		}
		if mark != '-' {
			after = append(after, line)
		}
	}
	left := highlight("go", strings.Join(before, "\n"))
	right := highlight("go", strings.Join(after, "\n"))
	narrow := unified(marks, left, right)

	var b strings.Builder
	b.WriteString(`<div class="panes"><table>` + "\n")
	if len(names) == 2 {
		fmt.Fprintf(&b, "<tr><th>%s</th><th>%s</th></tr>\n", html.EscapeString(names[0]), html.EscapeString(names[1]))
	}
	row := func(class, was, is string) {
		fmt.Fprintf(&b, "<tr class=%q><td class=\"was\">%s</td><td class=\"is\">%s</td></tr>\n", class, was, is)
	}
	for i := 0; i < len(marks); {
		if marks[i] == ' ' {
			row("same", left[0], right[0])
			left, right = left[1:], right[1:]
			i++
			continue
		}
		gone, came := 0, 0
		for ; i < len(marks) && marks[i] != ' '; i++ {
			if marks[i] == '-' {
				gone++
			} else {
				came++
			}
		}
		for k := range max(gone, came) {
			switch {
			case k >= gone:
				row("came", "", right[k])
			case k >= came:
				row("gone", left[k], "")
			default:
				row("gone came", left[k], right[k])
			}
		}
		left, right = left[gone:], right[came:]
	}
	b.WriteString("</table></div>\n")
	return b.String() + narrow
}

// unified shows the same diff in one column, for a narrow screen.
func unified(marks []byte, left, right []string) string {
	var b strings.Builder
	b.WriteString(`<pre class="code unified"><code>`)
	for _, mark := range marks {
		switch mark {
		case '-':
			b.WriteString("<del>-" + left[0] + "</del>\n")
			left = left[1:]
		case '+':
			b.WriteString("<ins>+" + right[0] + "</ins>\n")
			right = right[1:]
		default:
			b.WriteString("<span> " + right[0] + "</span>\n") // a phone wraps it
			left, right = left[1:], right[1:]
		}
	}
	b.WriteString("</code></pre>\n")
	return b.String()
}
