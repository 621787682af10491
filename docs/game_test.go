//go:build chromium

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/levels"
	"github.com/lockladder/lockladder/internal/site/play"
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
		waits: Array.from(g.querySelectorAll('.pane li')).filter(
			li => li.querySelector('.here')).map(li =>
			Array.from(li.querySelectorAll('.here b')).map(b => b.innerText).join('') +
			': ' + li.querySelector('code').innerText.trim()),
		command: text('.command'),
		facts: text('.facts'),
		rows: g.querySelectorAll('.lanes .time').length,
		texts: Array.from(g.querySelectorAll('.choices button')).map(b => b.innerText),
		sent: Array.from(g.querySelectorAll('.lanes .sent')).map(t => t.textContent),
		open: g.querySelectorAll('.lanes line.open').length,
		lanes: Array.from(g.querySelectorAll('.lanes .what')).map(t => t.textContent).
			join('\n'),
		broken: Array.from(g.querySelectorAll('.lanes .why')).map(t => t.textContent),
		unseen: g.querySelector('.lanes').scrollWidth -
			g.querySelector('.lanes').clientWidth,
		below: Math.round(g.querySelector('.lanes').getBoundingClientRect().bottom +
			scrollY),
		end: Math.round(Math.max(...Array.from(g.querySelectorAll('.choices button')).map(
			b => b.getBoundingClientRect().bottom)) + scrollY) || 0,
		focus: document.activeElement.innerText,
		solved: g.querySelectorAll('.levels li').length -
			Array.from(g.querySelectorAll('.levels li')).filter(
			l => !l.textContent.startsWith('✓')).length,
		hash: location.hash,
		wide: document.documentElement.scrollWidth -
			document.documentElement.clientWidth,
	};
})()`

type gamed struct {
	State, Title, Verdict, Advice, Command, Facts, Hash, Lanes, Focus string

	Choices, Texts, Sent, Broken, Waits          []string
	Rows, Solved, Wide, Open, Unseen, Below, End int
}

func (s *stage) level(l levels.Level, schedule string) gamed {
	s.t.Helper()
	hash := url.Values{"level": {strings.ReplaceAll(string(l.Invariant), " ", "-")}}
	if schedule != "" {
		hash.Set("s", schedule)
	}
	s.loads(s.site + "/" + levels.File(l.Lock) + "#" + hash.Encode())
	return s.game("")
}

// game lets the page's script do something to the level, g.
func (s *stage) game(what string) gamed {
	s.t.Helper()
	s.runs("const g = document.querySelector('.game'); %s", what)
	g := shows[gamed](s, gaming)
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

// shown are the levels that a test looks at: in a short run every third.
func shown() []levels.Level {
	if !testing.Short() {
		return levels.All
	}
	var third []levels.Level
	for i := 0; i < len(levels.All); i += 3 {
		third = append(third, levels.All[i])
	}
	return third
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

func TestWhatIsChosenAfterTheBreakIsNotCounted(t *testing.T) {
	s := newStage(t)
	l := levels.All[0]
	won := s.level(l, goal(t, l).Schedule)
	needed := regexp.MustCompile(`You needed \d+ actions`).FindString(won.Verdict)
	require.NotEmpty(t, needed)
	more := s.game("g.querySelector('.choices button').click()")
	assert.Equal(t, won.Rows+1, more.Rows)
	assert.Contains(t, more.Verdict, needed)
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

// A client that crashes has sent its next command before: the lanes show it under way,
// and so does the choice.
func TestWhatIsUnderWayIsSeen(t *testing.T) {
	s := newStage(t)
	silver := levels.All[1]
	begin := s.level(silver, "")
	assert.Equal(t, []string{"SET lock:stock locked NX, sent",
		"SET lock:stock locked NX, sent"}, begin.Sent)
	assert.Equal(t, 2, begin.Open, "a dashed arrow for each")
	taken := s.picks("A>")
	assert.Contains(t, taken.Sent, "reply OK to SET lock:stock locked NX, sent")
	granted := s.picks("A<")
	assert.Contains(t, granted.Sent, "PEXPIRE lock:stock 10000, sent")
	assert.Contains(t, granted.Texts[0], "A's PEXPIRE lock:stock 10000, already sent,"+
		" arrives at Redis")
	assert.Contains(t, granted.Texts[1], "A crashes, after it has sent its PEXPIRE")
	crashed := s.picks("Ax")
	assert.Contains(t, crashed.Sent, "PEXPIRE lock:stock 10000, sent")
	scripts := s.level(levels.All[13], "")
	assert.Contains(t, scripts.Texts[0], "A's acquire.lua, already sent, arrives at Redis")
	assert.Contains(t, scripts.Sent[0], "EVALSHA acquire.lua lock:stock A")
}

// The code shows where each client waits: for a command's reply, or before its next
// call. From the start it does.
func TestTheCodeShowsWhereEachClientWaits(t *testing.T) {
	s := newStage(t)
	const setNX = `granted, err := l.rdb.SetNX(ctx, l.key, "locked", 0).Result()`
	for _, c := range []struct {
		level    int
		schedule string
		waits    []string
	}{
		{0, "", []string{"AB: " + setNX}},
		{0, "once: Ax", []string{"B: " + setNX}},
		{5, "once: A> A< A= E B> B<", []string{
			"AB: func (l *Lock) Unlock(ctx context.Context) error {"}},
		{5, "once: A> A< A= E B> B< B= A= B=", []string{
			"AB: deleted, err := l.rdb.Del(ctx, l.key).Result()"}},
		{3, "once: A> A< B> B<", []string{
			"B: func (l *Lock) TryLock(ctx context.Context) (bool, error) {",
			"A: func (l *Lock) Unlock(ctx context.Context) error {"}},
	} {
		l := levels.All[c.level]
		assert.Equal(t, c.waits, s.level(l, c.schedule).Waits, "%s, %s", l, c.schedule)
	}
}

// Each break has a mark where it happens, with what was read and written.
func TestEveryBreakIsMarkedWhereItHappens(t *testing.T) {
	s := newStage(t)
	end := s.level(levels.All[5], "once: A> A< A= E B> B< B= A= B= A>")
	assert.Equal(t, []string{"✗ two holders", "✗ stale write", "✗ lost update",
		"✗ foreign release"}, end.Broken)
	assert.Contains(t, end.Lanes, "reads 0")
	assert.Equal(t, 2, strings.Count(end.Lanes, "writes 1"))
	assert.Equal(t, []string{"✗ two holders", "✗ stale write"},
		s.game("g.querySelectorAll('.controls button')[0].click(); "+
			"g.querySelectorAll('.controls button')[0].click()").Broken)
	fenced := s.level(levels.All[14], "once: A> A< A= B> B< E B> B< B= A= B=")
	assert.Contains(t, fenced.Lanes, "writes, and the storage refuses it")
	assert.Contains(t, fenced.Lanes, "writes 1")
	assert.Empty(t, fenced.Broken)
	late := s.level(levels.All[14], "once: A> A< B> B< E B> B< B= A=")
	assert.Contains(t, late.Lanes, "reads, and the storage refuses it")
}

// The storage gets a request that was sent before its client died.
func TestARequestOfADeadClientSaysWhatItDoes(t *testing.T) {
	s := newStage(t)
	dead := s.level(levels.All[5], "once: A> A< A= Ax")
	assert.Contains(t, strings.Join(dead.Texts, "\n"),
		"A's request, sent before, writes to the storage")
	assert.Contains(t, s.picks("A=").Lanes, "writes 1")
}

// The picture and all choices are on the first screen, and no lane is cut off.
func TestChoicesAndLanesAreOnOneScreen(t *testing.T) {
	s := newStage(t)
	s.sized(1280, 800)
	most := 0
	for _, l := range shown() {
		for _, schedule := range []string{"", goal(t, l).Schedule, "once: A> A<"} {
			seen := s.level(l, schedule)
			assert.LessOrEqual(t, seen.Below, 800, "%s, %s", l, schedule)
			assert.LessOrEqual(t, seen.Unseen, 0, "%s, %s", l, schedule)
			most = max(most, len(seen.Choices))
		}
	}
	assert.GreaterOrEqual(t, most, 5)
}

// A choice stays where it was: by client, then by kind. Its number stands before it.
func TestChoicesHaveAStableOrder(t *testing.T) {
	s := newStage(t)
	assert.Equal(t, []string{"A>", "Ax", "B>", "Bx"}, s.level(levels.All[1], "").Choices)
	assert.Equal(t, []string{"A<", "Ax", "B>", "Bx"}, s.picks("A>").Choices)
	late := s.level(levels.All[3], "once: A> A< B>")
	assert.Equal(t, []string{"A=", "Ax", "B<", "Bx", "E"}, late.Choices)
	for i, text := range late.Texts {
		assert.True(t, strings.HasPrefix(text, fmt.Sprintf("%d ", i+1)), text)
	}
	picked := s.game("document.body.dispatchEvent(new KeyboardEvent('keydown'," +
		" {key: '5', bubbles: true, cancelable: true}))")
	assert.Contains(t, picked.Hash, "B%3E+E", "the number works without the focus")
	s.game("document.getElementById('keys').click()")
	assert.Equal(t, picked.Rows, s.game("document.body.dispatchEvent(new KeyboardEvent("+
		"'keydown', {key: '1', bubbles: true, cancelable: true}))").Rows,
		"a reader has switched the page's keys off")
}

func TestAWinLeadsTheKeyboardOn(t *testing.T) {
	s := newStage(t)
	s.level(levels.All[0], "")
	s.picks("A>")
	won := s.picks("Ax")
	assert.Equal(t, "Next: Between two commands →", won.Focus)
	assert.Contains(t, shows[string](s, `document.getElementById(
		document.activeElement.getAttribute('aria-describedby')).innerText`),
		"You broke it: orphaned.")
	s.level(levels.All[6], "")
	assert.Equal(t, "Next: First look, then delete →", s.presses("claim").Focus)
}

// A reader who skips to the text, or reloads, is still in the level.
func TestTheAddressKeepsTheLevel(t *testing.T) {
	s := newStage(t)
	before := s.level(levels.All[2], "once: A> A<")
	after := s.game("document.querySelector('.skip').click()")
	assert.Equal(t, before.Hash, after.Hash)
	assert.Equal(t, before.Choices, after.Choices)
	assert.Equal(t, "main", shows[string](s, `document.activeElement.id`))
}

// The list of the levels knows what was done in this browser.
func TestTheListShowsWhatWasDone(t *testing.T) {
	s := newStage(t)
	marked := func() string {
		s.visits(s.site + "/docs/levels.md")
		return shows[string](s, `Array.from(
			document.querySelectorAll('main li')).map(l => l.innerText).filter(
			l => l.startsWith('✓')).join('; ')`)
	}
	s.level(levels.All[0], "")
	assert.Empty(t, marked())
	s.level(levels.All[5], goal(t, levels.All[5]).Schedule)
	assert.Regexp(t, "^✓ done: What it costs: gold[^;]*$", marked())
}

func TestLevelsFitAPhoneInBothThemes(t *testing.T) {
	s := newStage(t)
	s.sized(390, 800)
	for _, theme := range []string{"light", "dark"} {
		s.level(levels.All[0], "")
		s.game(fmt.Sprintf("localStorage.setItem('theme', %q)", theme))
		for _, l := range shown() {
			seen := s.level(l, goal(t, l).Schedule)
			assert.LessOrEqual(t, seen.Wide, 0, "%s, %s", l, theme)
			assert.LessOrEqual(t, seen.Unseen, 0, "a lane of %s is cut off", l)
		}
	}
}

// A phone shows the picture and, below it, all choices.
func TestAPhoneShowsThePictureWithItsChoices(t *testing.T) {
	s := newStage(t)
	s.sized(390, 844)
	for _, l := range shown() {
		for _, schedule := range []string{"", "once: A> A<"} {
			seen := s.level(l, schedule)
			assert.Less(t, seen.Below, seen.End, "%s, %s", l, schedule)
			assert.LessOrEqual(t, seen.End, 844, "%s, %s", l, schedule)
		}
	}
}

func TestLanesFollowTheWindow(t *testing.T) {
	s := newStage(t)
	s.sized(1280, 800)
	wide := s.level(levels.All[14], "once: A> A< B>")
	require.NoError(t, chromedp.Do(s.ctx, chromedp.EmulateViewport(390, 800),
		chromedp.Poll[chromedp.Void]("document.querySelector('.lanes').scrollWidth <= "+
			"document.querySelector('.lanes').clientWidth")))
	narrow := s.game("")
	assert.Equal(t, wide.Facts, narrow.Facts)
	assert.Equal(t, wide.Rows, narrow.Rows)
}
