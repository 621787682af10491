package exercise

import (
	"context"
	"io/fs"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// WithScripts builds a rung that runs an exercise's scripts in place of its own of
// the same names. It is for an exercise whose solution changes nothing but scripts.
func WithScripts(rung lock.Build, scripts fs.FS) lock.Build {
	r := &replacement{scripts: scripts}
	return func(env lock.Env) (lock.Lock, error) {
		for _, rdb := range env.Nodes {
			// All owners of a process share its clients, by which a rung may know
			// that they do. So the clients stay, and each gets the hook once.
			if _, has := r.clients.LoadOrStore(rdb, true); !has {
				rdb.AddHook(each(r.replace))
			}
		}
		return rung(env)
	}
}

// replacement is of a rung's scripts.
type replacement struct {
	scripts fs.FS
	clients sync.Map // those that have the hook
	digests sync.Map // SHA1 of a rung's script: SHA1 of the one that replaces it
}

// replace has a command run another script.
func (r *replacement) replace(cmd redis.Cmder) {
	words := cmd.Args()
	switch cmd.Name() {
	case "eval":
		words[1] = r.replaced(words[1].(string))
	case "evalsha":
		// An unknown one is the first of its kind. The server doesn't know it
		// either, so that the rung sends the source.
		if digest, known := r.digests.Load(words[1]); known {
			words[1] = digest
		}
	}
}

// replaced is the exercise's script for one of the rung's, whose first line begins
// with the name of its file. One that the exercise doesn't have stays as it is.
func (r *replacement) replaced(source string) string {
	title, _, _ := strings.Cut(source, ":")
	other, err := fs.ReadFile(r.scripts, strings.TrimPrefix(title, "-- "))
	if err != nil {
		return source
	}
	r.digests.Store(redis.NewScript(source).Hash(),
		redis.NewScript(string(other)).Hash())
	return string(other)
}

// each is a client's hook, which is called with every command before it is sent.
type each func(redis.Cmder)

func (each) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f each) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f(cmd)
		return next(ctx, cmd)
	}
}

func (f each) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error {
		for _, cmd := range all {
			f(cmd)
		}
		return next(ctx, all)
	}
}
