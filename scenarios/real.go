package scenarios

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
)

// onReal are the settings of a run on real servers.
type onReal struct {
	pool  lab.Pool
	lease time.Duration       // 0: three seconds
	form  func(string) string // makes a key of a unique name; nil: the name
	only  []string            // the scenarios to tell; nil: all
}

// OnServers tells the stories on real servers, one a node, in real time: the ten
// seconds of a story's lease last three, so that a busy machine tells the same
// story. As many are told at the same time as there are servers. What a real
// server can't take part in is left out; Report says which.
func OnServers(pool lab.Pool) Option {
	return func(s *settings) { s.pool = pool }
}

// runReal is Run on real servers.
func runReal(t *testing.T, build Build, s settings) Report {
	t.Helper()
	told := make([][]Result, len(Catalogue))
	var running sync.WaitGroup
	for i, scenario := range Catalogue {
		if s.only != nil && !slices.Contains(s.only, scenario.Name) {
			continue
		}
		running.Go(func() {
			var few lab.TooFew
			s := s
			lent, err := s.pool.Borrow(t.Context(), s.nodes)
			if err == nil {
				s.servers = lent
				defer s.pool.Return(lent)
			}
			t.Run(scenario.Name, func(t *testing.T) {
				if errors.As(err, &few) {
					t.Skipf("the lock needs %d servers, and %v", s.nodes, err)
				}
				var results []Result
				if err == nil {
					results, err = tell(t, scenario, build, s)
				}
				if err != nil {
					t.Errorf("%s: %v", scenario.Name, err)
					return
				}
				for _, r := range results {
					judge(t, r, s)
				}
				told[i] = results
			})
		})
	}
	running.Wait()
	return slices.Concat(told...)
}

// realLease is how long the ten seconds of a story's lease last.
func (r *onReal) realLease() time.Duration {
	if r.lease == 0 {
		return 3 * time.Second
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
