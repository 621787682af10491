package generated

import (
	"fmt"
	"path"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
)

// code is declarations of a file: its name, and theirs.
func (g *Generator) code(argument string) (string, error) {
	words := strings.Fields(argument)
	source, err := g.source(words[0])
	if err != nil {
		return "", err
	}
	text, err := site.Extract(source, words[1:]...)
	return Fence("go", text), err
}

func (g *Generator) file(name string) (string, error) {
	source, err := g.source(name)
	return Fence(strings.TrimPrefix(path.Ext(name), "."), source), err
}

// diff is what a rung changes.
func (g *Generator) diff(name string) (string, error) {
	rung, err := ladder.Find(name)
	if err != nil {
		return "", err
	}
	was, err := g.source(rung.Parent + "/lock.go")
	if err != nil {
		return "", err
	}
	is, err := g.source(rung.Name + "/lock.go")
	if err != nil {
		return "", err
	}
	text, err := site.Diff(was, is, rung.Changes...)
	return Fence(fmt.Sprintf("diff %s/lock.go %s/lock.go", rung.Parent,
		rung.Name), text), err
}
