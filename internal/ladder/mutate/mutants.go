package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is a rung with one place changed.
type mutant struct {
	file string // its path from the repository's root
	line int
	from string // the place's line as it is
	next string // the line after it
	what string // what is changed: "== becomes !="

	content []byte // the whole file, changed
}

// String names the mutant as a compiler names a place.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.what, m.from)
}

// mutantsOf are all mutants of a rung and of what it shares, in the order of the
// files.
func mutantsOf(root, rung string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(rung), "*.*"))
	if err == nil && shared[rung] != "" {
		var more []string
		more, err = filepath.Glob(filepath.Join(root,
			filepath.FromSlash(shared[rung]), "*.*"))
		files = append(files, more...)
	}
	if err != nil {
		return nil, fmt.Errorf("look for the rung's files: %w", err)
	}
	var all []mutant
	for _, file := range files {
		name := filepath.Base(file)
		change := changesOfLua
		switch {
		case strings.HasSuffix(name, "_test.go") || name == "doc.go":
			continue
		case strings.HasSuffix(name, ".go"):
			change = changesOfGo
		case !strings.HasSuffix(name, ".lua"):
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a rung's file: %w", err)
		}
		file, err := filepath.Rel(root, file)
		if err != nil {
			return nil, fmt.Errorf("name a rung's file: %w", err)
		}
		file = filepath.ToSlash(file)
		changes, err := change(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, c := range changes {
			all = append(all, c.apply(source, file))
		}
	}
	return all, nil
}

// change replaces the bytes from one offset to another.
type change struct {
	from, to int
	with     string
	what     string
}

func (c change) apply(source []byte, file string) mutant {
	begin := bytes.LastIndexByte(source[:c.from], '\n') + 1
	line, rest, _ := strings.Cut(string(source[begin:]), "\n")
	next, _, _ := strings.Cut(rest, "\n")
	return mutant{
		file:    file,
		line:    bytes.Count(source[:c.from], []byte("\n")) + 1,
		from:    strings.TrimSpace(line),
		next:    strings.TrimSpace(next),
		what:    c.what,
		content: slices.Concat(source[:c.from], []byte(c.with), source[c.to:]),
	}
}

// operators are what stands instead of an operator.
var operators = map[token.Token][]string{
	token.EQL: {"!="}, token.NEQ: {"=="},
	token.LSS: {"<=", ">="}, token.LEQ: {"<", ">"},
	token.GTR: {">=", "<="}, token.GEQ: {">", "<"},
	token.LAND: {"||"}, token.LOR: {"&&"},
	token.ADD: {"-"}, token.SUB: {"+"}, token.MUL: {"/"}, token.QUO: {"*"},
}

// changesOfGo are the changes of a Go file: operators, conditions, constants,
// results, and statements that are left out.
func changesOfGo(source []byte) ([]change, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	g := goChanges{source: source, offset: func(p token.Pos) int {
		return set.Position(p).Offset
	}}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			ast.Inspect(f.Body, g.visit)
		}
	}
	return g.changes, nil
}

type goChanges struct {
	source  []byte
	offset  func(token.Pos) int
	changes []change
}

func (g *goChanges) add(from, to token.Pos, with, what string) {
	g.changes = append(g.changes, change{g.offset(from), g.offset(to), with, what})
}

// text is the source of a node.
func (g *goChanges) text(n ast.Node) string {
	return string(g.source[g.offset(n.Pos()):g.offset(n.End())])
}

// leaveOut replaces a statement by an empty one. Where the line has more than the
// statement, the change names it.
func (g *goChanges) leaveOut(n ast.Node) {
	what := "left out"
	before := g.source[:g.offset(n.Pos())]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	if len(bytes.TrimSpace(line)) > 0 {
		what = g.text(n) + " is left out"
	}
	g.add(n.Pos(), n.End(), "{}", what)
}

func (g *goChanges) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if isText(n.X) || isText(n.Y) {
			break
		}
		for _, op := range operators[n.Op] {
			g.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op,
				n.Op.String()+" becomes "+op)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			g.add(n.OpPos, n.OpPos+1, "", "! is left out")
		}
	case *ast.IfStmt:
		cond := g.text(n.Cond)
		g.add(n.Cond.Pos(), n.Cond.End(), "("+cond+") && false",
			"the condition is never true")
		g.add(n.Cond.Pos(), n.Cond.End(), "("+cond+") || true",
			"the condition is always true")
	case *ast.ExprStmt, *ast.SendStmt, *ast.GoStmt:
		g.leaveOut(n)
	case *ast.DeferStmt:
		if _, ok := n.Call.Fun.(*ast.FuncLit); !ok {
			g.leaveOut(n)
		}
	case *ast.IncDecStmt:
		g.leaveOut(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			g.leaveOut(n)
		}
	case *ast.BasicLit:
		if v, err := strconv.Atoi(n.Value); n.Kind == token.INT && err == nil {
			g.add(n.Pos(), n.End(), strconv.Itoa(v+1),
				fmt.Sprintf("%d becomes %d", v, v+1))
		}
	case *ast.Ident:
		if flipped := map[string]string{"true": "false", "false": "true"}[n.Name]; flipped != "" {
			g.add(n.Pos(), n.End(), flipped, n.Name+" becomes "+flipped)
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if id, ok := result.(*ast.Ident); ok && id.Name == "err" {
				g.add(id.Pos(), id.End(), "nil", "err becomes nil")
			}
		}
	case *ast.CallExpr:
		g.call(n)
	}
	return true
}

// call takes one of the arguments instead of a call's result.
func (g *goChanges) call(n *ast.CallExpr) {
	switch name := g.text(n.Fun); name {
	case "max", "min":
		for _, arg := range n.Args {
			g.add(n.Pos(), n.End(), g.text(arg), name+" is its argument "+
				g.text(arg))
		}
	case "context.WithoutCancel":
		g.add(n.Pos(), n.End(), g.text(n.Args[0]), name+" is left out")
	}
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

// luaTokens are what stands instead of a part of a script's line. Scripts here
// are short and plain: no string holds any of these.
var luaTokens = []struct{ old, new string }{
	{" == ", " ~= "}, {" ~= ", " == "}, {" and ", " or "}, {" or ", " and "},
	{" < ", " <= "}, {" > ", " >= "}, {" + ", " - "}, {" - ", " + "},
	{"not ", ""}, {"'0'", "'1'"}, {"'1'", "'0'"}, {"return 0", "return 1"},
	{"return 1", "return 0"}, {"return -", "return "}, {" 2 * ", " 1 * "},
	{"'NX', ", ""}, {", 'PX'", ", 'EX'"}, {" 0)", " 1)"}, {" + 1", " + 2"},
	{"== 0", "== 1"}, {"== 1", "== 0"}, {"math.max", "math.min"},
}

// changesOfLua are the changes of a script: tokens, conditions, and commands that
// are left out.
func changesOfLua(source []byte) ([]change, error) {
	var changes []change
	begin := 0
	for _, line := range strings.SplitAfter(string(source), "\n") {
		code, _, _ := strings.Cut(line, "--")
		trimmed := strings.TrimSpace(code)
		indent := len(code) - len(strings.TrimLeft(code, " "))
		for _, t := range luaTokens {
			for at := 0; ; {
				i := strings.Index(code[at:], t.old)
				if i < 0 {
					break
				}
				changes = append(changes, change{begin + at + i,
					begin + at + i + len(t.old), t.new,
					strings.TrimSpace(t.old) + " becomes " + strings.TrimSpace(t.new)})
				at += i + len(t.old)
			}
		}
		if cond, ok := strings.CutPrefix(trimmed, "if "); ok {
			if cond, ok = strings.CutSuffix(cond, " then"); ok {
				from := begin + indent + len("if ")
				for _, value := range []string{"false", "true"} {
					changes = append(changes, change{from, from + len(cond), value,
						"the condition is always " + value})
				}
			}
		}
		if strings.HasPrefix(trimmed, "redis.") {
			changes = append(changes, change{begin + indent,
				begin + indent + len(trimmed), "do end", "left out"})
		}
		begin += len(line)
	}
	return changes, nil
}
