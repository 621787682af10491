//go:build chromium

package browser

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/scenarios/explore"
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
		cards: text('.cards'),
		choices: Array.from(g.querySelectorAll('.choices button'), b => b.dataset.action),
		waits: Array.from(g.querySelectorAll('.pane li')).filter(
			li => li.querySelector('.here')).map(li =>
			Array.from(li.querySelectorAll('.here b')).map(b => b.innerText).join('') +
			': ' + li.querySelector('code').innerText.trim()),
		command: text('.command'),
		facts: text('.facts'),
		rows: g.querySelectorAll('.lanes .time').length,
		texts: Array.from(g.querySelectorAll('.choices button'), b => b.innerText).join('; '),
		sent: Array.from(g.querySelectorAll('.lanes .sent')).map(t => t.textContent).join('; '),
		lanes: Array.from(g.querySelectorAll('.lanes .what')).map(t => t.textContent).join('\n'),
		broken: Array.from(g.querySelectorAll('.lanes .why')).map(t => t.textContent),
		unseen: g.querySelector('.lanes').scrollWidth - g.querySelector('.lanes').clientWidth,
		below: Math.round(g.querySelector('.lanes').getBoundingClientRect().bottom + scrollY),
		focus: document.activeElement.innerText,
		solved: g.querySelectorAll('.levels li').length -
			Array.from(g.querySelectorAll('.levels li')).filter(
			l => !l.textContent.startsWith('✓')).length,
		hash: location.hash,
		wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
	};
})()`

type gamed struct {
	State, Title, Verdict, Advice, Cards, Command, Facts, Hash, Lanes, Focus, Texts, Sent string

	Choices, Broken, Waits            []string
	Rows, Solved, Wide, Unseen, Below int
}

// graph is what a test needs of the state graph on a level's page.
type graph struct {
	Schedules string
	Goals     []struct {
		Invariant, Schedule, Failing string
		Steps                        int
	}
}

// levelOf is the address of a rung's level.
func levelOf(rung, invariant string) string {
	return "/docs/levels/" + rung + ".json#level=" + invariant
}

// level opens a level after the actions of a schedule.
func (s *stage) level(address, schedule string) gamed {
	s.t.Helper()
	if schedule != "" {
		address += "&" + url.Values{"s": {schedule}}.Encode()
	}
	s.visits(s.site + address)
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

// picks takes actions by their buttons, one after the other.
func (s *stage) picks(actions string) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("for (const a of %q.split(' ')) {"+
		" g.querySelector(`.choices button[data-action='${a}']`).click(); }", actions))
}

func (s *stage) presses(button string) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("Array.from(g.querySelectorAll('.controls button'))."+
		"find(b => b.innerText.startsWith(%q)).click()", button))
}

// reasons picks one of the lines that a level offers as a proof's reason.
func (s *stage) reasons(level, nth int) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("const line = JSON.parse(g.querySelector('script.levels')."+
		"textContent)[%d].lines[%d]; Array.from(g.querySelectorAll('.reasons button'))."+
		"find(b => b.querySelector('code').textContent === line).click()", level, nth))
}

// Every level is solved by the explorer's schedule, or by the claim that there is none and the line
// that prevents it. The break is marked, and the picture is on a laptop's and a phone's screen.
func TestEveryLevelCanBeSolved(t *testing.T) {
	s := newStage(t)
	s.visits(s.site + "/docs/levels.md")
	levels := shows[[]string](s, `Array.from(document.querySelectorAll(
		'main ol a[href*="#level="]')).map(a => a.pathname + a.hash)`)
	require.Len(t, levels, 15)
	for i, address := range levels {
		for _, width := range []int64{390, 1280} {
			if testing.Short() && i%3 > 0 {
				continue
			}
			s.sized(width, 800)
			s.loads(s.site + address)
			seen := s.level(address, "once: A> A<")
			assert.LessOrEqual(t, max(seen.Wide, seen.Unseen), 0, "%s, %d", address, width)
			assert.LessOrEqual(t, seen.Below, 800, "%s, %d", address, width)
		}
		begin := s.level(address, "")
		_, invariant, _ := strings.Cut(address, "#level=")
		invariant = strings.ReplaceAll(invariant, "-", " ")
		g := shows[graph](s, `JSON.parse(document.querySelector('script.graph').textContent)`)
		best := g.Goals[0]
		for _, goal := range g.Goals {
			if goal.Invariant == invariant {
				best = goal
			}
		}
		claimed := s.presses("no schedule")
		if best.Schedule == "" {
			assert.Contains(t, claimed.Cards, "Which line of the code prevents it?")
			assert.Contains(t, s.reasons(i, 1).Cards, "Not this one: without")
			proved := s.reasons(i, 0)
			assert.Contains(t, proved.Verdict, "proved: 0 of "+g.Schedules+" schedules")
			assert.Regexp(t, `What prevents it is (?s:.*)\. [A-Z][^.]+\.\s+(Next|That)`, proved.Cards)
			assert.Equal(t, []int{i, i + 1}, []int{claimed.Solved, proved.Solved})
			continue
		}
		assert.Equal(t, "open", begin.State)
		assert.Contains(t, claimed.Advice, "It can be broken: "+best.Failing)
		_, actions, _ := strings.Cut(best.Schedule, ": ")
		won := s.picks(actions)
		assert.Equal(t, "won", won.State, address)
		assert.Contains(t, won.Verdict, fmt.Sprintf("You broke it: %s. %d actions, which is"+
			" the fewest", invariant, best.Steps))
		assert.Equal(t, begin.Below, won.Below, "the picture jumps")
		assert.Empty(t, shows[string](s, cutOff), address)
		assert.Contains(t, won.Broken, "✗ "+invariant)
		assert.Contains(t, won.Command, "'"+best.Schedule+"'")
		assert.Equal(t, i+1, won.Solved)
	}
}

// A level is played by keys, whose schedule is in the address and can be taken back. A win
// leads the keyboard and a screen reader on.
func TestALevelIsPlayedByKeys(t *testing.T) {
	s := newStage(t)
	s.level(levelOf("gold", "two-holders"), "")
	moved := s.picks("A> A<")
	assert.Equal(t, 3, moved.Rows)
	assert.Contains(t, moved.Hash, url.Values{"s": {"once: A> A<"}}.Encode())
	assert.Equal(t, []int{2, 1}, []int{s.presses("undo").Rows, s.presses("restart").Rows})
	again := s.level(levelOf("gold", "two-holders"), "once: A> A<")
	assert.Equal(t, []any{moved.Choices, moved.Facts}, []any{again.Choices, again.Facts})
	assert.Equal(t, 4, s.game("const i = g.querySelector('input'); i.value = 'gold/once: A> A< E';"+
		" i.dispatchEvent(new Event('change'))").Rows)
	wrong := s.level(levelOf("gold", "two-holders"), "once: A> B=")
	assert.Equal(t, []any{"B= is not possible after A>.", 2}, []any{wrong.Advice, wrong.Rows})

	s.level(levelOf("bronze", "orphaned"), "")
	const key = "g.querySelector('.choices').dispatchEvent(new KeyboardEvent('keydown', {key: %q, bubbles: true, cancelable: true}))"
	assert.Equal(t, []int{2, 1}, []int{s.game(fmt.Sprintf(key, "1")).Rows, s.game(fmt.Sprintf(key, "ArrowLeft")).Rows})
	assert.Equal(t, 1, s.game(fmt.Sprintf(key, "9")).Rows, "there is no ninth choice")
	assert.Equal(t, "Next: Between two commands →", s.picks("A> Ax").Focus)
	assert.Contains(t, shows[string](s, `document.getElementById(
		document.activeElement.getAttribute('aria-describedby')).innerText`),
		"You broke it: orphaned.")
}

// Hints say how far it is, whose turn it is, and which action leads to the goal. The third one
// leads there when it is followed to the end, and a reader is told when nothing leads there any more.
func TestALevelHelps(t *testing.T) {
	s := newStage(t)
	g := s.level(levelOf("gold", "foreign-release"), "")
	for n := 7; g.State != "won"; n-- {
		assert.Contains(t, s.presses("hint").Advice, fmt.Sprintf("DEL names a key, not whose lock it is. %d action", n))
		assert.Regexp(t, `^It is (A|B|the clock)'s turn\.`, s.presses("hint").Advice)
		assert.Contains(t, s.presses("hint").Advice, "One way on: ")
		g = s.game("g.querySelector('.choices .hinted').click()")
	}
	assert.Contains(t, g.Verdict, "You broke it: foreign release")
	assert.Equal(t, "two holders: an earlier level asks for that. Halfway there: go on to lost update.",
		s.level(levelOf("gold", "lost-update"), "once: A> A< E B> B<").Verdict)
	half := s.level(levelOf("gold", "lost-update"), "once: A> A< A= E B> B< B= A=")
	assert.Regexp(t, "^stale write: a write is accepted .* go on to lost update.1$", half.Verdict+fmt.Sprint(half.Solved))
	stuck := s.level(levelOf("gold", "foreign-release"), "once: A> A< A= A= A> A< B> B< B=") // all is, later
	assert.Contains(t, stuck.Verdict, "5 (A: DEL lock:stock → 1) “foreign release” can't happen any more: undo")
	assert.Regexp(t, "^Nothing more can break in this order: try another, or say that [^.]*.$",
		s.level(levelOf("diamond/fenced", "stale-write"), "once: A> A< E B> B<").Verdict)
	assert.Contains(t, s.level(levelOf("diamond/watchdog", "two-holders"), "once: A> A< Az E B> B<").Verdict, "so B gives the lock back")
	s.runs("document.getElementById('slides').click()") // with the moves
	comes(s, "document.querySelectorAll('[data-slide] .lanes .time').length", func(c *assert.CollectT, rows int) { assert.Equal(c, 7, rows) })
	won := "document.querySelector('[data-slide] .game')?.dataset.state + location.pathname"
	s.visits(s.site + "/docs/levels/bronze.json?slides#level=orphaned&s=once: A> Ax")
	is(s, won, "won/docs/levels/bronze.json")
	s.key("PageDown")
	is(s, won, "open/docs/levels/silver.json")
	s.key("PageUp") // as it was
	is(s, won, "won/docs/levels/bronze.json")
}

// What is under way is seen: a client that crashes has sent its next command before.
// Scripts have their names. The code shows where each client waits: for a command's reply,
// or before its next call, from the start.
func TestWhatIsUnderWayIsSeen(t *testing.T) {
	s := newStage(t)
	granted := s.level(levelOf("silver", "orphaned"), "once: A> A<")
	assert.Regexp(t, "A's PEXPIRE arrives at Redis.*A crashes, after it has sent its PEXPIRE", granted.Texts)
	crashed := s.picks("Ax")
	assert.Regexp(t, "even if A is dead.PEXPIRE lock:stock 10000, sent", crashed.Verdict+crashed.Sent)
	script := s.level(levelOf("diamond/fenced", "stale-write"), "")
	assert.Contains(t, script.Texts, "A's acquire.lua arrives at Redis")
	assert.Contains(t, script.Sent, "EVALSHA acquire.lua lock:stock A")
	late := s.level(levelOf("diamond/fenced", "stale-write"), "once: A> A< A= B> B< E B> B< B= A= B=")
	assert.Contains(t, late.Lanes, "writes, and the storage refuses it")
	assert.Empty(t, late.Broken)
	dead := s.level(levelOf("gold", "lost-update"), "once: A> A< A= Ax")
	assert.Contains(t, dead.Texts, "A's request, sent before, writes to the storage")
	assert.Contains(t, s.picks("A=").Lanes, "writes 1")
	is(s, `document.querySelector('.lanes .names').textContent`, "ABRedisstorage")

	assert.Equal(t, []string{
		"A: func (l *Lock) Unlock(ctx context.Context) error {",
		"B: func (l *Lock) TryLock(ctx context.Context) (bool, error) {",
	}, s.level(levelOf("gold", "two-holders"), "once: A> A< B> B<").Waits)
	const asks = `granted, err := l.rdb.SetNX(ctx, l.key, "locked", 0).Result()`
	assert.Equal(t, []string{"A: " + asks, "B: " + asks}, s.level(levelOf("bronze", "orphaned"), "").Waits)
}

// arrow clicks what the picture has for an action.
func (s *stage) arrow(action string) gamed {
	s.t.Helper()
	return s.game(fmt.Sprintf("g.querySelector(\".lanes [data-action='%s']\")."+
		"dispatchEvent(new MouseEvent('click', {bubbles: true}))", action))
}

// cutOff is the way on after a win, if it can't be seen whole.
const cutOff = `Array.from(document.querySelectorAll('.game .next')).filter(a => {
	const way = a.getBoundingClientRect(), end = a.closest('.scroll').getBoundingClientRect();
	return way.bottom > end.bottom || way.top < end.top;
}).map(a => a.innerText).join()`

// A level is won by clicks in its picture, and the win says what happened and at which
// line. The next rung gets the same schedule, and shows where it differs.
func TestAWinIsExplainedAndPlayedAgainstTheNextRung(t *testing.T) {
	s := newStage(t)
	assert.NotContains(t, s.level(levelOf("bronze", "orphaned"), "once: A> Ax").Cards, "same schedule", "level 2 asks for it")
	assert.Regexp(t, `PEXPIRE, .*, was never sent: A crashed in step 2\. (?s:.*)silver/lock.go:45: `,
		s.level(levelOf("silver", "orphaned"), "once: A> Ax").Cards)
	assert.Regexp(t, "GET saw its own token in step 5, but since step 8 .* gap between GET and DEL",
		s.level(levelOf("platinum", "foreign-release"), "once: A> A< A= A= A> A< E B> A>").Cards)
	s.level(levelOf("bronze", "orphaned"), "")
	s.arrow("A>")
	won := s.arrow("Ax")
	assert.Regexp(t, `(?s)The key is A's since step 1, and has no expiry. A crashed in step 2.*The next rung, silver: `+
		`PEXPIRE after SET NX.*bronze/lock.go:36: granted, err := l.rdb.SetNX\(`, won.Cards)
	assert.Equal(t, []any{"won", 0}, []any{won.State, len(won.Choices)})
	for _, next := range []string{
		"(?s)silver does the same as bronze. The schedule breaks it, too.*silver/lock.go:45, comes too late",
		"gold differs from silver in step 1. The schedule doesn't break it, and neither does any other of 69722."} {
		s.runs("document.querySelector('.game .same').click()")
		comes(s, `document.querySelector('.game .compared')?.innerText ?? ''`,
			func(c *assert.CollectT, says string) { assert.Regexp(c, next, says) })
	}
	assert.Regexp(t, "(?s)Next: Between two commands.*SET locked EX 10 NX", s.game("").Cards)
	assert.Equal(t, "gold, same schedule", s.game("").Title)

	// Another value in the key is no other step.
	s.level(levelOf("gold", "foreign-release"), "once: A> A< A= A= E B> A>")
	s.runs("location.href = document.querySelector('.game .same').href") // by the address alone
	comes(s, `document.querySelector('.game .compared p')?.innerText ?? ''`,
		func(c *assert.CollectT, says string) {
			assert.Contains(c, says, "platinum differs from gold in step 7.")
		})
}

// A graph of such a lock is a level for each invariant, and what is done there leaves the reader's
// progress on the ladder alone. A walk that didn't reach its end is no proof.
func TestAGraphOfAnOwnLockIsALevel(t *testing.T) {
	walked := func(states int) (*stage, explore.Report) {
		dir := t.TempDir()
		report := explore.Run(t, buildOwn, explore.Bounds{Expiries: 1, States: states,
			Programs: []explore.Program{explore.Once}}, explore.Record(dir))
		return opens(t, filepath.Join(dir, "once.json")), report
	}
	s, report := walked(0)
	best, found := report.Failure(explore.ForeignRelease)
	require.True(t, found)
	won := s.level("/opened#level=foreign-release", best.Schedule)
	assert.Equal(t, []any{"won", 1}, []any{won.State, won.Solved})
	assert.Contains(t, won.Verdict, fmt.Sprintf("%d actions, which is the fewest", best.Steps))
	assert.Equal(t, `explore.Replay(t, build, bounds, "`+best.Schedule+`")`, won.Command)
	next := s.game("g.querySelector('.next').click()")
	assert.Contains(t, next.Title, "Foreign renewal")
	assert.Contains(t, s.presses("no schedule").Verdict, "✓ proved: 0 of ")
	assert.Zero(t, shows[int](s, `localStorage.length`))
	assert.LessOrEqual(t, next.Wide, 0)

	s, _ = walked(20)
	s.level("/opened#level=orphaned", "")
	claimed := s.presses("no schedule")
	assert.NotContains(t, claimed.Verdict, "proved")
	assert.Contains(t, claimed.Advice, "the explorer stopped after")
}
