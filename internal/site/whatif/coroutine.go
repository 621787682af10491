package whatif

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/diamond/watchdog"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/lock"
)

// Program is a lock of functions that yield what they send. A call of one goes on until it
// yields a command, is resumed with the reply, and goes on from there. So the functions need
// no threads and no clock: a learner writes them in JavaScript, as generator functions, and
// they run in virtual time. There are the functions tryLock, which says whether the lock was
// granted, and unlock, which says whether it was the owner's.
type Program struct {
	File   string // as a timeline names it
	Waits  bool   // it has a function lock; else tryLock is called again and again
	Renews bool   // it has a function renew, which says whether the lock is still held

	// Owner begins an owner of the lock at a key, with variables of its own.
	Owner func(key string, ttl time.Duration) Owner
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
	Line    int     `json:"line"` // of the newest command; 0: not known
	Command []any   `json:"command"`
	Sleep   float64 `json:"sleep"` // milliseconds, unless there is a command
	Used    bool    `json:"used"`  // the token was
	Ended   bool    `json:"ended"` // and returns Value
	Value   bool    `json:"value"`
	Passed  bool    `json:"passed"` // it ends with the error that it was resumed with
	Thrown  string  `json:"thrown"` // it ends with another error; "": it doesn't
}

// Build makes one owner of the lock on the first node. It is a lock.Build.
func (p *Program) Build(env lock.Env) (lock.Lock, error) {
	o, err := lock.Configure(env.Nodes, env.Key, env.TTL, env.Options)
	if err != nil {
		return nil, err
	}
	l := &owner{Program: p, Env: env, opts: o, begin: p.Owner(env.Key, env.TTL), token: o.Token()}
	if p.Renews {
		return renewed{l}, nil
	}
	return l, nil
}

// owner is one owner of the lock.
type owner struct {
	*Program
	lock.Env
	opts  *lock.Options
	begin Owner
	token string          // the next one
	lease *watchdog.Lease // of the newest grant that is renewed, nil before the first
}

// renewed is an owner that is told when its lease is gone.
type renewed struct{ *owner }

func (l renewed) Lost() <-chan struct{} { return l.lease.Lost() }

func (l *owner) TryLock(ctx context.Context) (bool, error) {
	sent := time.Now()
	granted, err := l.call(ctx, "tryLock")
	if granted {
		l.watch(sent)
	}
	return granted, err
}

func (l *owner) Lock(ctx context.Context) error {
	if !l.Waits {
		return lock.Poll(ctx, l.Key, l.opts, l.TryLock)
	}
	_, err := l.call(ctx, "lock")
	if err == nil {
		l.watch(time.Now())
	}
	return err
}

// Unlock has a lease's time of its own if the lease is renewed, as the watchdog's has.
func (l *owner) Unlock(ctx context.Context) error {
	if l.Renews {
		l.lease.Stop() // no renewal may follow the release
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL)
		defer cancel()
		ctx = own
	}
	held, err := l.call(ctx, "unlock")
	if err == nil && !held {
		err = lock.Failed(ctx, "unlock", l.Key, lock.ErrNotHeld)
	}
	return err
}

// watch renews the lease of a grant, and counts it from when the command was sent.
func (l *owner) watch(sent time.Time) {
	if l.Renews {
		l.lease.Stop()
		l.lease = watchdog.Watch(l.TTL, sent, l.opts.FixedLease,
			func(ctx context.Context) (bool, error) { return l.call(ctx, "renew") })
	}
}

// call runs a function to its end and returns what it returns.
func (l *owner) call(ctx context.Context, function string) (bool, error) {
	resume, r := l.begin(function), Resume{}
	var err error
	for {
		r.Token, r.Now, r.Error = l.token, l.Now().UnixMilli(), ""
		if err != nil {
			r.Error = err.Error()
		}
		step := resume(r)
		if step.Used {
			l.token = l.opts.Token()
		}
		switch {
		case step.Passed:
			return false, lock.Failed(ctx, function, l.Key,
				fmt.Errorf("line %d: %w", step.Line, err))
		case step.Thrown != "":
			return false, lock.Failed(ctx, function, l.Key, errors.New(step.Thrown))
		case step.Ended:
			return step.Value, nil
		case step.Command != nil:
			r.Reply, err = l.send(ctx, step)
		default:
			r.Reply, err = nil, lock.Sleep(ctx, time.Duration(step.Sleep*float64(time.Millisecond)))
		}
	}
}

// send sends a command, which the timeline knows to be from a line of the program.
func (l *owner) send(ctx context.Context, step Step) (any, error) {
	if step.Line > 0 {
		ctx = lab.FromLine(ctx, fmt.Sprintf("%s:%d", l.File, step.Line))
	}
	reply, err := l.Nodes[0].Do(ctx, step.Command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}
