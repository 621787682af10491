package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/internal/site/recording"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// Option says something about the lock that is run.
type Option func(*settings)

type settings struct {
	nodes     int
	only      []string // the scenarios to run; nil: all
	flaws     []Flaw
	sometimes []Flaw // likewise, in some runs
	declined  []Feature
	keys      func(string) []string
	readers   func(string) string
	leaseEnd  func(string) (time.Time, bool)

	machineClock bool
	red          bool
	counted      bool
	lent         *loan // nil in virtual time
	onReal             // what only matters there

	// The effects of the lock's scripts in the scenarios so far; nil keeps nothing.
	scripts *node.Scripts

	// Scenarios that were run to know whether a flaw of theirs is the lock's, and
	// whether this one is.
	known  *known
	origin bool

	// For the test of a lock that asks without end: after how many times.
	most int

	// Of a world that differs from the usual one.
	lease  time.Duration
	key    string
	driver func(*redis.Options)
	reader string // the process that reads where the others write; "": none

	worlds *worlds // the random ones to play; nil: the usual ones
	change *Change // of what the scenarios say
	story  *staged // that is played instead of a scenario; nil: none

	keeps func(key string) []string
	each  func(scenario string, results []Result, err error)
	ran   *atomic.Int32 // the scenarios that have ended
	shown *atomic.Int32 // those of them that break what isn't declared
	lock  string        // the name of the test that runs it
	dir   string        // where runs are recorded; "": nowhere
	left  *[]string     // what no expiry removes, and after which scenario
}

// Nodes gives the lock so many independent Redis nodes; the default is one.
func Nodes(n int) Option { return func(s *settings) { s.nodes = n } }

// Flaws declares what the lock is known to break. Run is strict both ways: a
// declared flaw that no longer breaks fails the test, as does a new one. On real
// servers a declared flaw that doesn't show is looked for twice more.
func Flaws(flaws ...Flaw) Option {
	return func(s *settings) { s.flaws = append(s.flaws, flaws...) }
}

// Sometimes declares what the lock breaks in one run on real servers and holds in the next,
// because it depends on when a timer of the lock's own fires. Neither fails the test.
func Sometimes(flaws ...Flaw) Option {
	return func(s *settings) { s.sometimes = append(s.sometimes, flaws...) }
}

// WithoutFeatures declares what the lock does not claim to offer.
func WithoutFeatures(features ...Feature) Option {
	return func(s *settings) { s.declined = append(s.declined, features...) }
}

// Keys tells which Redis keys stand for the lock, when it is not Env.Key itself.
// The first one is the one whose owner holds the lock.
func Keys(of func(key string) []string) Option {
	return func(s *settings) { s.keys = of }
}

// Readers tells which sorted set holds the readers of a ReadWrite lock: members, each with the
// end of its lease, in milliseconds, as its score. Timelines then say who holds the lock while it
// is read, and what is done to a reader's lease by others is judged.
func Readers(of func(key string) string) Option {
	return func(s *settings) { s.readers = of }
}

// Keeps tells which Redis keys of a lock stay on purpose when nobody holds it
// and have no TTL, such as the counter of its fencing tokens.
func Keeps(of func(key string) []string) Option {
	return func(s *settings) { s.keeps = of }
}

// Lease is the lease of the scenarios in virtual time, by default ten seconds; their
// other times fit it. The verdicts on a lock should be the same with any.
func Lease(d time.Duration) Option {
	return func(s *settings) { s.lease = d }
}

// Key is the name of the lock in virtual time, by default "lock:stock".
func Key(name string) Option { return func(s *settings) { s.key = name } }

// CountedTokens says that the fencing tokens of successive grants count by one.
// A request that is asked again and counts once more is then told from one that
// does not; of other locks the tokens must rise.
func CountedTokens() Option { return func(s *settings) { s.counted = true } }

// LeaseInValue reads the end of the lease from a key's value, for a lock whose
// lease is not the key's expiry.
func LeaseInValue(end func(value string) (time.Time, bool)) Option {
	return func(s *settings) { s.leaseEnd = end }
}

// machineClock says that the lock reads the clock of the machine that it runs on,
// where it can't be given another one: as a program, on real servers.
func machineClock() Option { return func(s *settings) { s.machineClock = true } }

// Red lets every failed assertion through, declared or not. With go test's -v it logs
// the verdict and the timeline of those that hold.
func Red(red bool) Option { return func(s *settings) { s.red = red } }

// Each is called with the results of each scenario as soon as it has ended, or with
// why there are none, by one goroutine at a time.
func Each(hear func(scenario string, results []Result, err error)) Option {
	var hearing sync.Mutex
	return func(s *settings) {
		s.each = func(scenario string, results []Result, err error) {
			hearing.Lock()
			defer hearing.Unlock()
			hear(scenario, results, err)
		}
	}
}

// Only runs the named scenarios and no others, in the order of the catalogue. A list
// that is nil names all of them, and an empty one is refused.
func Only(names ...string) Option {
	return func(s *settings) { s.only = names }
}

// configure makes settings of the options, and refuses those that no run could meet.
func configure(build Build, opts []Option) (*settings, error) {
	s := &settings{nodes: 1, scripts: node.NewScripts(), known: &known{}, change: &Change{},
		ran: new(atomic.Int32), shown: new(atomic.Int32),
		keys:    func(name string) []string { return []string{name} },
		keeps:   func(string) []string { return nil },
		readers: func(string) string { return "" }}
	for i, set := range opts {
		if set == nil {
			return nil, fmt.Errorf("option %d of %d is nil", i+1, len(opts))
		}
		set(s)
	}
	return s, s.check(build)
}

// declares says whether a flaw is declared.
func (s *settings) declares(scenario, invariant string) bool {
	return slices.Contains(s.flaws, Flaw{Scenario: scenario, Invariant: invariant})
}

// expects says whether a flaw is declared, also as one that shows in some runs.
func (s *settings) expects(scenario, invariant string) bool {
	return s.declares(scenario, invariant) || slices.Contains(s.sometimes,
		Flaw{Scenario: scenario, Invariant: invariant})
}

// catalogue has the scenarios to run.
func (s *settings) catalogue() []Scenario {
	return slices.DeleteFunc(slices.Clone(Catalogue), func(c Scenario) bool {
		return s.only != nil && !slices.Contains(s.only, c.Name)
	})
}

// check refuses declarations that no run could meet.
func (s *settings) check(build Build) error {
	if build == nil {
		return errors.New("build is nil, it must make an owner of the lock")
	}
	if s.nodes < 1 {
		return fmt.Errorf("%d nodes, a lock needs at least one", s.nodes)
	}
	if s.dir != "" {
		if err := recording.Writable(s.dir); err != nil {
			return fmt.Errorf("the runs can't be recorded: %w", err)
		}
	}
	for _, f := range s.declined {
		if !slices.Contains(features, f) {
			return fmt.Errorf("the lock is declared to be without %q, the features are"+
				" %q", f, features)
		}
	}
	if s.only != nil && len(s.only) == 0 {
		return errors.New("only some scenarios are to run, and none is named")
	}
	for _, name := range s.only {
		if _, err := Find(name); err != nil {
			return fmt.Errorf("only some scenarios are to run: %w", err)
		}
	}
	for _, flaw := range slices.Concat(s.flaws, s.sometimes) {
		if err := judges(flaw); err != nil {
			return fmt.Errorf("a flaw is declared: %w", err)
		}
	}
	return nil
}

// judges is an error where no scenario could have the flaw.
func judges(f Flaw) error {
	scenario, err := Find(f.Scenario)
	if all := scenario.Judged(); err == nil && !slices.Contains(all, f.Invariant) {
		err = fmt.Errorf("the invariants of %s are %s, not %q", f.Scenario,
			strings.Join(all, ", "), f.Invariant)
	}
	return err
}

// Offered are the options for a lock that is a program, from what it says it offers. Its
// Build is the program's.
func Offered(p *protocol.Program) []Option {
	options := []Option{Nodes(p.Nodes()), machineClock(), Keys(p.Keys), Keeps(p.Keeps)}
	if p.Readers("") != "" {
		options = append(options, Readers(p.Readers))
	}
	for feature, name := range map[protocol.Feature]Feature{
		protocol.Renewal: Renewal, protocol.FixedLease: FixedLeases,
		protocol.LossNotices: LossNotices, protocol.Reentry: Reentry,
	} {
		if !p.Offers(feature) {
			options = append(options, WithoutFeatures(name))
		}
	}
	return options
}

// ReadFlaws reads a file with what a lock is known to break, one "scenario: invariant" a line; #
// begins a comment. A line that begins with the word "sometimes" has what the lock breaks in some
// runs only. Its errors are one line, which says where the file is wrong and what would be right.
func ReadFlaws(text string) (always, sometimes []Flaw, err error) {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		line, chance := strings.CutPrefix(line, "sometimes ")
		scenario, invariant, ok := strings.Cut(line, ":")
		if !ok {
			return nil, nil, fmt.Errorf("line %d: %q should be \"scenario: invariant\"",
				i+1, line)
		}
		flaw := Flaw{Scenario: strings.TrimSpace(scenario),
			Invariant: strings.TrimSpace(invariant)}
		if err := judges(flaw); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if chance {
			sometimes = append(sometimes, flaw)
		} else {
			always = append(always, flaw)
		}
	}
	return always, sometimes, nil
}
