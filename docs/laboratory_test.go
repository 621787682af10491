//go:build chromium

package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/laddertest"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/exercise"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/internal/site/whatif"
)

// experimenting is what a reader sees of the laboratory.
const experimenting = `(() => {
	const l = document.querySelector('.laboratory');
	const text = s => l.querySelector(s)?.innerText ?? '';
	const player = l.querySelector('.player');
	return {
		state: l.dataset.state ?? '',
		took: Number(l.dataset.took ?? -1),
		outcome: text('.outcome'),
		dropped: text('.dropped'),
		dropper: l.querySelector('.dropper')?.hidden ? '' : text('.dropper'),
		status: text('.player .status'),
		summary: text('.player .summary'),
		at: Number(player?.dataset.at ?? -1),
		verdicts: text('.verdicts'),
		scripts: Array.from(l.querySelectorAll('textarea')).map(
			a => a.getAttribute('aria-label')).join(' '),
		hash: location.hash,
		wide: document.documentElement.scrollWidth -
			document.documentElement.clientWidth,
	};
})()`

type experiment struct {
	State, Outcome, Dropped, Dropper, Status, Summary, Verdicts, Scripts, Hash string

	Took, At, Wide int
}

// compiled is compiled once for all tests.
var compiled = &program{root: "..", life: context.Background()}

// workbench is the laboratory in a browser.
type workbench struct{ *stage }

// newBench opens the laboratory's page on a site that has compiled it before.
func newBench(t *testing.T) workbench {
	_, err := compiled.Files(t.Context())
	require.NoError(t, err)
	served := site.NewSite(recordings(t))
	served.Program = compiled.Files
	return workbench{stageOf(t, served)}
}

// asks opens the laboratory with what an address says.
func (b workbench) asks(hash url.Values) experiment {
	b.t.Helper()
	b.loads(b.site + "/docs/lab.md#" + hash.Encode())
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
		require.True(b.t, time.Now().Before(end), "no answer: %v, %+v, %v", err, seen,
			b.c.take())
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

// sets types a number into a field and runs the scenario.
func (b workbench) sets(field, value string) experiment {
	b.t.Helper()
	return b.tries(fmt.Sprintf("l.querySelector(%q).value = %q;"+
		" l.querySelector('.settings').requestSubmit()",
		"input[aria-label^='"+field+"']", value))
}

// presses presses the button with a text.
func (b workbench) presses(text string) experiment {
	b.t.Helper()
	return b.tries(fmt.Sprintf("Array.from(l.querySelectorAll('button')).find("+
		"b => b.innerText === %q && b.offsetParent).click()", text))
}

var overrun = url.Values{"rung": {"gold"}, "scenario": {"overrun_release"},
	"invariant": {"foreign release"}}

func TestARungPageLeadsToTheLaboratory(t *testing.T) {
	b := newBench(t)
	b.visits(b.site + "/" + goldPage)
	assert.False(t, shows[bool](b.stage, `performance.getEntriesByType('resource').some(
		r => r.name.includes('laboratory'))`), "nothing is loaded before it is asked for")
	b.visits(shows[string](b.stage, `document.querySelector('.player .what-if').href`))
	e := b.settles()
	assert.Contains(t, e.Outcome, "foreign release: breaks, 15.008 s: A's DEL")
	t.Logf("a run took %d ms", e.Took)
}

func TestTheLaboratoryIsSmallAndSoonReady(t *testing.T) {
	b := newBench(t)
	files, err := compiled.Files(t.Context())
	require.NoError(t, err)
	assert.Less(t, len(files[site.ProgramFile]), 6_000_000)
	t.Logf("%s has %d bytes", site.ProgramFile, len(files[site.ProgramFile]))
	for _, of := range []string{"Go go", "github.com/redis/go-redis/v9",
		"github.com/alicebob/miniredis/v2", "github.com/yuin/gopher-lua"} {
		assert.Contains(t, string(files["LICENSES.txt"]), "\n"+of)
	}
	b.visits(b.site + "/docs/lab.md")
	began := time.Now()
	e := b.tries("l.querySelector('button').click()")
	t.Logf("loaded and run within %v, of which the run took %d ms", time.Since(began),
		e.Took)
	assert.NotEqual(t, "failed", e.State, e.Outcome)
	again := b.presses("Run with these numbers")
	t.Logf("the second run took %d ms", again.Took)
	if testing.Short() {
		return // the rest measures the slowest run
	}
	slowest := url.Values{"rung": {"redlock"}, "scenario": {"oversell"}}
	time.Sleep(4 * time.Second) // a learner reads, and the program gets faster
	e = b.tries(fmt.Sprintf("location.hash = %q", slowest.Encode()))
	t.Logf("then the slowest took %d ms", e.Took)
	t.Logf("when the page opens with it, it takes %d ms", b.asks(slowest).Took)
	for range 5 {
		e := b.presses("Run with these numbers")
		assert.Equal(t, "ready", e.State, e.Outcome)
		t.Logf("and the next %d ms", e.Took)
	}
}

func TestAChangedNumberMakesAnotherRun(t *testing.T) {
	b := newBench(t)
	assert.Contains(t, b.asks(overrun).Outcome, "foreign release: breaks")
	e := b.sets("lease", "60")
	assert.NotContains(t, e.Outcome, "foreign release: breaks")
	assert.Contains(t, e.Hash, "lease=60")
	assert.Contains(t, b.sets("lease", "0").Outcome,
		"the lease is 0 s, it must be from 0.001 to 3600 s")
	assert.Contains(t, b.presses("As it is written").Outcome, "foreign release: breaks")
	shared := url.Values{"lease": {"60"}}
	maps.Copy(shared, overrun)
	assert.NotContains(t, b.asks(shared).Outcome, "foreign release: breaks",
		"the address has the numbers")
}

// The page describes the run that it shows, with its numbers.
func TestNoTextSpeaksOfTheOldLease(t *testing.T) {
	b := newBench(t)
	b.asks(overrun)
	first := b.tries("l.querySelector('button[aria-label=\"to the beginning\"]').click();" +
		" l.dataset.state = 'ready'")
	assert.Contains(t, first.Dropper, "EX 10 NX")
	assert.NotContains(t, first.Summary, "As it is written")
	e := b.sets("lease", "20")
	assert.Contains(t, e.Dropper, "EX 20 NX")
	assert.NotContains(t, e.Dropper, "EX 10")
	assert.Contains(t, e.Summary, "overrun_release: As it is written: ")
	assert.Contains(t, e.Summary, "In this run the lease is 20 s.")
	assert.Equal(t, "foreign release: does not arise · two holders: does not arise · The"+
		" situation of this scenario didn't come about in this run.", e.Outcome)
}

func TestAFaultIsDroppedOnTheMessageThatIsShown(t *testing.T) {
	b := newBench(t)
	b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_overlap"}})
	shown := b.tries("l.querySelector('button[aria-label=\"to the beginning\"]').click();" +
		" l.dataset.state = 'ready'")
	assert.Contains(t, shown.Dropper, "A's command 1, SET lock:stock A#")
	offered := b.tries("l.querySelector('.dropper').requestSubmit()")
	assert.Contains(t, offered.Dropped, "A's command 1: the reply is late by 0.3 s")
	assert.Regexp(t, "^two holders: ", offered.Outcome, "what is offered can be judged")
	e := b.tries("const k = l.querySelector('.dropper select'); k.value = 'lost reply';" +
		" k.dispatchEvent(new Event('change'));" +
		" l.querySelector('.dropper').requestSubmit()")
	assert.Contains(t, e.Dropped, "A's command 1: the reply is lost")
	assert.Contains(t, e.Status, "which is lost")
	assert.Contains(t, e.Hash, "faults=A.1.lost+reply.0")
	assert.Equal(t, "A's Lock returns an error at 0.007 s, so A doesn't have the lock. The"+
		" server thinks that A holds it. It lets nobody in for 10.0 s, until the lease ends"+
		" at 10.008 s. B gets in at 10.023 s. The scenario needs that grant and ends without"+
		" a verdict.", e.Outcome)
	e = b.presses("let A ask again")
	assert.Contains(t, e.Outcome, "A asks again, and its own grant is in its way.")
	assert.Contains(t, e.Dropped, "A asks again after an error")
	hash, err := url.ParseQuery(strings.TrimPrefix(e.Hash, "#"))
	require.NoError(t, err)
	assert.Equal(t, e.Outcome, b.asks(hash).Outcome, "the address has the fault")
	assert.Empty(t, b.presses("take it back").Dropped)
}

func TestADelayIsKeptInTheAddressToTheMicrosecond(t *testing.T) {
	b := newBench(t)
	e := b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_overlap"},
		"faults": {"A.1.late reply.2.5"}})
	assert.Contains(t, e.Dropped, "A's command 1: the reply is late by 0.0025 s")
}

// The page's own list of sections has such links.
func TestALinkToASectionKeepsTheRun(t *testing.T) {
	b := newBench(t)
	b.asks(overrun)
	before := b.sets("lease", "60")
	e := b.tries("location.hash = '#what-you-can-change';" +
		" setTimeout(() => { l.dataset.state = 'ready'; }, 200)")
	assert.Equal(t, before.Outcome, e.Outcome)
	assert.Equal(t, "60", shows[string](b.stage,
		"document.querySelector(\"input[aria-label^='lease']\").value"))
	assert.Contains(t, e.Hash, "lease=60", "the address keeps it")
}

func TestAScriptIsEditedAndRun(t *testing.T) {
	b := newBench(t)
	first := b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_release"},
		"invariant": {"foreign release"}})
	assert.Contains(t, first.Outcome, "foreign release: holds")
	assert.Equal(t, "diamond/release.lua", first.Scripts)
	edits := func(text string) experiment {
		return b.tries(fmt.Sprintf("l.querySelector('details').open = true;"+
			" l.querySelector('textarea').value = %q;"+
			" l.querySelector('.settings').requestSubmit()", text))
	}
	assert.Contains(t, edits("return redis.call('DEL', KEYS[1])").Outcome,
		"foreign release: breaks")
	assert.Contains(t, edits("if x").Outcome, "release.lua is not Lua: syntax error")
	assert.Contains(t, edits("return redis.call('NOSUCH')").Outcome,
		"can't release a lock that it holds")
}

// A script that never ends is said to run, and is stopped by a button. Nobody has to press
// it.
func TestAScriptThatNeverEndsIsEnded(t *testing.T) {
	b := newBench(t)
	const forever = " l.querySelector('textarea').value = 'while true do end';" +
		" l.querySelector('.settings').requestSubmit()"
	b.asks(url.Values{"rung": {"diamond"}, "scenario": {"overrun_release"}})
	b.runs("const l = document.querySelector('.laboratory');" + forever)
	comes(b.stage, `document.querySelector('.laboratory .progress').innerText`,
		func(c *assert.CollectT, text string) {
			assert.Regexp(c, `^\d s, does a script loop forever\?\s+stop$`, text)
		})
	assert.Regexp(t, `^Stopped after \d s\.$`, b.presses("stop").Outcome)
	e := b.tries("lockladder.laboratory.program.patience = 1;" + forever)
	assert.Contains(t, e.Outcome, "There was no answer within 1 s. Does a script loop")
	b.tries("lockladder.laboratory.program.patience = 30; l.dataset.state = 'ready'")
	assert.Contains(t, b.presses("As it is written").Outcome, "foreign release: holds")
}

// The same accident, one rung higher.
func TestAnotherLockKeepsTheScenarioAndItsFaults(t *testing.T) {
	b := newBench(t)
	run := url.Values{"faults": {"A.1.late reply.300"}}
	maps.Copy(run, overrun)
	b.asks(run)
	chooses := func(lock string) experiment {
		return b.tries(fmt.Sprintf("const s = l.querySelector('.settings select');"+
			" s.value = %q; s.dispatchEvent(new Event('change'))", lock))
	}
	e := chooses("diamond")
	assert.Contains(t, e.Outcome, "diamond holds; gold broke at 15.008 s. foreign release: holds")
	assert.Contains(t, e.Hash, "scenario=overrun_release&invariant=foreign+release")
	assert.Contains(t, e.Dropped, "A's command 1: the reply is late by 0.3 s")
	assert.Contains(t, chooses("gold").Outcome, "gold breaks at 15.008 s; diamond held. ")
	e = chooses("exercise 11") // which has no such scenario
	assert.NotContains(t, e.Outcome, "; gold")
	assert.Empty(t, e.Dropped)
}

// While the site compiles the program, the page says for how long, and can stop waiting.
func TestThePageWaitsForTheProgramInSeconds(t *testing.T) {
	served := site.NewSite(recordings(t))
	served.Program = func(ctx context.Context) (map[string][]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b := workbench{stageOf(t, served)}
	b.visits(b.site + "/docs/lab.md")
	b.runs("document.querySelector('.laboratory button').click()")
	comes(b.stage, `document.querySelector('.laboratory .progress').innerText`,
		func(c *assert.CollectT, text string) {
			assert.Regexp(c, `^waiting for the site, which compiles it first, \d s\s+stop$`, text)
		})
	assert.Regexp(t, `^The laboratory can't be loaded: Stopped after \d s\.$`,
		b.presses("stop").Outcome)
	assert.True(t, shows[bool](b.stage, `Array.from(document.querySelectorAll(
		'.laboratory button')).some(b => b.innerText.startsWith('Start') && !b.disabled)`))
}

// A plain file server has the laboratory, too. A browser that opens the files
// themselves says what it needs.
func TestAnExportedLaboratoryRuns(t *testing.T) {
	dir := exported(t).dir
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	b := workbench{newStage(t)}
	b.c = &complaints{} // they know another site
	for address, says := range map[string]string{
		server.URL:                        "foreign release: breaks",
		"file://" + filepath.ToSlash(dir): "runs the laboratory only from a web server",
	} {
		b.loads(address + "/docs/04-gold.html")
		link := shows[string](b.stage, `document.querySelector('.player .what-if').href`)
		assert.True(t, strings.HasPrefix(link, address+"/docs/lab.html#"), link)
		b.visits(address + "/docs/lab.html#" + overrun.Encode())
		assert.Contains(t, b.settles().Outcome, says)
	}
}

// The keyboard is enough: a field's Enter runs the scenario, and its arrows turn no
// page.
func TestTheLaboratoryIsUsedByKeys(t *testing.T) {
	b := newBench(t)
	b.asks(overrun)
	e := b.tries("const i = l.querySelector('input[aria-label^=lease]'); i.focus();" +
		" i.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight'," +
		" bubbles: true})); i.value = '60'; i.form.requestSubmit()")
	assert.NotContains(t, e.Outcome, "foreign release: breaks")
	assert.Equal(t, "/docs/lab.md", shows[string](b.stage, `location.pathname`))
	assert.Zero(t, shows[int](b.stage, `Array.from(
		document.querySelectorAll('.laboratory button, .laboratory input,' +
		' .laboratory select, .laboratory textarea')).filter(
		e => e.tabIndex < 0).length`))
}

// See TestPagesAreAccessible.
func TestTheLaboratoryIsAccessible(t *testing.T) {
	axe := axeScript(t)
	b := newBench(t)
	for _, theme := range []string{"light", "dark"} {
		b.asks(url.Values{"rung": {"exercise 11"}, "faults": {"A.1.late reply.2000"}})
		b.presses("Check the exercise")
		b.settles()
		b.isAccessible(axe, theme)
	}
}

// An exercise whose solution changes only Lua is solved in the browser.
func TestAnExerciseIsSolvedInTheBrowser(t *testing.T) {
	b := newBench(t)
	e := b.asks(url.Values{"rung": {"exercise 11"}})
	assert.Contains(t, e.Scripts, "reentrant/fenced/acquire.lua")
	e = b.presses("Check the exercise")
	e = b.settles()
	assert.Contains(t, e.Outcome, "Not solved yet: 1 of")
	assert.Contains(t, e.Verdicts, "paused_holder")
	solution, err := os.ReadFile("../reentrant/fenced/acquire.lua")
	require.NoError(t, err)
	b.tries(fmt.Sprintf("l.querySelector('textarea[aria-label$=\"acquire.lua\"]').value"+
		" = %q; l.dataset.state = 'ready'", solution))
	assert.Contains(t, b.presses("Check the exercise").Outcome,
		"Solved: exercise 11 holds all its scenarios.")
}

// The program in the browser records the same bytes as the tests have recorded, and
// answers other questions with the bytes that it answers natively.
func TestTheBrowserRecordsTheSameBytes(t *testing.T) {
	laddertest.Long(t, "it runs every exhibit of every rung")
	b := newBench(t)
	b.asks(overrun)
	raw := func(q whatif.Question) string {
		t.Helper()
		text, err := json.Marshal(q)
		require.NoError(t, err)
		b.tries(fmt.Sprintf("lockladder.laboratory.ask(JSON.parse(%q)).then(() => "+
			"{ l.dataset.state = 'ready' })", text))
		return shows[string](b.stage, "lockladder.laboratory.raw")
	}
	recorder := recordings(t)
	exhibits, slowest := 0, time.Duration(0)
	for _, rung := range ladder.Rungs {
		for _, flaw := range rung.Flaws {
			recorded, err := fs.ReadFile(recorder,
				recording.RunFile(rung.Name, flaw.Scenario, flaw.Invariant))
			if errors.Is(err, fs.ErrNotExist) {
				continue // a flaw without a run
			}
			require.NoError(t, err)
			var want recording.Run
			require.NoError(t, json.Unmarshal(recorded, &want))
			want.Beside = nil // which the site shows beside it
			text, err := json.Marshal(want)
			require.NoError(t, err)
			began := time.Now()
			answer := raw(whatif.Question{Rung: rung.Name,
				Scenario: flaw.Scenario, Invariant: flaw.Invariant})
			slowest = max(slowest, time.Since(began))
			var a whatif.Answer
			require.NoError(t, json.Unmarshal([]byte(answer), &a))
			assert.Empty(t, a.Error)
			assert.True(t, string(text) == a.Run, "%s: %s of %s differs", flaw.Scenario,
				flaw.Invariant, rung.Name)
			exhibits++
		}
	}
	assert.Greater(t, exhibits, 150)
	t.Logf("%d exhibits, the slowest within %v", exhibits, slowest)
	lease, latency, skew := 4000.0, 20.0, 3000.0
	for _, rung := range ladder.Rungs {
		q := whatif.Question{Rung: rung.Name, Scenario: "overrun_release",
			Lease: &lease, Latency: &latency, Skew: &skew, Skewed: "B",
			Faults: []whatif.Fault{{Client: "A", Nth: 2, Kind: "late", By: 3000}}}
		text, err := json.Marshal(q)
		require.NoError(t, err)
		native := whatif.Respond(t, string(text))
		assert.True(t, native == raw(q), "%s answers otherwise", rung.Name)
	}
}

func TestTheLaboratoryFitsAPhoneInBothThemes(t *testing.T) {
	b := newBench(t)
	dir := os.Getenv("LOCKLADDER_PICTURES")
	for _, width := range []int64{390, 1280} {
		b.sized(width, 900)
		for _, theme := range []string{"light", "dark"} {
			b.visits(b.site + "/docs/glossary.md")
			b.runs("localStorage.setItem('theme', %q)", theme)
			hash := url.Values{"rung": {"diamond"}, "scenario": {"overrun_overlap"},
				"lease": {"12"}, "faults": {"A.1.late reply.2000"}}
			assert.LessOrEqual(t, b.asks(hash).Wide, 0)
			e := b.tries("l.querySelector('details').open = true;" +
				" l.dataset.state = 'ready'")
			assert.LessOrEqual(t, e.Wide, 0, "%s at %d", theme, width)
			if dir != "" {
				b.picture(filepath.Join(dir, fmt.Sprintf("laboratory-%s-%d.png", theme,
					width)))
			}
		}
	}
}

// The compressed file is a program.
func TestTheProgramIsWebAssembly(t *testing.T) {
	files, err := compiled.Files(t.Context())
	require.NoError(t, err)
	r, err := gzip.NewReader(strings.NewReader(string(files[site.ProgramFile])))
	require.NoError(t, err)
	binary, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "\x00asm", string(binary[:4]))
}

// An exercise that changes only Lua leads to the laboratory with its rung, and before
// anything has run there the page shows no empty box.
func TestAnExerciseOfScriptsLeadsToTheLaboratory(t *testing.T) {
	b := newBench(t)
	led := 0
	for _, e := range exercise.All {
		b.visits(fmt.Sprintf("%s/docs/exercises/%s/README.md", b.site, e.Number))
		there := shows[string](b.stage,
			`document.querySelector('main a[href*="lab.md#rung="]')?.href ?? ''`)
		if !e.OnlyScripts() {
			assert.Empty(t, there, e.Number)
			continue
		}
		led++
		b.visits(there)
		b.settles()
		assert.Equal(t, "exercise "+e.Number, shows[string](b.stage,
			`document.querySelector('.laboratory .settings select').value`))
	}
	assert.NotZero(t, led)
	b.loads(b.site + "/docs/lab.md")
	assert.Equal(t, "rgba(0, 0, 0, 0) 0px", shows[string](b.stage, `(() => {
		const s = getComputedStyle(document.querySelector('.laboratory .outcome'));
		return s.borderLeftColor + ' ' + s.minHeight; })()`))
}
