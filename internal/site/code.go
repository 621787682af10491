package site

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Declaration is a top-level declaration of a Go file with the comment above
// it.
type Declaration struct {
	Name string // "New", "Lock", "Lock.TryLock"
	Text string
}

// Declarations are those of a Go source, in order, without its imports.
func Declarations(source string) ([]Declaration, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []Declaration
	for _, node := range parsed.Decls {
		name := Declared(node)
		if name == "" {
			continue
		}
		start := node.Pos()
		if doc := docOf(node); doc != nil {
			start = doc.Pos()
		}
		from, to := set.Position(start).Offset, set.Position(node.End()).Offset
		if line := strings.IndexByte(source[to:], '\n'); line >= 0 {
			to += line // a comment behind it belongs to it
		}
		all = append(all, Declaration{name, source[from:to]})
	}
	return all, nil
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
	all, err := Declarations(source)
	if err != nil {
		return "", err
	}
	var texts, known []string
	for _, d := range all {
		known = append(known, d.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return "", fmt.Errorf("there is no declaration %q, there are %s",
				name, strings.Join(known, "; "))
		}
		texts = append(texts, all[i].Text)
	}
	return strings.Join(texts, "\n\n") + "\n", nil
}

// Diff compares the named declarations of two Go sources, each shown whole. A
// declaration that only one of them has is all new or all gone. Declarations
// with one name, such as assertions, are compared together.
func Diff(before, after string, names ...string) (string, error) {
	was, err := joined(before)
	if err != nil {
		return "", err
	}
	is, err := joined(after)
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

func joined(source string) (map[string]string, error) {
	all, err := Declarations(source)
	texts := map[string]string{}
	for _, d := range all {
		texts[d.Name] += d.Text + "\n"
	}
	return texts, err
}

// compared compares two texts line by line. Each line of the result begins with a
// space, "-" or "+" and stands for one of theirs.
func compared(before, after string) (string, error) {
	const all = 1 << 20 // lines of context
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after),
		all)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, hunk := range diff.Hunks {
		for _, line := range hunk.Lines {
			mark := map[udiff.OpKind]string{udiff.Delete: "-", udiff.Insert: "+",
				udiff.Equal: " "}[line.Kind]
			b.WriteString(mark + strings.TrimRight(line.Content, "\n") + "\n")
		}
	}
	return b.String(), nil
}
