package explore_test

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/scenarios/explore"
)

// docs/explorer.md names everything that a reader can meet.
func TestThePageNamesEverything(t *testing.T) {
	page := generated.Text(t, document, "")
	for _, invariant := range explore.Invariants {
		assert.Contains(t, page, "**"+string(invariant)+"**")
	}
	for _, program := range explore.Programs {
		assert.Contains(t, page, "- `"+string(program)+"`: ")
	}
	for _, sign := range ">< = ~ ! ? x z w" {
		if sign != ' ' {
			assert.Contains(t, page, "| `A"+string(sign)+"` | ")
		}
	}
	bounds := reflect.TypeFor[explore.Bounds]()
	for i := range bounds.NumField() {
		assert.Regexp(t, `\b`+bounds.Field(i).Name+`\b`, page)
	}
}

// Every command on the pages asks for tests and flags that there are.
func TestTheCommandsOnThePagesAreThere(t *testing.T) {
	var tests []string
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).
			FindAllStringSubmatch(string(source), -1) {
			tests = append(tests, m[1])
		}
	}
	command := regexp.MustCompile(`(?m)^    (go test \./scenarios/explore.*)$`)
	word := regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	found := 0
	for _, page := range []string{document, "claims.md"} {
		for _, m := range command.FindAllStringSubmatch(generated.Text(t, page, ""),
			-1) {
			found++
			words := word.FindAllString(m[1], -1)[3:]
			for i, w := range words {
				name, isFlag := strings.CutPrefix(w, "-")
				if !isFlag {
					continue
				}
				switch name {
				case "v", "timeout": // go test's own
				case "run":
					run := regexp.MustCompile(strings.Trim(words[i+1], "'"))
					assert.True(t, strings.Contains(strings.Join(tests, " "), "Test") &&
						len(run.FindString(strings.Join(tests, "\n"))) > 0, m[1])
				default:
					assert.NotNil(t, flag.Lookup(name), m[1])
				}
			}
		}
	}
	assert.Greater(t, found, 6)
}

// The example on the page is the one that is tested.
func TestTheExampleOnThePageIsTheOneThatRuns(t *testing.T) {
	source, err := os.ReadFile("own_lock_test.go")
	require.NoError(t, err)
	_, code, found := strings.Cut(string(source), "type myLock")
	require.True(t, found)
	generated.Compare(t, document, "own", generated.Fence("go", "type myLock"+code))
}
