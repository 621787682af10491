// Package generated keeps the generated parts of documents fresh.
package generated

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Fresh compares one generated part of a file, between two comments that name it,
// with what it should be. With update it rewrites it.
func Fresh(t *testing.T, update bool, file, part, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin := fmt.Sprintf("<!-- generated: %s -->\n", part)
	end := fmt.Sprintf("<!-- end of %s -->", part)
	before, rest, found := strings.Cut(string(content), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no part between %q and %q", file, begin, end)
	}
	if got == want {
		return
	}
	if !update {
		t.Fatalf("%s: the part %q is stale, run go test with -update here; it"+
			" should be\n%s", file, part, want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after),
		0o644); err != nil {
		t.Fatal(err)
	}
}

// Table is a Markdown table whose first column is left-aligned.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(head, " | "),
		strings.Repeat(":-:|", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// Block is text that is shown as it is.
func Block(text string) string {
	return "```\n" + strings.TrimSpace(strings.Trim(text, "\n")) + "\n```\n"
}
