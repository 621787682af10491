package site

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// declarations are the top-level declarations of a Go source by their names, such as
// "New", "Lock" or "Lock.TryLock", each with the comment above it. Those with one name,
// such as assertions, are together.
func declarations(source string) (map[string]string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, node := range parsed.Decls {
		name, start := Declared(node), node.Pos()
		if name == "" {
			continue
		}
		if doc := docOf(node); doc != nil {
			start = doc.Pos()
		}
		from, to := set.Position(start).Offset, set.Position(node.End()).Offset
		texts[name] += source[from:to] + "\n"
	}
	return texts, nil
}

func docOf(node ast.Decl) *ast.CommentGroup {
	switch d := node.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// Declared names a declaration; imports have no name.
func Declared(node ast.Decl) string {
	switch d := node.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if of, ok := receiver.(*ast.Ident); ok {
			return of.Name + "." + d.Name.Name
		}
		return d.Name.Name
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
		return strings.Join(names, ", ")
	}
	return ""
}

// Extract returns the named declarations of a Go source as they stand there, an
// empty line between two. Its error lists the names that there are.
func Extract(source string, names ...string) (string, error) {
	all, err := declarations(source)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, name := range names {
		if all[name] == "" {
			return "", fmt.Errorf("there is no declaration %q, there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(all)), "; "))
		}
		texts = append(texts, all[name])
	}
	return strings.Join(texts, "\n"), nil
}

// Diff compares the named declarations of two Go sources, each shown whole. A
// declaration that only one of them has is all new or all gone.
func Diff(before, after string, names ...string) (string, error) {
	was, err := declarations(before)
	if err != nil {
		return "", err
	}
	is, err := declarations(after)
	if err != nil {
		return "", err
	}
	var diffs []string
	for _, name := range names {
		if was[name] == is[name] {
			return "", fmt.Errorf("%q does not differ", name)
		}
		lines, err := compared(was[name], is[name])
		if err != nil {
			return "", err
		}
		diffs = append(diffs, lines)
	}
	return strings.Join(diffs, " \n"), nil
}

// compared compares two texts line by line. Each line of the result begins with a
// space, "-" or "+" and stands for one of theirs.
func compared(before, after string) (string, error) {
	const all = 1 << 20 // lines of context
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, hunk := range diff.Hunks {
		for _, line := range hunk.Lines {
			mark := map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+", udiff.Equal: " "}[line.Kind]
			b.WriteString(mark + strings.TrimRight(line.Content, "\n") + "\n")
		}
	}
	return b.String(), nil
}
