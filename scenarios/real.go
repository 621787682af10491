package scenarios

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// onReal are the settings of a run on real servers.
type onReal struct {
	lease time.Duration       // 0: a second
	form  func(string) string // makes a key of a unique name; nil: the name
	only  []string            // the scenarios to tell; nil: all
}

// realLease is how long the ten seconds of a story's lease last.
func (r *onReal) realLease() time.Duration {
	if r.lease == 0 {
		return time.Second
	}
	return r.lease
}

// realKey is a name that nobody else's keys have, on a server that may be
// anybody's.
func (r *onReal) realKey() string {
	name := fmt.Sprintf("lockladder:%08x:stock", rand.Uint32())
	if r.form != nil {
		name = r.form(name)
	}
	return name
}

func (r *onReal) tells(scenario Scenario) bool {
	return r.only == nil || slices.Contains(r.only, scenario.Name)
}
