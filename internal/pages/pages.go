// Package pages makes the workshop's documents from the running code: it
// rewrites their generated parts, finds the commands and links that they show,
// and serves them as a site.
package pages

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
// the part's name. A part stands between the lines
//
//	<!-- generated: name -->
//	<!-- end of name -->
//
// Its errors name the part; the document is returned unchanged then.
func Rewrite(document string, make func(name string) (string, error)) (
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
			return document, fmt.Errorf("the line %q does not end with %q",
				partBegins+firstLine(name), closes)
		}
		end := partEnds + name + closes
		_, after, found = strings.Cut(after, end)
		if !found {
			return document, fmt.Errorf("the part %q has no line %q", name, end)
		}
		text, err := make(name)
		if err != nil {
			return document, fmt.Errorf("the part %q: %w", name, err)
		}
		b.WriteString(partBegins + name + closes + "\n" + text + end)
		rest = after
	}
}

// Parts are the names of a document's generated parts, in order.
func Parts(document string) ([]string, error) {
	var names []string
	_, err := Rewrite(document, func(name string) (string, error) {
		names = append(names, name)
		return "", nil
	})
	return names, err
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
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
