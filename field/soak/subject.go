package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
)

// subject is a lock that a soak can run: a rung, or a lock that is wrong on purpose.
type subject struct {
	ladder.Rung
	Reentrant bool   // an owner that is inside may enter once more
	Page      string // where its flaws are documented
}

// onPurpose begins the names of the locks that are wrong on purpose.
const onPurpose = "wrong/"

// soaked are the locks that are wrong on purpose, because their mistake needs time, or a
// process: a scenario doesn't show it.
var soaked = map[string]wrong.Mistakes{
	"none":             {},
	"lease_from_reply": {FromReply: true},
	"blind_release":    {Blind: true},
	"endless_renewal":  {Endless: true},
	"deaf_waiter":      {Deaf: true},
	"no_lease":         {NoLease: true},
	"early_token":      {Early: true},
}

// findSubject returns the lock of that name. Its error lists the valid names.
func findSubject(name string) (subject, error) {
	if mistake, ok := strings.CutPrefix(name, onPurpose); ok {
		m, ok := soaked[mistake]
		if !ok {
			return subject{}, fmt.Errorf("there is no wrong lock %q, they are %s",
				name, onPurpose+strings.Join(slices.Sorted(maps.Keys(soaked)), ", "+onPurpose))
		}
		return subject{Rung: ladder.Rung{Name: name, Nodes: 1, Build: m.Build,
			Renews: true}, Page: "docs/soak.md"}, nil
	}
	rung, err := ladder.Find(name)
	if err != nil {
		return subject{}, fmt.Errorf("%w (there are wrong locks, too, such as wrong/none)", err)
	}
	return subject{Rung: rung, Page: rung.Page(),
		Reentrant: strings.HasPrefix(name, "reentrant")}, nil
}

// fenced says whether the lock offers fencing tokens.
func (s subject) fenced() bool {
	env := lock.Env{Key: "soak", TTL: time.Second}
	for range s.Nodes {
		rdb := redis.NewClient(&redis.Options{}) // it connects to nothing
		defer rdb.Close()
		env.Nodes = append(env.Nodes, rdb)
	}
	l, err := s.Build(env)
	_, offers := l.(lock.Fenced)
	return offers && err == nil
}
