package ladder_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/flaws"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/lock"
)

func TestEveryRungSaysWhatItIs(t *testing.T) {
	seen := map[string]bool{"": true}
	var steps []string
	for _, rung := range ladder.Rungs {
		if rung.Step > 0 {
			steps = append(steps, rung.Name)
		}
		parent, err := ladder.Find(rung.Parent)
		assert.True(t, err == nil && parent.Arc != rung.Arc || seen[rung.Parent],
			"the parent of %s precedes it, or is in another arc", rung.Name)
		assert.False(t, seen[rung.Name], "%s is there twice", rung.Name)
		seen[rung.Name] = true
		assert.NotEmpty(t, rung.Idea)
		assert.NotEmpty(t, rung.Arc.Asks())
		assert.Equal(t, rung.Arc == ladder.Safety, rung.Step > 0)
		assert.NotEmpty(t, rung.Flaws, "no lock is perfect")
	}
	for i, step := range flaws.Safety {
		assert.Equal(t, step.Rung, steps[i], "package flaws has the same arc of safety")
	}
}

func TestFindListsTheRungsWhenThereIsNoSuchOne(t *testing.T) {
	_, err := ladder.Find("lead")
	assert.ErrorContains(t, err, `there is no rung "lead", the rungs are bronze, silver, `)
	_, err = ladder.Find("gold/")
	assert.EqualError(t, err, `there is no rung "gold/", did you mean gold/script, gold?`)
}

// clientOf is one of a server that does not exist: nothing here sends a command.
func clientOf(t *testing.T, port int) redis.UniversalClient {
	rdb := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", port)})
	t.Cleanup(func() { assert.NoError(t, rdb.Close()) })
	return rdb
}

func env(t *testing.T, nodes int) lock.Env {
	e := lock.Env{Key: "stock", TTL: 10 * time.Second}
	for port := range nodes {
		e.Nodes = append(e.Nodes, clientOf(t, port+1))
	}
	return e
}

// Package lock tests what else is refused.
func TestEveryRungRefusesBadArguments(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		for i, spoil := range []func(*lock.Env){
			func(e *lock.Env) { e.Key = "" },
			func(e *lock.Env) { e.TTL = 0 },
			func(e *lock.Env) { e.Nodes = nil },
			func(e *lock.Env) { e.Nodes[0] = (*redis.Client)(nil) },
			func(e *lock.Env) { e.Options = []lock.Option{nil} },
		} {
			e := env(t, rung.Nodes)
			spoil(&e)
			l, err := rung.Build(e)
			require.ErrorIs(t, err, lock.ErrInvalid, "%d", i)
			// A nil pointer in the interface would pass for a lock.
			assert.True(t, l == nil, "no lock comes with an error")
		}
	})
}

// Nothing would be left of such a lease when a majority has granted it.
func TestRedlockRefusesALeaseThatItsDriftTakes(t *testing.T) {
	rung, err := ladder.Find("redlock")
	require.NoError(t, err)
	e := env(t, rung.Nodes)
	e.TTL = 2 * time.Millisecond
	l, err := rung.Build(e)
	require.ErrorIs(t, err, lock.ErrInvalid)
	assert.EqualError(t, err, "invalid argument: the ttl is 2ms, and the drift"+
		" of clocks takes 2.02ms of it")
	assert.True(t, l == nil, "no lock comes with an error")
	e.TTL = 3 * time.Millisecond
	_, err = rung.Build(e)
	assert.NoError(t, err)
}

func TestEveryRungIsBuiltOfGoodArguments(t *testing.T) {
	forEach(t, func(t *testing.T, rung ladder.Rung) {
		l, err := rung.Build(env(t, rung.Nodes))
		require.NoError(t, err)
		require.NotNil(t, l)
		other, err := rung.Build(env(t, rung.Nodes))
		require.NoError(t, err)
		assert.NotSame(t, l, other, "each is an owner of its own")
		_, tells := l.(lock.LossNotifier)
		assert.Equal(t, rung.Renews, tells, "what renews tells of a loss")
	})
}

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
