// Package generated has the generated parts of documents: the marks around them,
// the list of those that tests make, and the comparison that these tests share.
package generated

import (
	"fmt"
	"strings"
)

const (
	partBegins = "<!-- generated: "
	partEnds   = "<!-- end of "
	closes     = " -->"
)

// Rewrite replaces every generated part of a document by what make returns for
// the part's name and its present text. A part stands between the lines
//
//	<!-- generated: name -->
//	<!-- end of name -->
//
// Its errors name the part; the document is returned unchanged then.
func Rewrite(document string, make func(name, present string) (string, error)) (
	string, error) {
	var b strings.Builder
	rest := document
	for {
		before, after, found := strings.Cut(rest, partBegins)
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, found := strings.Cut(after, closes+"\n")
		if !found || strings.Contains(name, "\n") {
			line, _, _ := strings.Cut(name, "\n")
			return document, fmt.Errorf("the line %q does not end with %q",
				partBegins+line, closes)
		}
		end := partEnds + name + closes
		present, after, found := strings.Cut(after, end)
		if !found {
			return document, fmt.Errorf("the part %q has no line %q", name, end)
		}
		text, err := make(name, present)
		if err != nil {
			return document, fmt.Errorf("the part %q: %w", name, err)
		}
		b.WriteString(partBegins + name + closes + "\n" + text + end)
		rest = after
	}
}

// Parts are a document's generated parts: their names, in order, and their texts.
func Parts(document string) (names []string, texts map[string]string, err error) {
	texts = map[string]string{}
	_, err = Rewrite(document, func(name, present string) (string, error) {
		names = append(names, name)
		texts[name] = present
		return present, nil
	})
	return names, texts, err
}

// Fence is a fenced code block. The fence is longer than any in the text.
func Fence(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" +
		fence + "\n"
}

// Block is text that is shown as it is.
func Block(text string) string {
	return Fence("", strings.TrimSpace(text))
}

// Table is a Markdown table. So many of its first columns are left-aligned; the
// others are centered.
func Table(left int, head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s%s\n", strings.Join(head, " | "),
		strings.Repeat("---|", left), strings.Repeat(":-:|", len(head)-left))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// Played is text that leads to a run or a level on the site. The site makes their files,
// so that elsewhere, such as on GitHub, it leads nowhere.
func Played(text, file string) string {
	return fmt.Sprintf("<a data-site=%q>%s</a>", file, text)
}
