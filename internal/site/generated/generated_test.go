package generated

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios"
)

func TestAPartIsRewrittenAndTheRestStays(t *testing.T) {
	document := "a\n<!-- generated: x y -->\nold\n<!-- end of x y -->\nb\n" +
		"<!-- generated: z -->\n<!-- end of z -->\nc"
	names, texts, err := Parts(document)
	require.NoError(t, err)
	assert.Equal(t, []string{"x y", "z"}, names)
	assert.Equal(t, map[string]string{"x y": "old\n", "z": ""}, texts)

	got, err := Rewrite(document, func(name, _ string) (string, error) {
		return "new " + name + "\n", nil
	})
	require.NoError(t, err)
	assert.Equal(t, "a\n<!-- generated: x y -->\nnew x y\n<!-- end of x y -->"+
		"\nb\n<!-- generated: z -->\nnew z\n<!-- end of z -->\nc", got)
}

func TestADocumentIsLeftAloneWhenAPartIsWrong(t *testing.T) {
	for name, document := range map[string]string{
		"no end":       "<!-- generated: x -->\nold\n",
		"another end":  "<!-- generated: x -->\nold\n<!-- end of y -->\n",
		"not a line":   "<!-- generated: x\n",
		"nobody makes": "<!-- generated: no -->\n<!-- end of no -->\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Rewrite(document, func(string, string) (string, error) {
				return "", errors.New("nobody")
			})
			assert.Error(t, err)
			assert.Equal(t, document, got)
		})
	}
}

func TestEachPartIsMadeByOneTest(t *testing.T) {
	for _, c := range []struct{ file, part, name string }{
		{"benchmark.md", "costs of 100", "costs"}, {"polling.md", "curve", "costs"},
		{"explorer.md", "waiting mutants", "waiting-mutants"},
		{"explorer.md", "mutants", "explorer"}, {"benchmark-serial.svg", "", "picture"},
		{"results/etcd.json", "", "etcd"},
	} {
		test, found := Find(c.file, c.part)
		assert.True(t, found, c.file)
		assert.Equal(t, c.name, test.Name, c.part)
	}
	for _, c := range []struct{ file, part string }{{"benchmark.md", "costs"},
		{"benchmark.md", ""}, {"alternatives.md", "mysql"}, {"other.md", "curve"}} {
		_, found := Find(c.file, c.part)
		assert.False(t, found, "%s: %s", c.file, c.part)
	}
}

func TestANameThatThereIsNotIsRefusedInOneLine(t *testing.T) {
	err := Run(t.Context(), t.TempDir(), "brass", nil)
	require.ErrorContains(t, err, `by the name "brass", the names are cache, costs`)
}

// Whether a situation arose may depend on the machine.
func TestResultsAreStaleWhenALockBreaksSomethingElse(t *testing.T) {
	lock := func(name string, verdict scenarios.Verdict) Lock {
		return Lock{Name: name, Verdicts: map[string]scenarios.Verdict{"gone: orphaned": verdict}}
	}
	kept := []Lock{lock("a", scenarios.Breaks), lock("b", scenarios.Holds)}
	assert.Empty(t, differences(kept, []Lock{lock("a", scenarios.Breaks),
		lock("b", scenarios.DoesNotArise)}))
	assert.Empty(t, differences(kept, []Lock{{Name: "a"}, {Name: "b"}}), "-run names others")
	assert.Len(t, differences(kept, []Lock{lock("a", scenarios.Holds),
		lock("b", scenarios.Breaks)}), 2)
	assert.Len(t, differences(kept, kept[:1]), 1, "another lock")
}
