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
	test, found := Find(file, part)
	if !found {
		t.Fatalf("generated.Tests names nobody who makes the part %q of %s", part,
			file)
	}
	if *Update {
		if err := write(file, part, want); err != nil {
			t.Fatalf("write docs/%s: %v", file, err)
		}
		return
	}
	assert.Equal(t, want, Text(t, file, part), "docs/%s is stale, run go run ./docs"+
		" -generate %s", file, test.Name)
}

// writing is held while a test writes: tests run beside each other.
var writing sync.Mutex

// write writes a part of a file below docs.
func write(file, part, text string) error {
	writing.Lock()
	defer writing.Unlock()
	root, err := Root()
	if err != nil {
		return err
	}
	name := filepath.Join(root, "docs", filepath.FromSlash(file))
	if part == "" {
		return os.WriteFile(name, []byte(text), 0o644)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	missing := true
	document, err := Rewrite(strings.ReplaceAll(string(content), "\r\n", "\n"),
		func(name, present string) (string, error) {
			if name != part {
				return present, nil
			}
			missing = false
			return text, nil
		})
	if err == nil && missing {
		err = fmt.Errorf("it has no generated part %q", part)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, []byte(document), 0o644)
}

// Text is the present text of a part of a file below docs.
func Text(t testing.TB, file, part string) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", file))
	if err != nil {
		t.Fatal(err)
	}
	document := strings.ReplaceAll(string(content), "\r\n", "\n")
	if part == "" {
		return document
	}
	_, texts, err := Parts(document)
	if err != nil {
		t.Fatalf("docs/%s: %v", file, err)
	}
	text, found := texts[part]
	if !found {
		t.Fatalf("docs/%s has no generated part %q", file, part)
	}
	return text
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
