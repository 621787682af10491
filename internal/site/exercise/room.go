package exercise

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/node"
	"github.com/lockladder/lockladder/lock"
)

// room is a world in which a check happens, with processes that it names.
type room struct {
	*lab.World
	build   lock.Build
	clients map[string]*lab.Client
	envs    map[string]lock.Env
}

// executed are the scripts that any check has run.
var executed = node.NewScripts()

// inWorld returns what has failed in a world.
func inWorld(t *testing.T, config lab.Config, build lock.Build,
	script func(*room)) error {
	var failures []error
	config.Nodes, config.Key, config.Scripts = max(config.Nodes, 1), key, executed
	err := lab.Run(t, config, func(w *lab.World) {
		w.Record()
		script(&room{w, build, map[string]*lab.Client{}, map[string]lock.Env{}})
		failures = w.Failures()
	})
	return errors.Join(append(failures, err)...)
}

// client is the process of that name.
func (r *room) client(process string) *lab.Client {
	if r.clients[process] == nil {
		r.clients[process] = r.Client(process)
		r.envs[process] = r.clients[process].Env(key,
			lock.PollEvery(r.TTL/50))
	}
	return r.clients[process]
}

// owner is one more owner in a process. The scenarios have built some before.
func (r *room) owner(process, name string) lock.Lock {
	r.client(process)
	env := r.envs[process]
	env.Key = name
	l, err := lab.Build(r.build, env)
	if err != nil {
		r.Fail("%w", err)
	}
	return l
}

// step is one call, and what it has to return.
type step struct {
	when    string
	call    func(context.Context) (bool, error)
	granted bool
	err     error
}

// prompt is how long a call may take where no command is delayed.
const prompt = 100 * time.Millisecond

func try(when string, l lock.Lock, granted bool) step {
	return step{"TryLock " + when, l.TryLock, granted, nil}
}

func release(when string, l lock.Lock, err error) step {
	return step{"Unlock " + when, func(ctx context.Context) (bool, error) {
		return false, l.Unlock(ctx)
	}, false, err}
}

// after is something that happens to the lock, and takes time.
func (r *room) after(d time.Duration, happens func()) step {
	return step{call: func(context.Context) (bool, error) {
		happens()
		r.client("Z").Sleep(d)
		return false, nil
	}}
}

// steps makes the calls one after the other, and fails at the first that returns
// something else.
func (r *room) steps(all ...step) {
	r.client("Z").Go(func() {
		for _, s := range all {
			began := time.Now()
			granted, err := s.call(r.Context())
			switch took := time.Since(began); {
			case granted != s.granted || !errors.Is(err, s.err):
				r.Fail("%s returns %v, %v, and must return %v, %v", s.when,
					granted, err, s.granted, s.err)
				return
			case s.when != "" && took > prompt:
				r.Fail("%s takes %v, %v are enough", s.when, took, prompt)
				return
			}
		}
	})
	r.Play()
}

// flush has the servers lose all keys.
func (r *room) flush() {
	for i := range r.Nodes {
		r.Node(i).Flush()
	}
}
