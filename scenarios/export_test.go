package scenarios

import (
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/node"
)

// Watched has somebody told that a scenario begins, and all that servers
// are sent.
func Watched(begins func(scenario string), sees func(node int,
	from *server.Peer, command string, args []string)) Option {
	return func(s *settings) { s.began, s.seen = begins, sees }
}

// Most is how many things happen in a second before the lock counts as stuck.
func Most(n int) Option { return func(s *settings) { s.most = n } }

// Driver changes the settings of the clients in virtual time.
func Driver(set func(*redis.Options)) Option {
	return func(s *settings) { s.driver = set }
}

// Refusal is why no run could meet the options.
func Refusal(build Build, opts ...Option) error {
	_, err := configure(build, opts)
	return err
}

// executed are the scripts of all locks that RunOne has run.
var executed = node.NewScripts()

// RunOne runs one scenario and returns its results instead of failing the test.
func RunOne(t *testing.T, name string, build Build, opts ...Option) (
	[]Result, error) {
	t.Helper()
	s := settings{nodes: 1, scripts: executed}
	for _, set := range opts {
		set(&s)
	}
	scenario, err := Find(name)
	if err != nil {
		return nil, err
	}
	return runScenario(t, scenario, build, s)
}
