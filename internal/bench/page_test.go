package bench_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site/generated"
)

// committed reads the run that lies in docs.
func committed(t *testing.T) (r bench.Report) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmark.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &r))
	return r
}

func written(t *testing.T, write func(bench.Report, io.Writer) error, r bench.Report) string {
	var out strings.Builder
	require.NoError(t, write(r, &out))
	return out.String()
}

func TestThePicturesAreDrawnFromTheCommittedRun(t *testing.T) {
	for _, p := range bench.Pictures {
		generated.Compare(t, "benchmark-"+p.Name+".svg", "", written(t, p.Draw, committed(t)))
	}
}

func TestThePageHasThePicturesAndNeedsNothingElse(t *testing.T) {
	r := committed(t)
	r.Env.CPU, r.Env.Interrupted = new("A <fast> one"), true
	page := written(t, bench.WritePage, r)
	assert.Contains(t, written(t, bench.Pictures[0].Draw, r), "A &lt;fast&gt; one")
	assert.Contains(t, page, "A &lt;fast&gt; one")
	assert.Equal(t, len(bench.Pictures), strings.Count(page, "<section>"))
	assert.Contains(t, page, "This is part of a run")
	assert.Contains(t, page, "<dt>in order</dt><dd>pairs of clients")
	assert.Regexp(t, `<td>\d+<em class="dim tight"><br>[\d.]+–[\d.]+ × reentrant</em>`, page, "notify's speed, next to the lock it is made of")
	assert.NotContains(t, page, "ZgotmplZ")
	assert.NotContains(t, strings.ReplaceAll(page, `<a href="https://github.com/lockladder/lockladder/blob/main/docs/`, ""), "://")
	assert.NotRegexp(t, `<(script|img|link|iframe)[^>]*(src|href)=`, page)
}

func TestTheCommittedRunNamesItsEnvironment(t *testing.T) {
	r := committed(t)
	assert.Equal(t, "redis", r.Env.Server)
	for _, named := range []any{r.Env.ServerVersion, r.Env.CPU, r.Env.Commit, r.Env.Pinned} {
		assert.NotNil(t, named)
	}
	assert.NotContains(t, *r.Env.Commit, "+", "the code of a commit")
	assert.False(t, r.Env.Interrupted)
	measured := map[string]bool{}
	for _, row := range r.Rows {
		assert.Greater(t, len(row.Rounds), 2, row.Name())
		measured[fmt.Sprint(row.Name(), " ", row.Count("clients"))] = true
	}
	for _, rung := range ladder.Rungs {
		for _, clients := range []int{1, 100, 1000} {
			assert.Contains(t, measured, fmt.Sprint(rung.Name, " ", clients))
		}
	}
}
