// Package coroutine makes a lock of functions that yield what they send. A call of one
// goes on until it yields a command, is resumed with the reply, and goes on from there.
// So the functions need no threads and no clock: the laboratory lets a reader write them
// in JavaScript, as generator functions, and runs them in virtual time.
package coroutine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// The functions of a program. It has the first two.
const (
	TryLock = "tryLock" // one attempt: true if the lock was granted, false if not
	Unlock  = "unlock"  // false if the lock was not this owner's
	Lock    = "lock"    // waits for the lock; without it tryLock is called again and again
	Renew   = "renew"   // is called after every third of the lease: false if it is lost
)

// Program is what was written.
type Program interface {
	// Functions are those that it has.
	Functions() []string

	// Owner begins an owner of the lock at a key, with variables of its own.
	Owner(key string, ttl time.Duration) Owner
}

// Owner begins a call of one of its functions.
type Owner func(function string) Call

// Call is a function under way. It isn't resumed again when it has ended.
type Call func(Resume) Step

// Resume is what a call goes on with. The first one has no reply.
type Resume struct {
	Reply any    `json:"reply"` // Redis's: nil, a string, an int64, or a list of them
	Error string `json:"error"` // is thrown in place of a reply; "": none
	Token string `json:"token"` // that no owner has had
	Now   int64  `json:"now"`   // by the client's own clock, in milliseconds
}

// Step is where a call stops: at a command, at a sleep, or at its end.
type Step struct {
	Line    int      `json:"line"` // of the code, where it yields; 0: not known
	Command []string `json:"command"`
	Sleep   float64  `json:"sleep"`   // milliseconds, unless there is a command
	Used    bool     `json:"used"`    // the token was
	Ended   bool     `json:"ended"`   // with one of the following
	Value   *bool    `json:"value"`   // what it returns; nil: nothing
	Passed  bool     `json:"passed"`  // it passes on the error that it was resumed with
	Thrown  string   `json:"thrown"`  // an error that it means to
	Mistake string   `json:"mistake"` // and what no lock does, such as to return a number
}

// Source makes owners of the lock that a program is.
type Source struct {
	Name    string // of its file, as a timeline names it
	program Program

	mu      sync.Mutex
	mistake error
}

// New is the lock of a program. Its error is one line.
func New(name string, program Program) (*Source, error) {
	for _, needed := range []string{TryLock, Unlock} {
		if !slices.Contains(program.Functions(), needed) {
			return nil, fmt.Errorf("a lock needs a function %s: function* %[1]s() { … }",
				needed)
		}
	}
	return &Source{Name: name, program: program}, nil
}

// Renews says whether the lease is renewed.
func (s *Source) Renews() bool { return s.has(Renew) }

func (s *Source) has(function string) bool {
	return slices.Contains(s.program.Functions(), function)
}

// Mistake is the first that was made since the last time that Mistake was asked, nil if
// there was none. A call that makes one returns it.
func (s *Source) Mistake() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.mistake = nil }()
	return s.mistake
}

func (s *Source) wrong(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := fmt.Errorf(format, args...)
	if s.mistake == nil {
		s.mistake = err
	}
	return err
}

// Build makes one owner. It is a lock.Build.
func (s *Source) Build(env lock.Env) (lock.Lock, error) {
	return lock.On(s.construct)(env)
}

func (s *Source) construct(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (lock.Lock, error) {
	o, err := lock.Configure([]redis.UniversalClient{rdb}, key, ttl, opts)
	if err != nil {
		return nil, err
	}
	l := &owner{Source: s, rdb: rdb, key: key, ttl: ttl, opts: o,
		begin: s.program.Owner(key, ttl), token: o.Token()}
	if s.Renews() {
		return &renewed{owner: l}, nil
	}
	return l, nil
}

// owner is one owner of the lock.
type owner struct {
	*Source
	rdb   redis.UniversalClient
	key   string
	ttl   time.Duration
	opts  *lock.Options
	begin Owner
	token string // the next one
}

func (l *owner) TryLock(ctx context.Context) (bool, error) {
	value, err := l.call(ctx, TryLock)
	if err == nil && value == nil {
		err = l.wrong("%s returns nothing: return true if the lock was granted, false"+
			" if it was not", TryLock)
	}
	return err == nil && *value, err
}

func (l *owner) Lock(ctx context.Context) error {
	if !l.has(Lock) {
		return lock.Poll(ctx, l.key, l.opts, l.TryLock)
	}
	value, err := l.call(ctx, Lock)
	if err == nil && value != nil && !*value {
		err = l.wrong("%s returns false: it waits until the lock is granted", Lock)
	}
	return err
}

func (l *owner) Unlock(ctx context.Context) error {
	value, err := l.call(ctx, Unlock)
	if err == nil && value != nil && !*value {
		err = lock.Failed(ctx, Unlock, l.key, lock.ErrNotHeld)
	}
	return err
}

// mostSteps are those that a call may take. One that waits may take more, since it asks
// again and again.
const mostSteps, mostAttempts = 1000, 100_000

// call runs a function to its end and returns what it returns.
func (l *owner) call(ctx context.Context, function string) (*bool, error) {
	resume, most := l.begin(function), mostSteps
	if function == Lock {
		most = mostAttempts
	}
	var reply any
	var err error
	for line := 0; most > 0; most-- {
		r := Resume{Reply: reply, Token: l.token, Now: l.opts.Now().UnixMilli()}
		if err != nil {
			r.Error = err.Error()
		}
		step := resume(r)
		if step.Used {
			l.token = l.opts.Token()
		}
		switch {
		case step.Mistake != "":
			return nil, l.wrong("%s", step.Mistake)
		case step.Passed:
			return nil, lock.Failed(ctx, function, l.key, fmt.Errorf("line %d: %w", line, err))
		case step.Thrown != "":
			return nil, lock.Failed(ctx, function, l.key, errors.New(step.Thrown))
		case step.Ended:
			return step.Value, nil
		case step.Command != nil:
			line = step.Line
			reply, err = l.send(ctx, step)
		default:
			reply, err = nil, lock.Sleep(ctx,
				time.Duration(step.Sleep*float64(time.Millisecond)))
		}
	}
	return nil, l.wrong("%s comes to no end after thousands of steps", function)
}

// send sends a command, which the timeline knows to be from a line of the program.
func (l *owner) send(ctx context.Context, step Step) (any, error) {
	if step.Line > 0 {
		ctx = lab.FromLine(ctx, fmt.Sprintf("%s:%d", l.Name, step.Line))
	}
	words := make([]any, len(step.Command))
	for i, word := range step.Command {
		words[i] = word
	}
	reply, err := l.rdb.Do(ctx, words...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil && strings.HasPrefix(err.Error(), "ERR unknown command") {
		return nil, l.wrong("line %d: there is no command %q (or the laboratory doesn't"+
			" have it)", step.Line, step.Command[0])
	}
	return reply, err
}

// renewed is an owner whose lease is renewed while it holds the lock.
type renewed struct {
	*owner
	lease *watchdog.Lease // of the newest grant, nil before the first
}

func (l *renewed) TryLock(ctx context.Context) (bool, error) {
	sent := time.Now()
	granted, err := l.owner.TryLock(ctx)
	if granted {
		l.watch(sent)
	}
	return granted, err
}

func (l *renewed) Lock(ctx context.Context) error {
	if !l.has(Lock) {
		return lock.Poll(ctx, l.key, l.opts, l.TryLock)
	}
	err := l.owner.Lock(ctx)
	if err == nil {
		l.watch(time.Now())
	}
	return err
}

// watch renews the lease of a grant, and counts it from when the command was sent.
func (l *renewed) watch(sent time.Time) {
	l.lease.Stop()
	l.lease = watchdog.Watch(l.ttl, sent, l.opts.FixedLease,
		func(ctx context.Context) (bool, error) {
			value, err := l.call(ctx, Renew)
			return err == nil && (value == nil || *value), err
		})
}

// Unlock has a lease's time of its own, as the watchdog's has.
func (l *renewed) Unlock(ctx context.Context) error {
	l.lease.Stop() // no renewal may follow the release
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.ttl)
	defer cancel()
	return l.owner.Unlock(ctx)
}

// Lost is closed when the newest grant's lease is gone; nil before the first.
func (l *renewed) Lost() <-chan struct{} { return l.lease.Lost() }
