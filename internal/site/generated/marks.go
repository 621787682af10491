package generated

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	begins = regexp.MustCompile(`<!-- generated: ([^\n]*?)(?: -->)?\n`)
	whole  = regexp.MustCompile(`(?s)(<!-- generated: ([^\n]*?) -->\n)(.*?)(<!-- end of ([^\n]*?) -->)`)
)

// Rewrite replaces every generated part of a document by what make returns for
// the part's name and its present text. A part stands between the lines
//
//	<!-- generated: name -->
//	<!-- end of name -->
//
// Its errors name the part; the document is returned unchanged then.
func Rewrite(document string, make func(name, present string) (string, error)) (
	rewritten string, failed error) {
	begun := begins.FindAllStringSubmatch(document, -1)
	rewritten = whole.ReplaceAllStringFunc(document, func(part string) string {
		m := whole.FindStringSubmatch(part)
		begun = begun[1:]
		text, err := make(m[2], m[3])
		if m[5] != m[2] {
			err = fmt.Errorf("it ends with %q", m[4])
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("the part %q: %w", m[2], err)
		}
		return m[1] + text + m[4]
	})
	if len(begun) > 0 && failed == nil {
		failed = fmt.Errorf("the last %d parts that begin, such as %q, don't end",
			len(begun), begun[0][1])
	}
	if failed != nil {
		return document, failed
	}
	return rewritten, nil
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
