package pages_test

import (
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/pages"
)

func TestTheSiteLeavesOutWhatOtherToolsHaveBuilt(t *testing.T) {
	site := pages.NewSite(fstest.MapFS{
		"docs/README.md":            {Data: []byte("# The workshop\n")},
		"java/pom.xml":              {Data: []byte("<project/>")},
		"java/target/program.jar":   {Data: []byte("\x00\xff")},
		"java/.venv/bin/python":     {Data: []byte("\x00\xff")},
		"java/node_modules/left.js": {Data: []byte("")},
	})
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", "/java", nil))
	assert.Contains(t, w.Body.String(), `<a href="/java/pom.xml">`)
	for _, built := range []string{"target", ".venv", "node_modules"} {
		assert.NotContains(t, w.Body.String(), built)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", "/java/"+built, nil))
		assert.Equal(t, 404, w.Code, built)
	}
}
