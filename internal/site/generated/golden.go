package generated

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Update is the flag of tests that write what they make in place of comparing it. A page
// is their golden file, or a part of it.
var Update = flag.Bool("update", false, "write what these tests make into its files")

// Compare holds a part of a file below docs against what it should be, or writes it; part
// "" is the whole file.
func Compare(t testing.TB, file, part, want string) {
	t.Helper()
	if *Update {
		replace(t, file, part, want)
		return
	}
	assert.Equal(t, want, Text(t, file, part), "docs/%s is stale: -update writes it", file)
}

// Text is the present text of a part of a file below docs.
func Text(t testing.TB, file, part string) (text string) {
	t.Helper()
	edit(t, file, part, func(present string) string {
		text = present
		return present
	})
	return text
}

// writing is held while a test writes: tests run beside each other.
var writing sync.Mutex

// replace writes a part of a file below docs.
func replace(t testing.TB, file, part, text string) {
	t.Helper()
	writing.Lock()
	defer writing.Unlock()
	name, document := edit(t, file, part, func(string) string { return text })
	if err := os.WriteFile(name, []byte(document), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit returns the name of a file below docs, and its text with another part.
func edit(t testing.TB, file, part string, other func(present string) string) (
	name, document string) {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(root, "docs", filepath.FromSlash(file))
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	document = strings.ReplaceAll(string(content), "\r\n", "\n")
	if part == "" {
		return name, other(document)
	}
	missing := true
	document, err = Rewrite(document, func(_, name, present string) (string, error) {
		if name != part {
			return present, nil
		}
		missing = false
		return other(present), nil
	})
	if err == nil && missing {
		err = fmt.Errorf("it has no generated part %q", part)
	}
	if err != nil {
		t.Fatalf("docs/%s: %v", file, err)
	}
	return name, document
}

const module = "github.com/lockladder/lockladder"

// Root is the directory that the documents and the code are read from: this
// module's, somewhere above the working directory.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not within the module %s: start it in"+
				" a checkout", start, module)
		}
	}
}
