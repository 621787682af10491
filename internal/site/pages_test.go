package site

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/scenarios"
)

const before = `package p

import "fmt"

// T is a type.
type T struct{ a int }

// M is a method.
func (t *T) M() { fmt.Println(t.a) } // and more

var x, y = 1, 2
`

const after = `package p

// T is a type.
type T struct {
	a int

	b int
}

// M is a method.
func (t *T) M() {}

// N is new.
func N() {}
`

func TestDeclarationsAreFoundByName(t *testing.T) {
	text, err := Extract(before, "T.M", "x, y")
	require.NoError(t, err)
	assert.Equal(t, "// M is a method.\nfunc (t *T) M() { fmt.Println(t.a) }"+
		" // and more\n\nvar x, y = 1, 2\n", text)

	_, err = Extract(before, "M")
	assert.ErrorContains(t, err, `"M", there are T; T.M; x, y`)
	_, err = Extract("package", "M")
	assert.Error(t, err)
}

func TestADiffShowsWholeDeclarations(t *testing.T) {
	text, err := Diff(before, after, "T", "x, y", "N")
	require.NoError(t, err)
	assert.Equal(t, ` // T is a type.
-type T struct{ a int }
+type T struct {
+	a int
+
+	b int
+}
 
-var x, y = 1, 2
 
+// N is new.
+func N() {}
`, text)
	_, err = Diff(before, before, "T")
	assert.ErrorContains(t, err, `"T" does not differ`)
}

func TestPanesPairWhatIsGoneWithWhatCame(t *testing.T) {
	html := panes(" a\n-b\n-c\n+d\n e", []string{"x.go", "y.go"})
	rows := strings.Split(html, "\n")
	assert.Contains(t, rows[1], "<th>x.go</th><th>y.go</th>")
	assert.Equal(t, `<tr class="same"><td class="was">a</td>`+
		`<td class="is">a</td></tr>`, rows[2])
	assert.Equal(t, `<tr class="gone came"><td class="was">b</td>`+
		`<td class="is">d</td></tr>`, rows[3])
	assert.Equal(t, `<tr class="gone"><td class="was">c</td>`+
		`<td class="is"></td></tr>`, rows[4])
	assert.Contains(t, html, `<span class="gone">-c</span>`)
}

func TestASequenceEndsWithTheBreak(t *testing.T) {
	at := func(ms int, client, text, reply string) *lab.Entry {
		node := 0
		if reply == "" {
			node = -1
		}
		return &lab.Entry{At: time.Duration(ms) * time.Millisecond, Node: node,
			Client: client, Text: text, Reply: reply}
	}
	text, err := Sequence(scenarios.Result{
		Invariant: "two holders",
		BrokenAt:  4,
		Sequence: []*lab.Entry{
			at(1, "A", "SET k A#1; {x}", "OK"),
			at(2, "B", "SET k B#1", "nil"),
			at(3, "B", "SET k B#2", "nil"),
			at(4, "B", "SET k B#3", "nil"),
			at(5, "B", "TryLock returns true", ""),
			at(6, "B", "is not shown", ""),
		},
	})
	require.NoError(t, err)
	assert.Equal(t, `sequenceDiagram
    participant A
    participant B
    participant Redis
    A->>Redis: 0.001 s<br/>SET k A#35;1#59; #123;x#125;<br/>→ OK
    B->>Redis: 0.002 s<br/>SET k B#35;1<br/>→ nil
    Note over A,Redis: 2 more like these, until 0.004 s
    rect rgba(220, 40, 40, 0.25)
    Note over B: 0.005 s<br/>TryLock returns true
    Note over A,Redis: ✗ two holders at 0.005 s
    end
`, text)

	_, err = Sequence(scenarios.Result{BrokenAt: -1, Verdict: scenarios.Holds})
	assert.ErrorContains(t, err, "there is no break to draw")
}

func TestHighlightKeepsEveryLine(t *testing.T) {
	text := "package p\n\n// <a>\nvar s = `x\ny` + \"<\"\n"
	lines := highlight("go", text)
	assert.Equal(t, []string{
		`<span class="keyword">package</span> p`,
		``,
		`<span class="comment">// &lt;a&gt;</span>`,
		"<span class=\"keyword\">var</span> s = <span class=\"string\">`x</span>",
		"<span class=\"string\">y`</span> + <span class=\"string\">&#34;&lt;" +
			"&#34;</span>",
		``,
	}, lines)
}

func TestADocumentTellsItsLinksAnchorsAndBlocks(t *testing.T) {
	d := Parse("# One `two`\n\n[x](a.md#b) `go  test`\n\n    $ ls\n\n" +
		"```go\nvar x int\n```\n")
	assert.Equal(t, "One two", d.Title())
	assert.Equal(t, []string{"a.md#b"}, d.Links())
	assert.True(t, d.Anchors()["one-two"])
	assert.Equal(t, []Block{
		{Inline: true, Text: "two"},
		{Inline: true, Text: "go test"},
		{Text: "$ ls\n"},
		{Language: "go", Text: "var x int\n"},
	}, d.Blocks())
}

func TestAnExamplesOutputIsFound(t *testing.T) {
	source := "package p\n\nfunc ExampleT() {\n\tprintln()\n\t// Output:\n" +
		"\t// 1\n\t// 2\n}\n"
	text, err := Output(source, "T")
	require.NoError(t, err)
	assert.Equal(t, "1\n2\n", text)
	_, err = Output(source, "U")
	assert.ErrorContains(t, err, `no example "U", there are T`)
}
