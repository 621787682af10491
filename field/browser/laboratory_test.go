//go:build chromium

package browser

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site"
)

// experimenting is what a reader sees of the laboratory.
const experimenting = `(() => {
	const l = document.querySelector('.laboratory');
	const text = s => l.querySelector(s)?.innerText ?? '';
	const player = l.querySelector('.player');
	return {
		state: l.dataset.state ?? '',
		outcome: text('.outcome'),
		dropped: text('.dropped'),
		dropper: l.querySelector('.dropper')?.hidden ? '' : text('.dropper'),
		status: text('.player .status'),
		summary: text('.about'),
		at: Number(player?.dataset.at ?? -1),
		verdicts: text('.verdicts'),
		scripts: Array.from(l.querySelectorAll('textarea'), a => a.ariaLabel).join(' '),
		hash: location.hash,
		wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
	};
})()`

type experiment struct {
	State, Outcome, Dropped, Dropper, Status, Summary, Verdicts, Scripts, Hash string

	At, Wide int
}

// workbench is the laboratory in a browser.
type workbench struct{ *stage }

// newBench is the site when it has compiled the laboratory.
func newBench(t *testing.T) workbench {
	b := workbench{newStage(t)}
	b.file(site.ProgramFile)
	return b
}

// file is a file of the laboratory's program, for which the site may have to compile it.
func (b workbench) file(name string) string {
	b.t.Helper()
	response, err := http.Get(b.site + "/assets/laboratory/" + name)
	require.NoError(b.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, response.StatusCode, "%.200s", content)
	return string(content)
}

// asks asks the laboratory what an address says. The program is loaded once a tab.
func (b workbench) asks(hash url.Values) experiment {
	b.t.Helper()
	b.runs("const l = document.querySelector('.laboratory'); if (l) { l.dataset.state = 'asked'; }")
	b.visits(b.site + "/docs/lab.md#" + hash.Encode())
	return b.settles()
}

// settles waits for the answer.
func (b workbench) settles() experiment {
	b.t.Helper()
	var seen experiment
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var err error
		seen, err = chromedp.Run(b.ctx, chromedp.Evaluate[experiment](experimenting))
		if err == nil && (seen.State == "ready" || seen.State == "failed") {
			break
		}
		require.True(b.t, time.Now().Before(end), "no answer: %v, %+v, %v", err, seen, b.c.take())
	}
	require.Empty(b.t, b.c.take())
	return seen
}

// tries lets the page's script do something to the laboratory, l, and waits for the
// answer.
func (b workbench) tries(what string) experiment {
	b.t.Helper()
	b.runs("const l = document.querySelector('.laboratory');"+
		" l.dataset.state = 'asked'; %s", what)
	return b.settles()
}

// presses presses the button with a text.
func (b workbench) presses(text string) experiment {
	b.t.Helper()
	return b.tries(fmt.Sprintf("Array.from(l.querySelectorAll('button')).find("+
		"b => b.innerText === %q && b.offsetParent).click()", text))
}

// change has an element of the laboratory take a value, as a reader's choice does.
const change = "const e = %s; e.value = %q; e.dispatchEvent(new Event('change'));"

// rewind shows the first step of the run.
const rewind = "l.querySelector('button[aria-label=\"to the beginning\"]').click();" +
	" l.dataset.state = 'ready'"

var overrun = url.Values{"rung": {"gold"}, "scenario": {"overrun_release"},
	"invariant": {"foreign release"}}

// A rung's page leads there, and nothing is loaded before. The page describes the run that it
// shows, with its numbers, and so does its address. The keyboard is enough, and a phone.
func TestAChangedNumberMakesAnotherRun(t *testing.T) {
	b := newBench(t)
	assert.Less(t, len(b.file(site.ProgramFile)), 6_000_000)
	for _, of := range []string{"Go go", "github.com/redis/go-redis/v9",
		"github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua"} {
		assert.Contains(t, b.file("LICENSES.txt"), "\n"+of)
	}
	b.sized(390, 900)
	b.visits(b.site + "/" + goldPage)
	assert.False(t, shows[bool](b.stage, `performance.getEntriesByType('resource').some(
		r => r.name.includes('laboratory/') || r.name.includes('worker'))`))
	b.visits(shows[string](b.stage, `document.querySelector('.player .what-if').href`))
	assert.Contains(t, b.settles().Outcome, "foreign release: breaks, 15.008 s: A's DEL")
	assert.Contains(t, b.asks(url.Values{"rung": {"gold"}}).Outcome, "two holders: breaks, 15.022 s")
	assert.Regexp(t, "C.*✗ foreign release.*✗ two holders", shows[string](b.stage, `document.querySelector('.lanes').textContent`))
	sets := func(lease string) experiment {
		return b.tries(fmt.Sprintf("const i = l.querySelector('input[aria-label^=lease]'); i.focus();"+
			" i.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));"+
			" i.value = %q; i.form.requestSubmit()", lease))
	}
	e := sets("60")
	assert.Equal(t, "With a lease of 60 s gold doesn't break in 15 s of work. The situation that"+
		" the scenario tests doesn't arise in this run. Now make the work longer.", e.Outcome)
	assert.Contains(t, e.Summary, "This run has a lease of 60 s.")
	assert.LessOrEqual(t, e.Wide, 0, "the page is wider than a phone")
	assert.Equal(t, "60", shows[string](b.stage, `Array.from(document.querySelectorAll('.laboratory .changed input'), i => i.value).join()`), "it is marked")
	is(b.stage, `String(Math.abs(document.querySelector('.outcome').getBoundingClientRect().top) < 100)`, "true") // the phone's verdict
	assert.Contains(t, b.tries(rewind).Dropper, "EX 60 NX")
	assert.Equal(t, "/docs/lab.md", shows[string](b.stage, `location.pathname`), "an arrow in a field turns no page")
	shared, err := url.ParseQuery(strings.TrimPrefix(e.Hash, "#"))
	require.NoError(t, err)
	assert.Contains(t, sets("0").Outcome, "the lease is 0 s, it must be from 0.001 to 3600 s")
	assert.Regexp(t, "foreign release: br(?s:.*)Fixed by platinum", b.presses("Undo changes").Outcome)
	assert.Contains(t, b.presses("Run platinum").Outcome, "platinum: holds; before it, gold: breaks")
	assert.Contains(t, b.asks(shared).Summary, "This run has a lease of 60 s.")
	b.asks(url.Values{"rung": {"gold"}, "lease": {"0.1"}, "latency": {"300"}}) // no reply is in time
	assert.Contains(t, b.presses("Run with a lease of 6 s").Outcome, "two holders: breaks")
}

// Another lock keeps the scenario and its faults: the same accident, one rung higher.
func TestAFaultIsDroppedOnTheMessageThatIsShown(t *testing.T) {
	b := newBench(t)
	b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_overlap"}})
	assert.Contains(t, b.tries(rewind).Dropper, "A's command 1, SET A#")
	offered := b.tries("l.querySelector('.dropper').requestSubmit()")
	assert.Contains(t, offered.Dropped, "A's command 1: the reply is late by 0.3 s")
	assert.Regexp(t, "^two holders: ", offered.Outcome, "what is offered can be judged")
	e := b.tries(fmt.Sprintf(change, "l.querySelector('.dropper select')", "lost reply") +
		" l.querySelector('.dropper').requestSubmit()")
	assert.Contains(t, e.Dropped, "A's command 1: the reply is lost")
	assert.Contains(t, e.Status, "which is lost")
	assert.Contains(t, e.Hash, "faults=A.1.lost+reply.0")
	assert.Regexp(t, "^A's Lock returns an error .* ends there, without a verdict on two holders\\.$", e.Outcome)
	e = b.presses("let A ask again")
	assert.Contains(t, e.Outcome, "A asks again, and its own lock is in its way.")
	assert.Contains(t, e.Dropped, "A asks again after an error")
	assert.Empty(t, b.presses("take it back").Dropped)
	hangs := b.asks(url.Values{"rung": {"diamond/watchdog"}, "scenario": {"renewal_hangs"}, "faults": {"A.3.hang.0"}})
	assert.Regexp(t, `false loss: breaks.*\nThe next rungs \(diamond/fenced, .* don't fix it with this change\.$`, hangs.Outcome)
	assert.Regexp(t, `no answer.*no answer.*A learns of its loss`, shows[string](b.stage, `document.querySelector('.lanes').textContent`))
	for _, rung := range []string{"gold", "platinum"} { // none is accused of what the other is excused
		assert.Regexp(t, "two holders: holds\nFrom 20.0.* A and B both .* overrun_overlap does", b.asks(url.Values{
			"rung": {rung}, "scenario": {"overrun_release"}, "lease": {"20"}, "work": {"200"}}).Outcome)
	}

	run := url.Values{"faults": {"A.1.late reply.300"}}
	maps.Copy(run, overrun)
	b.asks(run)
	chooses := func(lock string) experiment {
		return b.tries(fmt.Sprintf(change, "l.querySelector('.settings select')", lock))
	}
	e = chooses("diamond")
	assert.Contains(t, e.Outcome, "diamond: holds; before it, gold: breaks at 15.008 s.\nforeign release: holds")
	assert.Contains(t, e.Hash, "scenario=overrun_release&invariant=foreign+release")
	assert.Contains(t, e.Dropped, "A's command 1: the reply is late by 0.3 s")
	assert.Contains(t, chooses("gold").Outcome, "gold: breaks at 15.008 s; before it, diamond: holds.\n")
	e = b.tries(fmt.Sprintf(change, "lockladder.laboratory.other", "diamond"))
	assert.Contains(t, e.Outcome, "gold: breaks at 15.008 s.\ndiamond: holds.\n")
	assert.Equal(t, "gold breaks: foreign release, diamond holds", shows[string](b.stage,
		`Array.from(document.querySelectorAll('.views.two .lock'), h => h.innerText.trim()).join(', ')`))
	e = chooses("exercise fenced") // which has no such scenario
	assert.NotContains(t, e.Outcome, "; gold")
	assert.Empty(t, e.Dropped)
}

// A script that never ends is said to run, and is stopped by a button. Nobody has to press
// it.
func TestAScriptIsEditedAndRun(t *testing.T) {
	b := newBench(t)
	first := b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_release"},
		"invariant": {"foreign release"}})
	assert.Contains(t, first.Outcome, "foreign release: holds")
	assert.Equal(t, "diamond/release.lua", first.Scripts)
	edited := func(text string) string {
		return fmt.Sprintf("l.querySelector('details').open = true;"+
			" l.querySelector('textarea').value = %q;"+
			" l.querySelector('.settings').requestSubmit()", text)
	}
	assert.Contains(t, b.tries(edited("return redis.call('DEL', KEYS[1])")).Outcome, "foreign release: breaks")
	assert.Regexp(t, `: \d+ break, [1-9]\d* only because of your change, \d+ hold`,
		b.presses("Run all scenarios").Outcome)
	assert.Regexp(t, `^One of .* worlds breaks diamond .*\.\n(foreign release|false success): `,
		b.presses("A hundred random worlds").Outcome)
	assert.Contains(t, b.tries(edited("if x")).Outcome, "release.lua is not Lua: syntax error")
	assert.Contains(t, b.tries(edited("return redis.call('NOSUCH')")).Outcome,
		"can't release a lock that it holds")

	forever := edited("while true do end")
	loops := func() {
		b.runs("const l = document.querySelector('.laboratory'); %s", forever)
		comes(b.stage, `document.querySelector('.laboratory .progress').innerText`,
			func(c *assert.CollectT, text string) {
				assert.Regexp(c, `^\d+ s, does a script loop forever\?\s+stop$`, text)
			})
	}
	loops()
	assert.Regexp(t, `^Stopped after \d+ s\.$`, b.presses("stop").Outcome)
	e := b.tries("lockladder.laboratory.program.patience = 1; " + forever)
	assert.Contains(t, e.Outcome, "There was no answer within 1 s. Does a script loop")
	b.tries("lockladder.laboratory.program.patience = 300; l.dataset.state = 'ready'")
	loops() // the next question ends it
	assert.Contains(t, b.presses("Undo changes").Outcome, "foreign release: holds")
	assert.Contains(t, b.presses("A hundred random worlds").Outcome, "In 100 random worlds diamond broke nothing")
}

// A sentence has the numbers of a run, and says what comes of others.
func TestANumberIsChangedInASentence(t *testing.T) {
	b := newBench(t)
	for page, says := range map[string]string{"ttl.md": "two holders, ",
		"3-gold.md": "foreign release, ", "6-watchdog.md": "diamond/watchdog doesn't break"} {
		b.visits(b.site + "/docs/" + page)
		for i, says := range []string{"doesn't break", says} {
			b.runs(`document.querySelector('.tried + .outcome').textContent = '';
				const s = document.querySelector('.tried input'); s.value = %d;
				s.dispatchEvent(new Event('input'))`, 20-8*i)
			comes(b.stage, `document.querySelector('.tried + .outcome').textContent`,
				func(c *assert.CollectT, text string) { assert.Contains(c, text, says, page) })
		}
		assert.Contains(t, shows[string](b.stage, `document.querySelector('.tried a').href`),
			"lease=12&work=100")
	}
}

// While the site compiles the program, the page says for how long, and can stop waiting.
func TestThePageWaitsForTheProgramInSeconds(t *testing.T) {
	served := site.NewSite(root)
	served.Program = func(ctx context.Context) (map[string][]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := workbench{stageOf(t, served)}
	b.visits(b.site + "/docs/lab.md")
	b.runs(`document.querySelector('main li a[href*="scenario=overrun_release"]').click()`)
	comes(b.stage, `document.querySelector('.laboratory .progress').innerText`,
		func(c *assert.CollectT, text string) {
			assert.Regexp(c, `^waiting for the site, which compiles it first, \d s\s+stop$`, text)
		})
	assert.Regexp(t, `^The laboratory can't be loaded: Stopped after \d s\.$`,
		b.presses("stop").Outcome)
	assert.True(t, shows[bool](b.stage, `Array.from(document.querySelectorAll(
		'.laboratory button')).some(b => b.innerText.startsWith('Start') && !b.disabled)`))
}

// An exercise whose solution changes only Lua is solved in the browser.
func TestAnExerciseIsSolvedInTheBrowser(t *testing.T) {
	b := newBench(t)
	b.visits(b.site + "/docs/exercises/fenced/README.md")
	b.visits(shows[string](b.stage, `document.querySelector('main a[href*="lab.md#rung="]').href`))
	assert.Contains(t, b.settles().Scripts, "diamond/fenced/acquire.lua")
	e := b.presses("Check the exercise")
	assert.Contains(t, e.Outcome, "Not solved yet: 1 of")
	assert.Contains(t, e.Verdicts, "paused_holder")
	solution, err := fs.ReadFile(root, "diamond/fenced/acquire.lua")
	require.NoError(t, err)
	b.tries(fmt.Sprintf("l.querySelector('textarea[aria-label$=\"acquire.lua\"]').value"+
		" = %q; l.dataset.state = 'ready'", solution))
	assert.Contains(t, b.presses("Check the exercise").Outcome,
		"Solved: exercise fenced holds all its scenarios.")

	b.visits(b.site + "/docs/exercises/gold/README.md")
	b.visits(shows[string](b.stage, `document.querySelector('main a[href*="exercise=gold"]').href`))
	assert.Contains(t, b.settles().Outcome, "until it stands on gold. The exercise, with hints")
	assert.NotContains(t, b.presses("Run this scenario").Outcome, "Fixed by", "the learner fixes it")
	assert.NotContains(t, b.presses("Run all scenarios").Outcome, "solved", "it stands on silver")
	b.tries("lockladder.laboratory.code.value = lockladder.laboratory.templates.gold; l.dataset.state = 'ready'")
	assert.Contains(t, b.presses("Run all scenarios").Outcome, "The exercise is solved.")
}

// A rung that is written as generator functions gets the verdicts of the rung in Go.
func TestATemplateBreaksWhatItsRungBreaks(t *testing.T) {
	locktest.Long(t, "it runs every scenario of six rungs twice")
	b := newBench(t)
	b.asks(overrun)
	templates, err := fs.Glob(root, "docs/own/*.js")
	require.NoError(t, err)
	require.Len(t, templates, 6)
	for _, file := range templates {
		code, err := fs.ReadFile(root, file)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(regexp.MustCompile(`(?m)^.*\S`).FindAll(code, -1)), 15, file)
		rung := strings.Replace(strings.TrimSuffix(path.Base(file), ".js"), "watchdog",
			"diamond/watchdog", 1)
		b.tries(fmt.Sprintf(`const ask = async q => JSON.parse(
				await lockladder.laboratory.program.ask(q));
			const verdicts = [];
			const said = async (scenario, code) => {
				const a = await ask({rung: %[1]q, scenario, invariant: '', code});
				if (code) verdicts.push(...a.verdicts ?? []);
				return [scenario, a.error, ...(a.verdicts ?? []).map(
					v => v.invariant + ' ' + v.verdict)].join();
			};
			(async () => {
				for (const s of lockladder.laboratory.catalogue.scenarios) {
					const rung = await said(s.name), written = await said(s.name, %[2]q);
					if (rung !== written) throw new Error(rung + ' BUT ' + written);
				}
				const own = (await ask({grade: verdicts})).grade.rung;
				if (own !== %[1]q) throw new Error('its grade is ' + own);
			})().catch(e => e.message).then(e => {
				l.dataset.differs = e ?? '';
				l.dataset.state = 'ready';
			})`, rung, code))
		assert.Empty(t, shows[string](b.stage,
			`document.querySelector('.laboratory').dataset.differs`), rung)
	}
}

// A learner writes a lock, sees which line is under way, and is told of a mistake in a
// line that names its place.
func TestALearnerWritesALock(t *testing.T) {
	b := newBench(t)
	b.visits(b.site + "/docs/lab.md")
	assert.Contains(t, b.presses("Write your own lock").Outcome, "orphaned: breaks")
	b.asks(url.Values{"rung": {"your lock"}, "scenario": {"overrun_release"}})
	writes := func(code string) experiment {
		return b.tries(fmt.Sprintf("lockladder.laboratory.code.value = %q;"+
			" lockladder.laboratory.code.dispatchEvent(new Event('input'));"+
			" l.querySelector('.settings').requestSubmit()", code))
	}
	gold := shows[string](b.stage, "lockladder.laboratory.templates.gold")
	assert.Contains(t, writes(gold).Outcome, "foreign release: breaks, 15.008 s: A's DEL")
	b.tries("const p = lockladder.laboratory.player; p.go(p.main.run.data.broken); l.dataset.state = 'ready'")
	assert.Equal(t, "  return (yield ['DEL', key]) === 1;",
		shows[string](b.stage, `document.querySelector('.laboratory li.now code').textContent`))
	e := b.presses("Run all scenarios")
	assert.Contains(t, e.Outcome, "Your lock stands on gold.\nTo reach platinum:\noverrun_release (A deletes")
	assert.Contains(t, e.Outcome, "Your lock breaks where gold and gold/script break")
	assert.Contains(t, b.presses("A hundred random worlds").Outcome, "your lock broke nothing but what its scenarios show")
	b.tries("lockladder.laboratory.played = { key: lockladder.laboratory.played.key, end: 0, shown: [] }; l.dataset.state = 'ready'")
	worlds := b.presses("A hundred random worlds")
	assert.Regexp(t, `^One of the first \d+ .* breaks your lock in a way .*\.\n[a-z ]+: breaks, \d+\.\d+ s: `, worlds.Outcome)
	assert.Contains(t, worlds.Summary, " calls ", "the story")
	assert.GreaterOrEqual(t, worlds.At, 0, "in the player")
	assert.Equal(t, worlds.Outcome, b.tries("lockladder.laboratory.read()").Outcome, "its address")
	for code, says := range map[string]string{
		"function* tryLock() {\n  return (yield ['GET' key]);\n}": "Line 2 of your code: Unexpected",
		"function* tryLock() {":                                   "Your code ends too early",
		"function* tryLock() {\n\n  x.y = 1;\n}":                  "Line 3 of your code: x is not defined.",
		"function* tryLock() { return 1; }":                       "tryLock returns 1: it must return true if",
		"function* tryLock() { Date.now(); }":                     "Line 1 of your code: time is virtual here",
		"function* tryLock() { yield 5; }":                        "tryLock yields 5: yield a command",
		"function* tryLock() {\nyield ['SAT'];}":                  "Line 2 of your code: there is no command SAT",
		"function* tryLock() { for (;;) yield sleep(1); }":        "Line 1 of your code: tryLock loops",
		"function tryLock() {}":                                   "Line 1 of your code: a lock needs",
		"function* tryLock() {\nfor (;;); }":                      "Line 2 of your code: this loop",
		"function* tryLock() {\nreturn ['GET', key]; }":           "tryLock returns a command that was",
		"function* tryLock() { return false; }":                   "Line 1 of your code: tryLock return",
	} {
		if !strings.HasSuffix(code, "{") {
			code += "\nfunction* unlock() {}"
		}
		assert.Contains(t, writes(code).Outcome, says)
	}
	writes("let m;\nfunction* tryLock() { m = token(); return true; }\nfunction* unlock() { yield ['GET', m]; }")
	assert.Contains(t, b.presses("Run all scenarios").Verdicts, "Here unlock was called before tryLock")
	writes(string(gold))

	// The browser keeps it, and a link has it; somebody else's is read before it is run.
	b.loads(b.site + "/docs/lab.md#rung=your+lock")
	b.settles()
	assert.Equal(t, string(gold), shows[string](b.stage, `lockladder.laboratory.code.value`))
	assert.Contains(t, b.asks(url.Values{"rung": {"your lock"}, "code": {"function* tryLock() {}"}}).Outcome,
		"This lock came with the link.")
}
