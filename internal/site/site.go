// Package site reads the workshop's documents, finds the commands and links that
// they show, and serves them as a site. The packages below it make the documents'
// generated parts.
package site

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
)

//go:embed assets
var assets embed.FS

// Site serves a module's documents and sources as they stand in its directory:
// Markdown is rendered, code is colored, and a path is the file's own, so that
// relative links lead where they lead in the repository. Where a page names a run in a
// comment, the run can be played. Nothing is fetched from anywhere else.
type Site struct {
	root fs.FS

	// Program makes the files that a browser needs for the laboratory, by their
	// names: ProgramFile and what starts it. Nil: the site has no laboratory.
	Program func(ctx context.Context) (map[string][]byte, error)

	// Opened is a recording of a reader's own, at OpenedPath. Nil: there is none.
	Opened *recording.File

	// URL is where an exported site will be: the picture of a shared link needs it.
	URL string
}

// OpenedPath is the address of what was opened.
const OpenedPath = "/opened"

// NewSite serves the module in that directory.
func NewSite(root fs.FS) *Site { return &Site{root: root} }

// ServeHTTP answers GET and HEAD. Hidden files are not served.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'self'; "+
		"style-src 'self' 'unsafe-inline'; img-src 'self' data:")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	file := strings.Trim(path.Clean(r.URL.Path), "/")
	switch {
	case file == "":
		s.file(w, r, frontPage)
	case file == frontPage:
		http.Redirect(w, r, "/", http.StatusFound)
	case file == searchFile:
		answer(w, http.StatusOK, "text/javascript", s.search())
	case strings.HasPrefix(file, programDir):
		s.program(w, r, strings.TrimPrefix(file, programDir))
	case strings.HasPrefix(file, "assets/"):
		if file == workerFile {
			// Only there is WebAssembly compiled, and a lock that a learner writes: a worker
			// has no page and no storage of it. To import the lock as a blob would need as
			// much, and a policy that allows blobs. Nothing may be sent elsewhere, for the
			// lock may have come with a link.
			w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-eval'")
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, assets, file)
	case s.Opened != nil && "/"+file == OpenedPath:
		s.opened(w)
	case hidden(file):
		s.missing(w, file)
	default:
		s.file(w, r, file)
	}
}

// built are the directories in which other languages' tools put what they build and
// install. The repository doesn't have them.
var built = []string{"node_modules", "target", "__pycache__"}

func hidden(file string) bool {
	return slices.ContainsFunc(strings.Split(file, "/"), func(part string) bool {
		return strings.HasPrefix(part, ".") || slices.Contains(built, part)
	})
}
