package cohort_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// The catalogue's clients have one owner each. These stories have several owners
// in one process, for what happens between them no server sees.

const (
	key    = "stock"
	ttl    = 10 * time.Second
	second = time.Second
	milli  = time.Millisecond
)

// story is a world with processes.
type story struct {
	*lab.World
	t      *testing.T
	inside []*owner
	served []string // the owners that were granted the lock, in order
	tokens []uint64 // and their fencing tokens
	forgot bool     // the server has lost the lock

	drivers []*redis.Client // clients with settings of their own
}

// process is a client of the lab: one rdb value, several owners.
type process struct {
	*lab.Client
	story *story
	env   lock.Env
}

// owner is one handle, with a script of its own.
type owner struct {
	*process
	name  string
	lock  cohort.Fenced
	since time.Duration // when it was granted the lock
}

// tell tells a story, which calls begin and then Play, and then looks for what
// it may have left behind.
func tell(t *testing.T, scripts func(s *story)) {
	t.Helper()
	config := lab.Config{Nodes: 1, Key: key, TTL: ttl}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &story{World: w, t: t}
		scripts(s)
		for _, rdb := range s.drivers {
			assert.NoError(t, rdb.Close())
		}
		for _, b := range w.Breaks(lab.ForeignRelease) {
			t.Error(b)
		}
		for _, err := range w.Failures() {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("\n" + w.Render(-1))
		}
	}))
	inUse, listening := cohort.InUse()
	assert.Zero(t, inUse, "cohorts are left in the registry")
	assert.Zero(t, listening, "subscriptions are left in the registry")
}

func (s *story) process(name string) *process {
	c := s.Client(name)
	return &process{c, s, c.Env(key)}
}

// operator does something to the server at a moment.
func (s *story) operator(at time.Duration, what string, do func(n *lab.Node)) {
	o := s.Client("~")
	o.Go(func() {
		o.Sleep(at)
		o.Step(what, func() { do(s.Node(0)) })
	})
}

// owner makes a handle and starts its script. The phase of the n-th differs from
// all others: ties decide nothing.
func (p *process) owner(n int, script func(o *owner),
	opts ...lock.Option) *owner {
	l, err := cohort.NewFenced(p.env.Nodes[0], key, ttl,
		append(slices.Clone(p.env.Options), opts...)...)
	require.NoError(p.story.t, err)
	o := &owner{process: p, name: fmt.Sprint(p.Name, n), lock: l}
	p.Go(func() {
		o.Sleep(time.Duration(n) * milli)
		script(o)
	})
	return o
}

// at waits for a moment of the story.
func (o *owner) at(moment time.Duration) {
	if left := moment - o.story.Now(); left > 0 {
		o.Sleep(left)
	}
}

// acquire calls Lock and keeps the books.
func (o *owner) acquire() bool { return o.acquireWithin(time.Hour) == nil }

func (o *owner) acquireWithin(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(o.story.Context(), patience)
	defer cancel()
	err := o.lock.Lock(ctx)
	o.Step(o.name+" goes on", func() {
		o.Note("%s's Lock returns %v", o.name, err)
		if err == nil {
			o.enter()
		}
	})
	return err
}

// enter counts an owner among the holders. Two may not believe to hold the lock,
// and not in one process even when the server has lost it.
func (o *owner) enter() {
	s := o.story
	for _, other := range s.inside {
		if s.forgot && other.process != o.process {
			continue
		}
		select {
		case <-other.lock.Lost():
		default:
			assert.Fail(s.t, "two holders", "%s holds the lock, and %s was"+
				" never told that it lost it", o.name, other.name)
		}
	}
	o.since = s.Now()
	s.inside = append(s.inside, o)
	s.served = append(s.served, o.name)
	s.tokens = append(s.tokens, o.lock.Token())
}

func (o *owner) release() error {
	o.Step(o.name+" unlocks", o.leave)
	err := o.lock.Unlock(o.story.Context())
	o.Step(o.name+" has unlocked", func() {
		o.Note("%s's Unlock returns %v", o.name, err)
	})
	return err
}

func (o *owner) leave() {
	s := o.story
	s.inside = slices.DeleteFunc(s.inside, func(other *owner) bool {
		return other == o
	})
}

// section takes the lock, works and releases it.
func (o *owner) section(work time.Duration) {
	if o.acquire() {
		o.Sleep(work)
		assert.NoError(o.story.t, o.release(), o.name)
	}
}

// crash ends the process with all of its owners.
func (p *process) crash(at time.Duration) {
	p.Go(func() {
		p.Sleep(at)
		p.Step("dies", func() {
			p.story.inside = slices.DeleteFunc(p.story.inside,
				func(o *owner) bool { return o.process == p })
			p.Crash()
		})
	})
}

// lost waits until the owner is told that its lease is gone.
func (o *owner) lost() time.Duration {
	<-o.lock.Lost()
	o.Step(o.name+" is told", func() { o.Note("%s is told", o.name) })
	return o.story.Now()
}

// sent are the commands of a process, publish/subscribe left out.
func (p *process) sent() (commands []string) {
	for _, e := range p.story.Timeline() {
		if e.Client == p.Name && e.Command != "" &&
			!strings.Contains(e.Command, "SUBSCRIBE") {
			commands = append(commands, e.Text)
		}
	}
	return commands
}

// begin makes processes that have locked before, so that the server knows the
// scripts, and sets the clock to zero.
func (s *story) begin(names ...string) (all []*process) {
	for _, name := range names {
		p := s.process(name)
		all = append(all, p)
		p.warm()
	}
	s.Record()
	return all
}

// warm makes the server know the scripts, and connects the process.
func (p *process) warm() {
	s := p.story
	p.Go(func() {
		l, err := cohort.New(p.env.Nodes[0], key+":warm", ttl, p.env.Options...)
		require.NoError(s.t, err)
		require.NoError(s.t, l.Lock(s.Context()))
		p.Sleep(ttl * 2 / 5) // until it is renewed
		require.NoError(s.t, l.Unlock(s.Context()))
	})
	s.Play()
}

// loop takes the lock again and again.
func (o *owner) loop(sections int, work time.Duration) {
	for range sections {
		o.section(work)
	}
}

// before is how many sections were granted before that owner's first one.
func (s *story) before(name string) int { return slices.Index(s.served, name) }
