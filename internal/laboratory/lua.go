package laboratory

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// compiles says whether a script is Lua, as the virtual server understands it.
func compiles(s Script) error {
	if strings.TrimSpace(s.Edited) == "" {
		return fmt.Errorf("%s: %w", s.Name, errEmpty)
	}
	chunk, err := parse.Parse(strings.NewReader(s.Edited), s.Name)
	if at, ok := errors.AsType[*parse.Error](err); ok {
		where, near := "at the end", ""
		if at.Pos.Line > 0 {
			where = fmt.Sprintf("in line %d", at.Pos.Line)
		}
		if at.Token != "" {
			near = fmt.Sprintf(" near %q", at.Token)
		}
		return fmt.Errorf("%s is not Lua: %s %s%s", s.Name, at.Message, where, near)
	}
	if err == nil {
		_, err = lua.Compile(chunk, s.Name)
	}
	if err != nil {
		return fmt.Errorf("%s is not Lua: %s", s.Name, oneLine(err))
	}
	return nil
}
