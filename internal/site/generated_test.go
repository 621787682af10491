package site_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
)

func TestAPartIsRewrittenAndTheRestStays(t *testing.T) {
	document := "a\n<!-- generated: x y -->\nold\n<!-- end of x y -->\nb\n" +
		"<!-- generated: z -->\n<!-- end of z -->\nc"
	names, texts, err := generated.Parts(document)
	require.NoError(t, err)
	assert.Equal(t, []string{"x y", "z"}, names)
	assert.Equal(t, map[string]string{"x y": "old\n", "z": ""}, texts)

	got, err := generated.Rewrite(document, func(name, _ string) (string, error) {
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
			got, err := generated.Rewrite(document, func(string, string) (string, error) {
				return "", errors.New("nobody")
			})
			assert.Error(t, err)
			assert.Equal(t, document, got)
		})
	}
}

func part(file, name, text string) generated.Made {
	return generated.Made{File: file, Part: name, Text: text}
}

func TestOnlyWhatTestsMadeIsWritten(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.md")
	require.NoError(t, os.WriteFile(file, []byte("<!-- generated: x -->\r\n1\r\n"+
		"<!-- end of x -->\n<!-- generated: y -->\n2\n<!-- end of y -->\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "same.svg"), []byte("6"), 0o600))
	var said strings.Builder
	require.NoError(t, generated.Write(dir, []generated.Made{part("a.md", "x", "3\n"),
		part("b.svg", "", "4"), part("a.md", "y", "5\n"), part("same.svg", "", "6")},
		&said))
	assert.Equal(t, "docs/a.md\ndocs/b.svg\n", said.String(), "what has changed")
	for name, want := range map[string]string{"a.md": "<!-- generated: x -->\n3\n" +
		"<!-- end of x -->\n<!-- generated: y -->\n5\n<!-- end of y -->\n",
		"b.svg": "4"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	require.Error(t, generated.Write(dir, []generated.Made{part("c.md", "x", "")}, &said))
}

func TestATestThatMakesTooLittleIsNoticed(t *testing.T) {
	made := []generated.Made{part("a.md", "x 1", ""), part("results/n.json", "", "")}
	test := generated.Test{Name: "n", Page: "a.md", Parts: []string{"x"}, Results: []string{"m"}}
	assert.Empty(t, test.Missing(made))
	assert.Equal(t, []string{"a.md x"}, test.Missing(made[1:]))
	assert.Equal(t, []string{"results/n.json"}, test.Missing(made[:1]))
	assert.Equal(t, []string{"b.svg"}, generated.Test{Page: "b.svg"}.Missing(made))
}

func TestEachPartIsMadeByOneTest(t *testing.T) {
	for _, c := range []struct{ file, part, name string }{
		{"benchmark.md", "costs of 100", "costs"}, {"polling.md", "curve", "costs"},
		{"explorer.md", "waiting mutants", "waiting-mutants"},
		{"explorer.md", "mutants", "explorer"}, {"benchmark-serial.svg", "", "picture"},
		{"results/etcd.json", "", "etcd"},
	} {
		test, found := generated.Find(c.file, c.part)
		assert.True(t, found, c.file)
		assert.Equal(t, c.name, test.Name, c.part)
	}
	for _, c := range []struct{ file, part string }{{"benchmark.md", "costs"},
		{"benchmark.md", ""}, {"alternatives.md", "mysql"}, {"other.md", "curve"}} {
		_, found := generated.Find(c.file, c.part)
		assert.False(t, found, "%s: %s", c.file, c.part)
	}
}

func TestANameThatThereIsNotIsRefusedInOneLine(t *testing.T) {
	err := generated.Run(t.Context(), t.TempDir(), "brass", nil)
	require.ErrorContains(t, err, `by the name "brass", the names are cache, costs`)
}
