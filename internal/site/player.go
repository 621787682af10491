package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/site/recording"
)

// played is where a page has a run: the lock, the scenario, and an invariant.
var played = regexp.MustCompile(`<!-- run (\S+)/(\S+): ([a-z -]+) -->`)

// players puts a player where a page has a run, and links where it names a run or a
// level.
func (s *Site) players(body string) string {
	body = played.ReplaceAllStringFunc(body, func(found string) string {
		m := played.FindStringSubmatch(found)
		player, err := s.player(recording.RunFile(m[1], m[2], m[3]))
		if err != nil {
			return noPlayer + html.EscapeString(fmt.Sprintf(
				"The run of %s in %s can't be played: %v", m[1], m[2], err)) + "</p>"
		}
		return string(player)
	})
	return strings.NewReplacer("<a data-site=", "<a href=", "<a\ndata-site=", "<a href=").Replace(body) // see generated.Played
}

// noPlayer begins what stands where a player can't.
const noPlayer = `<p class="no-player">`

// player is a player of the run of a file and of those to show beside it, with the
// code of all these locks.
func (s *Site) player(file string) (template.HTML, error) {
	main, text, err := s.run(file)
	if err != nil {
		return "", err
	}
	shown := player{main.Lock, s.whatIf(main.Lock), []any{text}, map[string][]string{}}
	locks := []string{main.Lock}
	for _, other := range main.Beside {
		_, text, err := s.run(recording.RunFile(other, main.Scenario, main.Invariant))
		if err != nil {
			return "", err
		}
		shown.Runs, locks = append(shown.Runs, text), append(locks, other)
	}
	for _, lock := range locks {
		if err := s.sources(lock, shown.Sources); err != nil {
			return "", err
		}
	}
	return element("player", shown)
}

// run reads a run. JSON from Go has no "<" that could end the element that it is in.
func (s *Site) run(file string) (run recording.Run, text template.JS, err error) {
	content, err := fs.ReadFile(s.root, file)
	if err != nil {
		return run, "", err
	}
	if err := json.Unmarshal(content, &run); err != nil {
		return run, "", fmt.Errorf("%s: %w", file, err)
	}
	return run, template.JS(content), nil
}

// sources adds the files of a lock as lines of HTML: its Go code, its scripts. A
// lock that has no directory has none.
func (s *Site) sources(lock string, files map[string][]string) error {
	entries, err := fs.ReadDir(s.root, lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if !slices.Contains([]string{".go", ".lua"}, path.Ext(name)) ||
			strings.HasSuffix(name, "_test.go") || name == "doc.go" {
			continue
		}
		text, err := fs.ReadFile(s.root, path.Join(lock, name))
		if err != nil {
			return err
		}
		files[path.Join(lock, name)] = colored(name, string(text))
	}
	return err
}

// play shows a run on a page of its own.
func (s *Site) play(p *page) error {
	run, _, err := s.run(p.File)
	if err != nil {
		return err
	}
	body, err := s.player(p.File)
	p.Title = run.Lock + ": " + run.Scenario
	p.Wide, p.Player = true, true
	p.Body = template.HTML(fmt.Sprintf("<h1>%s</h1>\n%s<p><a href=\"/%s/lock.go\">"+
		"The code of %s</a>, <a href=\"/docs/matrix.md\">all scenarios</a></p>\n",
		html.EscapeString(p.Title), body, run.Lock, run.Lock))
	return err
}

// level shows the state graph of a lock on a page of its own, for a reader to be the
// scheduler.
func (s *Site) level(p *page) error {
	lock := strings.TrimSuffix(strings.TrimPrefix(p.File, LevelDir+"/"), ".json")
	body, err := s.game(lock, "", false)
	p.Title, p.Wide, p.Player, p.Game = "Be the scheduler", true, true, true
	p.Body = "<h1>Be the scheduler</h1>\n" + body
	return err
}

// game is the element of a lock's levels. It begins with that of an invariant, or with the
// one that the address names. A small one is a part of a page, which has Player and Game.
func (s *Site) game(lock, invariant string, small bool) (template.HTML, error) {
	content, err := fs.ReadFile(s.root, LevelFile(lock))
	if err != nil {
		return "", err
	}
	sources := map[string][]string{}
	if err := s.sources(lock, sources); err != nil {
		return "", err
	}
	var graph recording.Graph
	if err := json.Unmarshal(content, &graph); err != nil {
		return "", fmt.Errorf("%s: %w", LevelFile(lock), err)
	}
	return element("game", game{invariant, small, false, &graph, Levels, sources})
}
