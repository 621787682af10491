//go:build chromium

package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/gold"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/site"
	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios"
)

// playing is what a reader sees of a page's first player.
const playing = `(() => {
	const p = document.querySelector('.player');
	const all = s => Array.from(p.querySelectorAll(s));
	const view = all('.view')[0];
	return {
		at: Number(p.dataset.at),
		last: JSON.parse(p.querySelector('script.run').textContent).entries.length - 1,
		status: p.querySelector('.status').innerText,
		asked: p.querySelector('.question').classList.contains('asked'),
		answers: all('.question button').map(b => b.title),
		verdict: getComputedStyle(view.querySelector('.verdict')).visibility,
		lanes: Math.round(view.querySelector('.lanes').getBoundingClientRect().top + scrollY),
		flying: p.querySelectorAll('.flying').length,
		facts: view.querySelector('.facts').innerText,
		marks: Array.from(view.querySelectorAll('.pane .here b')).map(
			b => b.innerText + b.closest('li').innerText).join('; '),
		rows: view.querySelectorAll('.lanes .time').length,
		views: all('.view').map(v => v.getAttribute('aria-label')).join(' '),
		hash: location.hash,
		wide: document.documentElement.scrollWidth -
			document.documentElement.clientWidth,
	};
})()`

type played struct {
	At, Last                          int
	Status, Facts, Marks, Views, Hash string
	Verdict                           string
	Answers                           []string
	Asked                             bool
	Rows, Wide, Lanes, Flying         int
}

// open loads a page anew, whatever the browser shows now.
func (s *stage) open(page string) played {
	s.t.Helper()
	s.loads(s.site + "/" + page)
	return s.sees()
}

func (s *stage) sees() played {
	s.t.Helper()
	p := shows[played](s, playing)
	require.Empty(s.t, s.c.take())
	return p
}

// does lets the page's script do something to the first player, p.
func (s *stage) does(what string) played {
	s.t.Helper()
	s.runs("const p = document.querySelector('.player'); %s", what)
	return s.sees()
}

// clicks presses the button of that name.
func (s *stage) clicks(name string) played {
	s.t.Helper()
	return s.does(fmt.Sprintf("p.querySelector(%q).click()",
		fmt.Sprintf("button[aria-label='%s']", name)))
}

// types presses a key where the focus is in the player.
func (s *stage) types(key string) played {
	s.t.Helper()
	return s.does(fmt.Sprintf("p.querySelector('.lanes').dispatchEvent(new"+
		" KeyboardEvent('keydown', {key: %q, bubbles: true, cancelable: true}))",
		key))
}

const (
	goldPage = "docs/3-gold.md"
	goldRun  = "docs/runs/gold/overrun_release/foreign-release.json"
)

// A reader steps through a run by buttons, keys and addresses, and sees what happens and
// where the code is. Folded attempts expand, and another lock is shown beside it.
func TestAStepShowsWhatHappensAndWhereTheCodeIs(t *testing.T) {
	s := newStage(t)
	begin := s.open(goldPage)
	assert.Zero(t, begin.At)
	assert.Contains(t, begin.Status, "0.007 s · A: SET lock:stock locked EX 10 NX → OK")
	assert.Contains(t, begin.Facts, "10.0 s left")
	assert.Contains(t, begin.Marks, "SetNX(ctx, l.key")

	one := s.clicks("one step on")
	assert.Contains(t, one.Status, "A: Lock returns ok")
	assert.Regexp(t, `believe they hold it\s+A`, one.Facts)
	assert.Equal(t, "#t=1", one.Hash)
	assert.Equal(t, 0, s.clicks("one step back").At)

	end := s.clicks("to the end")
	assert.Equal(t, end.Last, end.At)
	assert.Contains(t, end.Status, "✗ two holders: B and C both believe")
	assert.Regexp(t, `believe they hold it\s+B\s+C`, end.Facts)
	assert.Equal(t, 0, s.clicks("to the beginning").At)
	for _, key := range []struct {
		name string
		at   int
	}{{"ArrowRight", 1}, {"PageDown", 2}, {"PageUp", 1}, {"ArrowLeft", 0}, {"End", end.Last}, {"Home", 0}} {
		assert.Equal(t, key.at, s.types(key.name).At, key.name)
	}
	assert.Equal(t, "/"+goldPage, shows[string](s, `location.pathname`), "the keys turn no page")

	choose := "const c = Array.from(p.querySelectorAll('select')).at(-1);" +
		" c.value = %q; c.dispatchEvent(new Event('change'))"
	assert.Equal(t, "gold silver", s.does(fmt.Sprintf(choose, "silver")).Views)
	assert.Regexp(t, "^silver goes on: .*✗ two holders", s.clicks("to the end").Status, "silver ends later")
	assert.Equal(t, "gold", s.does(fmt.Sprintf(choose, "")).Views)
	s.loads(s.site + "/" + goldPage + "?slides=see-it-fail")
	is(s, "document.querySelector('section:not([hidden]) > h2 + p + .asked')?.nodeName + ''", "P")
	for i, asked := range []bool{false, false, true, false, true, false} { // a clicker: the run, its stops and back
		s.key([]string{"PageDown", "PageUp"}[i/4])
		assert.Equal(t, asked, s.sees().Asked, i)
	}
	assert.Zero(t, s.sees().At)

	s.visits(s.site + "/" + goldPage + "#t=181")
	before := s.sees()
	assert.Contains(t, before.Status, "A: DEL lock:stock")
	assert.Regexp(t, `Redis\s+no key`, before.Facts)
	assert.Contains(t, before.Marks, "l.rdb.Del(ctx, l.key)")
	s.visits(s.site + "/" + goldPage + "#t=99999")
	assert.Equal(t, end.Last, s.sees().At)
	s.visits(s.site + "/" + goldPage + "#t=nonsense")
	assert.Equal(t, 0, s.sees().At)

	assert.Less(t, begin.Rows, 10)
	all := s.does("p.querySelector('input[type=checkbox]').click()")
	assert.Equal(t, all.Last+1, all.Rows)
	s.clicks("one step on")
	s.clicks("one step on")
	assert.Equal(t, 3, s.clicks("one step on").At, "each attempt is a step")
}

// A learner is asked what comes next before the break, where playing stops, and finds the
// verdict nowhere before. Nothing jumps. A message flies when it is delivered, unless a
// reader wants nothing to move.
func TestALearnerIsAskedBeforeTheBreak(t *testing.T) {
	s := newStage(t)
	begin := s.open(goldPage)
	s.does("const f = p.querySelector('select'); f.value = '0.4'")
	s.clicks("play or pause")
	comes(s, playing, func(c *assert.CollectT, p played) {
		assert.True(c, p.Asked)
		assert.Equal(c, p.Last-1, p.At)
	})
	asked := s.sees()
	assert.Equal(t, asked.Last-1, asked.At, "it waits for an answer")
	assert.Equal(t, []string{"C: Lock returns ok", "C: PEXPIRE lock:stock 10000 → 1",
		"C: SET lock:stock C#2 EX 10 NX → nil"}, asked.Answers)
	assert.Equal(t, "hidden", asked.Verdict)
	shown := s.does("p.querySelector('.question button').click()")
	assert.Contains(t, shown.Status, "Right. 15.022 s · C: Lock returns ok")
	assert.False(t, shown.Asked)
	assert.Equal(t, shown.Last, shown.At)
	assert.Equal(t, "visible", shown.Verdict)
	assert.Equal(t, begin.Lanes, shown.Lanes)

	s.open(goldPage + "#t=1")
	assert.Equal(t, 1, s.clicks("one step on").Flying)
	comes(s, playing, func(c *assert.CollectT, p played) { assert.Zero(c, p.Flying) })
	_, err := chromedp.Call(s.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}})
	require.NoError(t, err)
	s.open(goldPage + "#t=1")
	assert.Zero(t, s.clicks("one step on").Flying)
}

// drag gives the page a player of another run and draws its slider to the right end. It
// keeps the steps after which the slider stood elsewhere, or at which time didn't pass.
const drag = `(run => {
	document.querySelector('.player').remove();
	history.replaceState(null, '', location.pathname);
	const p = document.createElement('div'), script = document.createElement('script');
	Object.assign(script, {type: 'application/json', className: 'run', textContent: run});
	p.className = 'player';
	p.dataset.lock = JSON.parse(run).lock;
	p.append(script);
	document.querySelector('main').append(p);
	new lockladder.Player(p, 0);
	const slider = p.querySelector('input[type=range]'), wrong = [];
	for (let to = 1; to <= Number(slider.max); to++) {
		const before = Number(p.dataset.at);
		slider.value = to;
		slider.dispatchEvent(new Event('input'));
		if (Number(p.dataset.at) <= before || Number(slider.value) !== to) {
			wrong.push(to);
		}
	}
	return wrong;
})(%q)`

// runs are the recorded run of each flaw of each rung, and the runs that are shown
// beside them, by the names of their files.
func runs(t *testing.T) map[string]string {
	t.Helper()
	files, all := generated.Record(t, root), map[string]string{}
	for _, rung := range ladder.Rungs {
		for _, flaw := range rung.Flaws {
			for _, name := range []string{rung.Name, rung.Parent} {
				file := recording.RunFile(name, flaw.Scenario, flaw.Invariant)
				text, err := fs.ReadFile(files, file)
				if errors.Is(err, fs.ErrNotExist) {
					continue // a flaw without a run
				}
				require.NoError(t, err)
				all[file] = string(text)
			}
		}
	}
	require.Greater(t, len(all), 200)
	return all
}

// Every recorded run can be played to its end, on a phone and on a desk. The slider stays
// where it is dragged to, and time passes while it goes to the right.
func TestEveryRunPlays(t *testing.T) {
	s := newStage(t)
	s.sized(1280, 800)
	s.open(goldRun)
	played := 0
	for file, run := range runs(t) {
		if played++; played == 100 {
			s.sized(390, 800)
		}
		assert.Empty(t, shows[[]int](s, fmt.Sprintf(drag, run)), file)
		end := s.sees()
		assert.Equal(t, end.Last, end.At, file)
		assert.NotContains(t, end.Facts, "undefined", file)
		assert.LessOrEqual(t, end.Wide, 0, "%s is wider than the screen", file)
	}
}

// buildOwn stands for a lock that is not on the ladder: nothing says that this one is.
var buildOwn = lock.On(gold.New)

// opens serves a recording and opens it in a browser.
func opens(t *testing.T, file string) *stage {
	t.Helper()
	text, err := os.Open(file)
	require.NoError(t, err)
	defer text.Close()
	served := site.NewSite(root)
	served.Opened, err = recording.Read(text)
	require.NoError(t, err)
	return stageOf(t, served)
}

// A run of a lock that is not on the ladder is played beside its own code.
func TestARunOfAnOwnLockIsPlayed(t *testing.T) {
	dir := t.TempDir()
	t.Run("mine", func(t *testing.T) {
		scenarios.Run(t, buildOwn, scenarios.Record(dir), scenarios.Only("overrun_release"),
			scenarios.WithoutFeatures(scenarios.Renewal), scenarios.Flaws(lock.Flaws(
				"overrun_release: foreign release, two holders")...))
	})
	s := opens(t, filepath.Join(dir, "overrun_release", "foreign-release.json"))
	s.sized(390, 800)
	begin := s.open("opened")
	assert.Contains(t, begin.Status, "A: SET lock:stock locked EX 10 NX → OK")
	assert.Contains(t, begin.Marks, "SetNX(ctx, l.key", "its code is there")
	end := s.clicks("to the end")
	assert.Contains(t, end.Status, "✗ foreign release")
	assert.Contains(t, end.Marks, "l.rdb.Del(ctx, l.key)")
	assert.Contains(t, end.Views, t.Name())
	assert.LessOrEqual(t, end.Wide, 0, "the page is wider than the screen")
	assert.Equal(t, end.At, s.open("opened"+end.Hash).At, "a position can be shared")
}
