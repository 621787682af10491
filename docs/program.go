package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/terminal"
)

// program is the laboratory for a browser: the module at root, compiled by the go tool
// and kept in memory.
type program struct {
	root  string
	life  context.Context // its end ends what is being compiled
	works sync.WaitGroup

	mu    sync.Mutex // held while it is compiled
	files map[string][]byte
}

// programPackage is the package that is compiled.
const programPackage = "./internal/site/whatif/wasm"

// Files are what a browser needs to run the laboratory, and the licenses of what is in them. When
// ctx ends, Files no longer waits for them, and they are compiled all the same.
func (p *program) Files(ctx context.Context) (map[string][]byte, error) {
	if err := p.life.Err(); err != nil {
		return nil, err
	}
	var files map[string][]byte
	made := make(chan error, 1)
	p.works.Go(func() {
		var err error
		files, err = p.make()
		made <- err
	})
	select {
	case err := <-made:
		return files, err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the laboratory: %w", ctx.Err())
	}
}

// make compiles the files unless they are there.
func (p *program) make() (files map[string][]byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.files, err = compile(p.life, p.root)
	}
	return p.files, err
}

// prepare compiles the files before a page asks for them, and says how long it took.
func (p *program) prepare(out io.Writer) {
	began := time.Now()
	fmt.Fprintln(out, "The laboratory is being compiled. The first time takes a minute or two.")
	_, err := p.Files(p.life)
	switch {
	case p.life.Err() != nil:
	case err != nil:
		terminal.Say(out, "The laboratory can't be used: %v", err)
	default:
		fmt.Fprintf(out, "The laboratory is compiled, after %v.\n", time.Since(began).Round(time.Second))
	}
}

// compile makes the files. The go tool keeps what it has compiled, so that only the
// first time is slow.
func compile(ctx context.Context, root string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "laboratory")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	wasm := filepath.Join(dir, "laboratory.wasm")
	if _, err := goTool(ctx, root, forBrowsers, "build", "-trimpath", "-ldflags=-s -w", "-o", wasm,
		programPackage); err != nil {
		return nil, fmt.Errorf("compile the laboratory: %w", err)
	}
	binary, err := os.ReadFile(wasm)
	if err != nil {
		return nil, err
	}
	installed, err := goTool(ctx, root, forBrowsers, "env", "GOROOT")
	if err != nil {
		return nil, fmt.Errorf("find where Go is installed: %w", err)
	}
	installed = strings.TrimSpace(installed)
	script, err := os.ReadFile(filepath.Join(installed, "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return nil, fmt.Errorf("find the script that starts Go in a browser: %w", err)
	}
	licenses, err := licenses(ctx, root, installed)
	return map[string][]byte{site.ProgramFile: shorter(binary), "wasm_exec.js": script, "LICENSES.txt": licenses}, err
}

// forBrowsers are the variables with which the go tool compiles for a browser.
var forBrowsers = []string{"GOOS=js", "GOARCH=wasm", "GOWORK=off"}

// goTool runs the go tool with these variables, and returns what it prints. Its error is
// one line: the first one that the compiler or a test complains with.
func goTool(ctx context.Context, root string, variables []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), variables...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	process.Detach(cmd)
	cmd.Cancel = func() error { return process.Kill(cmd.Process.Pid) } // its compilers, too
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		for line := range strings.Lines(complaints.String() + out.String()) {
			if line = strings.TrimSpace(line); line != "" &&
				!strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: d") {
				return out.String(), errors.New(line)
			}
		}
		return out.String(), err
	}
	return out.String(), nil
}

func shorter(binary []byte) []byte {
	var b bytes.Buffer // which takes whatever is written
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w.Write(binary)
	w.Close()
	return b.Bytes()
}

// licenses are those of Go, and of all modules that the program has in it.
func licenses(ctx context.Context, root, installed string) ([]byte, error) {
	listed, err := goTool(ctx, root, forBrowsers, "list", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}", programPackage)
	if err != nil {
		return nil, fmt.Errorf("list what the laboratory is made of: %w", err)
	}
	modules := append([]string{"Go " + runtime.Version() + "\t" + installed},
		slices.Compact(slices.Sorted(strings.Lines(listed)))...)
	var b bytes.Buffer
	fmt.Fprintln(&b, "The laboratory's program contains what follows.")
	for _, module := range modules {
		name, dir, ok := strings.Cut(strings.TrimSpace(module), "\t")
		if !ok {
			continue // a package of Go itself
		}
		text, err := license(dir)
		if err != nil {
			return nil, fmt.Errorf("find the license of %s: %w", name, err)
		}
		fmt.Fprintf(&b, "\n\n%s\n%s\n\n%s", name, strings.Repeat("=", len(name)), text)
	}
	return b.Bytes(), nil
}

// license is the text that a module's directory has, or for a Go that a
// distribution has packaged, the one above it.
func license(dir string) ([]byte, error) {
	for _, pattern := range []string{"[Ll][Ii][Cc][Ee][Nn][CScs][Ee]*", "COPYING*", "../LICENSE*"} {
		if found, err := filepath.Glob(filepath.Join(dir, pattern)); err == nil &&
			len(found) > 0 {
			return os.ReadFile(found[0])
		}
	}
	return nil, fmt.Errorf("%s has no LICENSE", dir)
}

// openSite is the module's site, with the recordings that t makes, and with the
// laboratory, which is compiled until ctx ends. A symbolic link that leads out of the module leads nowhere.
func openSite(t *testing.T, ctx context.Context, root string) (*site.Site, *program) {
	s := site.NewSite(generated.Record(t, inside(root), exhibits()...))
	p := &program{root: root, life: ctx}
	s.Program = p.Files
	return s, p
}

// inside is the module's files. They stay open until the process ends.
func inside(root string) fs.FS {
	opened, err := os.OpenRoot(root)
	if err != nil {
		return os.DirFS(root) // whose every file says what is wrong
	}
	return opened.FS()
}
