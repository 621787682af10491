package pages

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"html"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/site/generated"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios"
)

func TestAPartThatNobodyMakesIsRefused(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, part := range []string{"", "nothing", "place", "place ", "place brass",
		"contents of", "matrix", "rows", "red gold/crash_holding"} {
		_, err := g.part("docs/04-gold.md", part, "old")
		assert.Error(t, err, part)
	}
	text, err := g.part("docs/explorer.md", "rows", "old")
	require.NoError(t, err)
	assert.Equal(t, "old", text, "the explorer's tests make it")
}

func TestEveryPartOfTheRegistryIsOnItsPage(t *testing.T) {
	g := &Generator{root: os.DirFS("../../..")}
	for _, p := range registry {
		if p.page == "" {
			continue
		}
		document, err := g.source(p.page)
		require.NoError(t, err)
		names, _, err := generated.Parts(document)
		require.NoError(t, err)
		assert.Contains(t, names, strings.TrimSuffix(p.name, " "), p.page)
	}
}

// verdictsOf is what a lock did that was asked for something else in all scenarios but some.
func verdictsOf(name string, others map[string]scenarios.Verdict) column {
	var report scenarios.Report
	for _, s := range scenarios.Catalogue {
		for _, invariant := range s.Invariants {
			r := scenarios.Result{Scenario: s.Name, Invariant: invariant,
				Verdict: cmp.Or(others[s.Name], scenarios.NotOffered)}
			report = append(report, r)
		}
	}
	return column{Lock: generated.Did(name, report)}
}

func TestEveryVerdictHasASignAndEveryInvariantARow(t *testing.T) {
	text := verdicts(1, []column{verdictsOf("mine", map[string]scenarios.Verdict{
		"crash_holding": scenarios.Breaks, "slow_get": scenarios.Holds,
		"hung_worker": scenarios.DoesNotArise,
		"lost_wakeup": scenarios.CannotRun})})
	for _, row := range []string{"| crash_holding | orphaned | **✗** |",
		"| slow_get | foreign release | ✓ |", "| hung_worker | orphaned | · |",
		"| lost_wakeup | orphaned | ? |", "| paused_holder | stale write | – |"} {
		assert.Contains(t, text, row+"\n")
	}
	invariants := 0
	for _, s := range scenarios.Catalogue {
		invariants += len(s.Invariants)
	}
	assert.Equal(t, invariants+2, strings.Count(text, "\n"))
}

// Two requests for one run make it once. A run of no interest isn't there.
func TestARunIsMadeWhenItIsFirstRead(t *testing.T) {
	r := Record(t, os.DirFS("../../.."))
	read := func(file string) string {
		text, err := fs.ReadFile(r, file)
		require.NoError(t, err)
		return string(text)
	}
	const file = "docs/runs/gold/overrun_release/foreign-release.json"
	texts := make(chan string)
	for range 2 {
		go func() { texts <- read(file) }()
	}
	first, second := <-texts, <-texts
	assert.Contains(t, first, `"verdict":"breaks"`)
	assert.Contains(t, first, `"beside":["silver","gold/script","platinum"]`)
	assert.Equal(t, first, second)
	assert.NotEmpty(t, read("docs/04-gold.md"), "the module's own files")
	for _, none := range []string{"docs/runs/gold/crash_holding/orphaned.json",
		"docs/runs/gold/overrun_release/orphaned.json", "docs/runs/brass/x/y.json",
		"docs/runs/gold/brass/orphaned.json", "docs/runs/gold", "docs/levels/redlock.json"} {
		_, err := fs.Stat(r, none)
		assert.ErrorIs(t, err, fs.ErrNotExist, none)
	}
}

func TestAPictureShowsWhatWasRecorded(t *testing.T) {
	text, err := fs.ReadFile(Record(t, os.DirFS("../../..")),
		"docs/runs/diamond/overrun_overlap/two-holders.json")
	require.NoError(t, err)
	var run recording.Run
	require.NoError(t, json.Unmarshal(text, &run))
	d := draw(&run)
	assert.Equal(t, "A recorded run. A has the lock at 0 s. B waits from 1 s on. The lease"+
		" of A ends at 10 s. B has the lock at 10 s. ✗ two holders at 10 s.", d.text())
	svg := d.svg()
	require.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
	var all []string
	for _, found := range regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).
		FindAllStringSubmatch(svg, -1) {
		all = append(all, html.UnescapeString(found[1]))
	}
	assert.Equal(t, []string{"A", "key", "B", "holds", "waits, asks 178×",
		"A's, until its lease ends", "0 s", "2 s", "4 s", "6 s", "8 s", "10 s",
		"✗ two holders", "SET EX NX"}, all)
}

// Readers are owners together, and a client that died asks for nothing.
func TestAPictureOfClientsThatShareOrDie(t *testing.T) {
	run := &recording.Run{Clients: []string{"A", "B"}, Nodes: 1, Broken: -1,
		Texts:  []string{"", "GET", "dies", "RLock returns ok"},
		States: []recording.State{{Owner: "-"}, {Owner: "A B", Inside: []string{"B"}}},
		Entries: []recording.Entry{{Text: 1}, {At: 1e6, Text: 2, Node: -1},
			{At: 2e6, Client: 1, Text: 3, Node: -1, State: 1},
			{At: 5e6, Client: 1, Text: 1, State: 1}}}
	d := draw(run)
	assert.Empty(t, d.client("A"))
	assert.Equal(t, []span{{what: "holds", from: 2 * time.Second, to: 5 * time.Second}},
		d.client("B"))
	assert.Contains(t, d.svg(), ">read by A B</text>")
}
