package ladder_test

import (
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/lock"
)

// forEach runs a test for every rung.
func forEach(t *testing.T, test func(*testing.T, ladder.Rung)) {
	for _, rung := range ladder.Rungs {
		t.Run(rung.Name, func(t *testing.T) { test(t, rung) })
	}
}

// The diff of two rungs is the lesson, so the ladder says what it consists of, and what
// both have stands in the same order. The code below the imports is compared, comments
// included.
func TestARungChangesWhatTheLadderSays(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		if rung.Parent == "" {
			return
		}
		before, order := declarations(t, rung.Parent)
		after, present := declarations(t, rung.Name)
		var changes []string
		for key := range maps.Keys(after) {
			if before[key] != after[key] {
				changes = append(changes, key)
			}
		}
		for key := range before {
			if _, ok := after[key]; !ok {
				changes = append(changes, key)
			}
		}
		assert.ElementsMatch(t, rung.Changes, changes, "what differs from %s", rung.Parent)
		assert.Equal(t, only(order, after), only(present, before), "the order of declarations")
	})
}

// only keeps the keys that others has as well.
func only(keys []string, others map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		_, ok := others[key]
		return !ok
	})
}

// declarations are those of a rung's lock.go as a reader sees them: with the comments
// above, also those that belong to nothing. Their keys, such as "New", "Lock.TryLock" and
// "_" for the assertions of interfaces, are in the order in which they come first.
func declarations(t *testing.T, rung string) (texts map[string]string, order []string) {
	text := read(t, rung+"/lock.go")
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, rung, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	texts = map[string]string{}
	add := func(key, text string) {
		if text = strings.TrimSpace(text); key == "" || text == "" {
			return
		}
		if _, known := texts[key]; !known {
			order = append(order, key)
		}
		texts[key] += text + "\n"
	}
	done := set.Position(parsed.Name.End()).Offset
	for _, node := range parsed.Decls {
		end := set.Position(node.End()).Offset
		end += max(strings.IndexByte(text[end:], '\n'), 0) // a comment behind belongs to it
		add(site.Declared(node), text[done:end])
		done = end
	}
	add("the end", text[done:])
	return texts, order
}

// A rung that releases other clients' locks is there to be read, and has no example.
func TestEveryRungHasTheSameFiles(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		files := []string{"doc.go", "lock.go", "lock_test.go"}
		if !slices.ContainsFunc(rung.Flaws, func(flaw lock.Flaw) bool {
			return flaw.Invariant == "foreign release"
		}) {
			files = append(files, "example_test.go")
		}
		for _, name := range files {
			assert.FileExists(t, filepath.Join(root, filepath.FromSlash(rung.Name), name))
		}
	})
}

var documented = regexp.MustCompile(`(?m)-red=(\w+)|^//   - ([a-z_]+(?:, [a-z_]+)*): `)

// A rung's documentation names only scenarios that the rung breaks, and one at least.
func TestDocNamesFlawsOfItsRung(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		_, breaks, _ := strings.Cut(read(t, rung.Name+"/doc.go"), "// # What still breaks\n")
		all := documented.FindAllStringSubmatch(breaks, -1)
		require.NotEmpty(t, all)
		for _, found := range all {
			for scenario := range strings.SplitSeq(found[1]+found[2], ", ") {
				assert.True(t, slices.ContainsFunc(rung.Flaws, func(flaw lock.Flaw) bool {
					return flaw.Scenario == scenario
				}), "%s does not break %q", rung.Name, scenario)
			}
		}
	})
}
