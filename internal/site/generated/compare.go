package generated

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// deliveries names the file in which tests leave what they make for the generator
// that runs them. Without it they compare.
const deliveries = "LOCKLADDER_GENERATE"

// Made is what a test has made: a part of a file below docs, or with no name of a
// part the whole file.
type Made struct{ File, Part, Text string }

// Compare holds a part of a file below docs against what it should be; part "" is
// the whole file. The generator, when it runs the test, is given the text instead.
func Compare(t testing.TB, file, part, want string) {
	t.Helper()
	test, found := Find(file, part)
	if !found {
		t.Fatalf("generated.Tests names nobody who makes the part %q of %s", part,
			file)
	}
	if Deliver(t, file, part, want) {
		return
	}
	assert.Equal(t, want, Text(t, file, part), "docs/%s is stale, run go run ./docs"+
		" -generate %s", file, test.Name)
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

// delivering is held while a test delivers: tests run beside each other.
var delivering sync.Mutex

// Deliver gives the generator what a test has made, if the generator runs the test.
func Deliver(t testing.TB, file, part, text string) (delivered bool) {
	t.Helper()
	to := os.Getenv(deliveries)
	if to == "" {
		return false
	}
	delivering.Lock()
	defer delivering.Unlock()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatalf("deliver to the generator: %v", err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(Made{file, part, text}); err != nil {
		t.Fatalf("deliver to the generator: %v", err)
	}
	return true
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
