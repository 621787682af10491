package site

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPanesPairWhatIsGoneWithWhatCame(t *testing.T) {
	html := panes(" a\n-b\n-c\n+d\n e", []string{"x.go", "y.go"})
	rows := strings.Split(html, "\n")
	assert.Contains(t, rows[1], "<th>x.go</th><th>y.go</th>")
	assert.Equal(t, `<tr class="same"><td class="was">a</td>`+
		`<td class="is">a</td></tr>`, rows[2])
	assert.Equal(t, `<tr class="gone came"><td class="was">b</td>`+
		`<td class="is">d</td></tr>`, rows[3])
	assert.Equal(t, `<tr class="gone"><td class="was">c</td><td class="is"></td></tr>`, rows[4])
	assert.Contains(t, html, `<del>-c</del>`)
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
