package generated

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios"
)

func TestAPartIsRewrittenAndTheRestStays(t *testing.T) {
	document := "a\n<!-- generated: x y -->\nold\n<!-- end of x y -->\nb\n" +
		"<!-- generated: z -->\n<!-- end of z -->\nc"
	got, err := Rewrite(document, func(name, old string) (string, error) {
		return old + "new " + name + "\n", nil
	})
	require.NoError(t, err)
	assert.Equal(t, "a\n<!-- generated: x y -->\nold\nnew x y\n<!-- end of x y -->"+
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

// Whether a situation arose may depend on the machine.
func TestResultsAreStaleWhenALockBreaksSomethingElse(t *testing.T) {
	lock := func(name string, verdict scenarios.Verdict) Lock {
		return Lock{Name: name, Verdicts: map[string]scenarios.Verdict{"gone: orphaned": verdict}}
	}
	kept := []Lock{lock("a", scenarios.Breaks), lock("b", scenarios.Holds)}
	stale := func(is ...Lock) bool {
		return !reflect.DeepEqual(broken(kept, is), broken(is, is))
	}
	assert.False(t, stale(lock("a", scenarios.Breaks), lock("b", scenarios.DoesNotArise)))
	assert.False(t, stale(Lock{Name: "a"}, Lock{Name: "b"}), "-run names others")
	assert.True(t, stale(lock("a", scenarios.Holds), lock("b", scenarios.Holds)))
	assert.True(t, stale(lock("a", scenarios.Breaks), lock("b", scenarios.Breaks)))
	assert.True(t, stale(kept[0]), "another lock")
}
