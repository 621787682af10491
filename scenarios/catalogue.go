package scenarios

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/terminal"
)

// Catalogue has every scenario, and the tables have its order: the failures that the
// articles describe, then those found in reviews, then those of read-write locks.
var Catalogue []Scenario

// short has a line for each family, which says what it demands, and then one for each scenario,
// in the catalogue's order, which says what happens in it.
//
//go:embed catalogue.txt
var short string

// InShort is the line of a family or a scenario: what tables have no room to say at length.
func InShort(name string) string {
	_, rest, _ := strings.Cut("\n"+short, "\n"+name+": ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// in adds a scenario of a failure family to the catalogue.
func in(family, name string, s Scenario, script func(*S)) bool {
	s.Family, s.Name, s.script = family, name, script
	Catalogue = append(Catalogue, s)
	return true
}

func init() {
	slices.SortStableFunc(Catalogue, func(a, b Scenario) int {
		return strings.Index(short, "\n"+a.Name+": ") - strings.Index(short, "\n"+b.Name+": ")
	})
}

// The failure families, each in a file of its own.
const (
	Exclusion = "exclusion" // exclusion.go
	Crash     = "crash"     // crash.go
	Ownership = "ownership" // ownership.go: whose lock is released
	Overrun   = "overrun"   // overrun.go: work, or a grant, outlives the lease
	Reentrant = "re-entry"  // reentry.go: the owner asks again
	Server    = "server"    // server.go: what happens to the nodes
	Waking    = "waking"    // waking.go: how waiters learn of a release
	Loss      = "renewal"   // renewal.go: renewal, and being told of a loss
	Leasing   = "lease"     // lease.go: how long a lease lasts at the server
	Waiting   = "waiting"   // waiting.go: how long a call takes, and what it asks
	Fencing   = "fencing"   // fencing.go: the tokens of successive grants
	Process   = "processes" // process.go: owners in one, and far ones
	Sharing   = "sharing"   // readwrite.go and readers.go: readers and a writer
)

// Families are the failure families in the order in which they are shown.
var Families = []string{Exclusion, Crash, Ownership, Overrun, Reentrant, Server,
	Waking, Loss, Leasing, Waiting, Fencing, Process, Sharing}

// Find returns the scenario of that name. Its error says which names are near.
func Find(name string) (Scenario, error) {
	var names []string
	for _, s := range Catalogue {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Scenario{}, terminal.Unknown("scenario", name, names)
}
