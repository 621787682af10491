package site_test

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/internal/site/life"
	"github.com/lockladder/lockladder/scenarios"
)

// at is an entry of a timeline in which every second one thing happens.
func at(second int, e scenarios.Entry, leases ...history.Lease) *scenarios.Entry {
	e.At = time.Duration(second) * time.Second
	e.Sent, e.Leases, e.Owner = e.At, leases, "-"
	if len(leases) > 0 {
		e.Owner = leases[0].Owner
	}
	e.Command = e.Text
	return &e
}

// lived is a short life: A's lease is renewed and released, and B, which waits,
// crashes with the lock.
func lived() *scenarios.Lived {
	a := func(ends int) history.Lease {
		return history.Lease{Owner: "A", Value: "A#1",
			Ends: time.Duration(ends) * time.Second}
	}
	b := history.Lease{Owner: "B", Value: "B#1", Ends: 15 * time.Second}
	return &scenarios.Lived{Lease: 10 * time.Second,
		Runs: []scenarios.ClientRecord{
			{ClientRun: scenarios.ClientRun{Client: "A"}, Granted: 1, Left: 4 * time.Second},
			{ClientRun: scenarios.ClientRun{Client: "B", Crashes: true},
				Asked: 2 * time.Second, Granted: 5 * time.Second,
				Left: 8 * time.Second},
		},
		Entries: []*scenarios.Entry{
			at(0, scenarios.Entry{Client: "A", Text: "SET lock:stock A#1 EX 10 NX"},
				a(10)),
			at(2, scenarios.Entry{Client: "B", Text: "SET lock:stock B#1 EX 10 NX"},
				a(10)),
			at(3, scenarios.Entry{Client: "A", Text: "EVALSHA renew.lua lock:stock"},
				a(13)),
			at(4, scenarios.Entry{Client: "A", Text: "EVALSHA release.lua lock:stock"}),
			at(5, scenarios.Entry{Client: "B", Text: "SET lock:stock B#1 EX 10 NX"}, b),
			at(8, scenarios.Entry{Client: "B", Node: -1, Text: "dies"}, b),
			at(18, scenarios.Entry{Client: "A", Text: "GET lock:stock"}),
		}}
}

func TestTheTextSaysWhatWasRecorded(t *testing.T) {
	assert.Equal(t, "A recorded run. A takes the lock at 0 s. A renews the lease once."+
		" A unlocks at 4 s. B takes the lock at 5 s. B crashes at 8 s. The lease of B"+
		" ends at 15 s.", life.Text(lived()))
}

func TestThePictureShowsWhatWasRecorded(t *testing.T) {
	assert.Equal(t, []string{"A", "key", "B", "holds", "waits", "holds", "A's",
		"B's until its lease ends at 15 s", "0 s", "5 s", "10 s", "15 s", "✗ crashes",
		"SET EX NX", "renew", "SET EX NX"}, texts(t, life.Draw(lived())))
}

func TestAKeyWithoutALeaseStaysForever(t *testing.T) {
	l := lived()
	for _, e := range l.Entries {
		for i := range e.Leases {
			e.Leases[i].Ends = 0
		}
	}
	last := l.Entries[len(l.Entries)-1]
	last.Leases, last.Owner = l.Entries[5].Leases, "B"
	assert.Contains(t, life.Text(l), "The key of B has no lease and stays forever.")
	assert.NotContains(t, life.Text(l), "ends at")
	assert.Contains(t, texts(t, life.Draw(l)), "B's, and no lease: it stays forever")
}

func TestAnOwnerThatSentNoCommandWasPassedTheLock(t *testing.T) {
	l := lived()
	l.Runs[1].Beside = "A"
	l.Entries = slices.Delete(l.Entries, 3, 5) // A's release and B's acquisition
	assert.Contains(t, life.Text(l), "B gets the lock at 5 s, without a command.")
}

func TestReadersShareTheKey(t *testing.T) {
	l := lived()
	for i := range l.Runs {
		l.Runs[i].Reads = true
	}
	for _, e := range l.Entries[1:6] {
		e.Leases, e.Owner = nil, "A B"
	}
	assert.Contains(t, life.Text(l), "B reads from 5 s on.")
	assert.Contains(t, texts(t, life.Draw(l)), "read by A and B")
}

func TestNodesThatGoDownAreCounted(t *testing.T) {
	l := lived()
	l.Entries[0].Node = 2
	l.Entries[2].Client, l.Entries[2].Node = "", 1
	assert.Contains(t, life.Text(l), "Nodes down from 3 s on: 1 of 3.")
	assert.Contains(t, texts(t, life.Draw(l)), "✗ nodes down: 1 of 3")
}

// texts are those of a picture, which must be well-formed XML.
func texts(t *testing.T, svg string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			require.NoError(t, err, svg)
		}
	}
	var all []string
	for _, found := range regexp.MustCompile(`<text [^>]*>([^<]*)</text>`).
		FindAllStringSubmatch(svg, -1) {
		all = append(all, strings.ReplaceAll(found[1], "&#39;", "'"))
	}
	return all
}
