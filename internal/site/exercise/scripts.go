package exercise

import (
	"io/fs"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/locktest"
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
				rdb.AddHook(locktest.Around(r.replace))
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
func (r *replacement) replace(cmd redis.Cmder, send func() error) error {
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
	return send()
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
