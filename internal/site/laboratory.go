package site

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
)

const (
	// ProgramFile is the laboratory's program, compressed with gzip. A browser
	// unpacks it by itself, so that any static host can serve it.
	ProgramFile = "laboratory.wasm.gz"

	programDir     = "assets/laboratory/"
	workerFile     = "assets/laboratory-worker.js"
	laboratoryPage = "docs/lab.md"
	laboratoryMark = "<!-- laboratory -->"

	// triedMark is in a link to the laboratory whose paragraph a reader may change.
	triedMark = "&amp;lease="
)

// program answers with a file of the laboratory's program.
func (s *Site) program(w http.ResponseWriter, r *http.Request, name string) {
	if s.Program == nil {
		http.Error(w, "this site has none: go run ./docs has one", http.StatusNotFound)
		return
	}
	files, err := s.Program(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	content, ok := files[name]
	if !ok {
		s.missing(w, programDir+name)
		return
	}
	// A source may have changed: the browser asks each time, and loads it only then.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(content)))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// laboratory puts the laboratory where the page has its mark, with the code of all
// rungs, the scripts that the exercises begin with and what a learner's own lock may begin
// with. Scripts are there as they are, too, because their digests name them.
func (s *Site) laboratory(body string) (string, error) {
	sources, scripts := map[string][]string{}, map[string]string{}
	for _, rung := range ladder.Rungs {
		if err := s.sources(rung.Name, sources); err != nil {
			return "", err
		}
	}
	files, err := fs.Glob(s.root, "docs/exercises/*/*.lua")
	files = append(files, s.documents("docs/own/*.js")...)
	for file := range sources {
		if path.Ext(file) == ".lua" {
			files = append(files, file)
		}
	}
	for _, file := range files {
		text, failed := fs.ReadFile(s.root, file)
		scripts[file], err = string(text), cmp.Or(err, failed)
	}
	if err != nil {
		return "", err
	}
	put, err := element("laboratory", struct {
		Sources map[string][]string
		Scripts map[string]string
	}{sources, scripts})
	return strings.Replace(body, laboratoryMark, string(put), 1), err
}

// whatIf is where a player leads to the laboratory.
func (s *Site) whatIf(lock string) string {
	_, page := fs.Stat(s.root, laboratoryPage)
	if _, err := fs.Stat(s.root, path.Join(lock, "lock.go")); s.Program == nil ||
		err != nil || page != nil {
		return ""
	}
	return "/" + laboratoryPage
}
