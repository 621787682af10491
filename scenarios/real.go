package scenarios

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
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

// OnStore tells the stories of a lock that lives in another store than Redis, in
// real time. A lease of the stories lasts so long. The lock is built without
// Nodes, and connects with Env.Dial. Stories that can't be told there are left
// out; Report says which, and why.
func OnStore(store Store, lease time.Duration) Option {
	return func(s *settings) {
		s.servers = []lab.Server{store}
		s.onReal.lease = lease
	}
}

// onStore says that a story can't be told of a store that is no Redis.
func (t *telling) onStore(why string) bool {
	return t.isStore() && t.cannot(why)
}

func (t *telling) isStore() bool {
	if t.virtual() {
		return false
	}
	_, ok := t.settings.servers[0].(lab.Store)
	return ok
}

func (r *onReal) tells(scenario Scenario) bool {
	return r.only == nil || slices.Contains(r.only, scenario.Name)
}
