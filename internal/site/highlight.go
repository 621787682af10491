package site

import (
	"go/scanner"
	"go/token"
	"html"
	"strings"
)

// highlight writes a text as HTML, a string for each line. Go is colored by its
// own scanner; of other languages only comments are, which are all that a Lua
// script or a shell line needs to be read.
func highlight(language, text string) []string {
	switch language {
	case "go":
		return highlightGo(text)
	case "lua":
		return comments(text, "--")
	case "console":
		return commands(text)
	}
	return strings.Split(html.EscapeString(text), "\n")
}

func highlightGo(text string) []string {
	var b strings.Builder
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	done := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "comment"
		case tok == token.STRING || tok == token.CHAR:
			class = "string"
		case tok == token.INT || tok == token.FLOAT:
			class = "number"
		case tok.IsKeyword():
			class, literal = "keyword", tok.String()
		}
		if class == "" {
			continue
		}
		from := file.Offset(pos)
		b.WriteString(html.EscapeString(text[done:from]))
		b.WriteString(span(class, literal))
		done = from + len(literal)
	}
	b.WriteString(html.EscapeString(text[done:]))
	return strings.Split(b.String(), "\n")
}

// span never reaches over the end of a line.
func span(class, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = `<span class="` + class + `">` + html.EscapeString(line) + `</span>`
	}
	return strings.Join(lines, "\n")
}

func comments(text, mark string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if at := strings.Index(line, mark); at >= 0 {
			lines[i] = html.EscapeString(line[:at]) + span("comment", line[at:])
		} else {
			lines[i] = html.EscapeString(line)
		}
	}
	return lines
}

// commands shows what is typed, and the lines of a timeline where it broke.
func commands(text string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "$ "):
			lines[i] = span("typed", line)
		case strings.HasPrefix(strings.TrimSpace(line), "^^^"), i > 0 && strings.Contains(lines[i-1], `"broken"`) && strings.HasPrefix(line, "             "):
			lines[i] = span("broken", line)
		default:
			lines[i] = html.EscapeString(line)
		}
	}
	return lines
}
