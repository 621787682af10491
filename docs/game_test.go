//go:build chromium

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/pages/levels"
	"github.com/lockladder/lockladder/internal/play"
)

// gaming is what a reader sees of a level.
const gaming = `(() => {
	const g = document.querySelector('.game');
	const text = s => g.querySelector(s).innerText;
	return {
		state: g.dataset.state,
		title: text('h2'),
		verdict: text('.verdict'),
		advice: text('.advice'),
		choices: Array.from(g.querySelectorAll('.choices button')).map(
			b => b.dataset.action),
		command: text('.command'),
		facts: text('.facts'),
		rows: g.querySelectorAll('.lanes .time').length,
		solved: g.querySelectorAll('.levels li').length -
			Array.from(g.querySelectorAll('.levels li')).filter(
			l => !l.textContent.startsWith('✓')).length,
		hash: location.hash,
		wide: document.documentElement.scrollWidth -
			document.documentElement.clientWidth,
	};
})()`

type gamed struct {
	State, Title, Verdict, Advice, Command, Facts, Hash string
	Choices                                             []string
	Rows, Solved, Wide                                  int
}

func (s *stage) level(l levels.Level, schedule string) gamed {
	s.t.Helper()
	hash := url.Values{"level": {strings.ReplaceAll(string(l.Invariant), " ", "-")}}
	if schedule != "" {
		hash.Set("s", schedule)
	}
	require.NoError(s.t, chromedp.Do(s.ctx, chromedp.Navigate("about:blank"),
		chromedp.Navigate(s.site+"/"+levels.File(l.Lock)+"#"+hash.Encode()),
		ready()))
	return s.game("")
}

// game lets the page's script do something to the level, g.
func (s *stage) game(what string) gamed {
	s.t.Helper()
	require.NoError(s.t, chromedp.Do(s.ctx, do(chromedp.Evaluate[any](fmt.Sprintf(
		"(() => { const g = document.querySelector('.game'); %s })() ?? null",
		what)))))
	g, err := chromedp.Run(s.ctx, chromedp.Evaluate[gamed](gaming))
	require.NoError(s.t, err)
	require.Empty(s.t, s.c.take())
	return g
}

// picks takes an action by its button.
func (s *stage) picks(action string) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("g.querySelector(%q).click()",
		fmt.Sprintf(".choices button[data-action='%s']", action)))
}

func (s *stage) presses(button string) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("Array.from(g.querySelectorAll('.controls button'))."+
		"find(b => b.innerText.startsWith(%q)).click()", button))
}

func graph(t *testing.T, lock string) play.Graph {
	t.Helper()
	text, err := os.ReadFile("../" + levels.File(lock))
	require.NoError(t, err)
	var g play.Graph
	require.NoError(t, json.Unmarshal(text, &g))
	return g
}

func goal(t *testing.T, l levels.Level) play.Goal {
	t.Helper()
	for _, goal := range graph(t, l.Lock).Goals {
		if goal.Invariant == string(l.Invariant) {
			return goal
		}
	}
	t.Fatalf("%s has no goal", l)
	return play.Goal{}
}

// detour is a schedule that breaks a goal and is not the explorer's: the other
// client's first command arrives first.
func detour(t *testing.T, l levels.Level) string {
	t.Helper()
	g := graph(t, l.Lock)
	bit := 0
	for i, goal := range g.Goals {
		if goal.Invariant == string(l.Invariant) {
			bit = 1 << i
		}
	}
	type step struct {
		from   int
		action string
		state  int
	}
	first := strings.Fields(goal(t, l).Schedule)[1]
	var steps []step
	seen := map[int]bool{0: true}
	push := func(from, state int) (found bool) {
		for i, e := 0, g.Edges[state]; i < len(e); i += 3 {
			if from < 0 && g.Texts[e[i]] == first {
				continue
			}
			if e[i+2]&bit != 0 {
				steps = append(steps, step{from, g.Texts[e[i]], e[i+1]})
				return true
			}
			if !seen[e[i+1]] {
				seen[e[i+1]] = true
				steps = append(steps, step{from, g.Texts[e[i]], e[i+1]})
			}
		}
		return false
	}
	found := push(-1, 0)
	for i := 0; !found && i < len(steps); i++ {
		found = push(i, steps[i].state)
	}
	require.True(t, found, "%s has no other way", l)
	var actions []string
	for i := len(steps) - 1; i >= 0; i = steps[i].from {
		actions = append([]string{steps[i].action}, actions...)
	}
	return g.Program + ": " + strings.Join(actions, " ")
}

// Every level is solved by the explorer's schedule and by another one, or by the
// claim that there is none.
func TestEveryLevelCanBeSolved(t *testing.T) {
	s := newStage(t)
	for i, l := range levels.All {
		t.Run(l.String(), func(t *testing.T) {
			s.t = t
			best := goal(t, l)
			if best.Schedule == "" {
				s.level(l, "")
				claimed := s.presses("claim")
				assert.Contains(t, claimed.Verdict, "proved: 0 of "+graph(t,
					l.Lock).Schedules+" schedules")
				assert.Equal(t, i+1, claimed.Solved)
				return
			}
			begin := s.level(l, "")
			assert.Equal(t, "open", begin.State)
			assert.Contains(t, s.presses("claim").Advice, "It can be broken: "+
				best.Failing)
			won := begin
			for _, action := range strings.Fields(best.Schedule)[1:] {
				require.Contains(t, won.Choices, action)
				won = s.picks(action)
			}
			assert.Equal(t, "won", won.State)
			assert.Contains(t, won.Verdict, fmt.Sprintf("You broke it: %s. You needed %d",
				l.Invariant, best.Steps))
			assert.Contains(t, won.Command, "'"+best.Schedule+"'")
			assert.Equal(t, i+1, won.Solved)
			other := s.level(l, detour(t, l))
			assert.Equal(t, "won", other.State)
			assert.Contains(t, other.Verdict, "You broke it: ")
		})
	}
}

func TestAScheduleIsInTheAddressAndTakenBack(t *testing.T) {
	s := newStage(t)
	gold := levels.All[3]
	s.level(gold, "")
	s.picks("A>")
	moved := s.picks("A<")
	assert.Equal(t, 3, moved.Rows)
	values, err := url.ParseQuery(strings.TrimPrefix(moved.Hash, "#"))
	require.NoError(t, err)
	assert.Equal(t, "once: A> A<", values.Get("s"))
	again := s.level(gold, values.Get("s"))
	assert.Equal(t, moved.Choices, again.Choices)
	assert.Equal(t, moved.Facts, again.Facts)
	assert.Equal(t, 2, s.presses("undo").Rows)
	assert.Equal(t, 1, s.presses("from the beginning").Rows)
	pasted := s.game("const i = g.querySelector('input'); i.value = 'gold/once: A> A< E';" +
		" i.dispatchEvent(new Event('change'))")
	assert.Equal(t, 4, pasted.Rows)
	wrong := s.level(gold, "once: A> B=")
	assert.Equal(t, "B= is not possible after A>.", wrong.Advice)
	assert.Equal(t, 2, wrong.Rows)
}

func TestALevelSaysWhenNothingCanBreakAnyMore(t *testing.T) {
	s := newStage(t)
	stuck := s.level(levels.All[0], "once: A> A< A= A= A> A<")
	assert.Equal(t, "open", stuck.State)
	assert.Contains(t, s.level(levels.All[0], "once: A> A< A= A= A> A< B> B< B= B= B> B<").Verdict,
		"Nothing can be broken from here on. Undo, begin again, or claim")
}

// A hint leads to the goal when it is followed to the end.
func TestHintsLeadToTheBreak(t *testing.T) {
	s := newStage(t)
	g := s.level(levels.All[4], "")
	for n := 0; g.State != "won"; n++ {
		require.Less(t, n, 20)
		s.presses("hint")
		g = s.game("g.querySelector('.choices .hinted').click()")
	}
	assert.Contains(t, g.Verdict, "You broke it: foreign release")
}

func TestALevelIsPlayedByKeys(t *testing.T) {
	s := newStage(t)
	s.level(levels.All[0], "")
	key := "g.querySelector('.choices').dispatchEvent(new KeyboardEvent('keydown'," +
		" {key: %q, bubbles: true, cancelable: true}))"
	assert.Equal(t, 2, s.game(fmt.Sprintf(key, "1")).Rows)
	assert.Equal(t, 1, s.game(fmt.Sprintf(key, "ArrowLeft")).Rows)
	assert.Equal(t, 1, s.game(fmt.Sprintf(key, "9")).Rows, "there is no ninth choice")
}

func TestLevelsFitAPhoneInBothThemes(t *testing.T) {
	s := newStage(t)
	require.NoError(t, chromedp.Do(s.ctx, chromedp.EmulateViewport(390, 800)))
	for _, theme := range []string{"light", "dark"} {
		s.level(levels.All[0], "")
		s.game(fmt.Sprintf("localStorage.setItem('theme', %q)", theme))
		for _, l := range levels.All {
			assert.LessOrEqual(t, s.level(l, goal(t, l).Schedule).Wide, 0, "%s, %s",
				l, theme)
		}
	}
}
