package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// subject is a lock that a soak can run: a rung, the fenced form of cohort, or a lock
// that is wrong on purpose.
type subject struct {
	ladder.Rung
	Reentrant bool // an owner that is inside may enter once more
	Fenced    bool
	Page      string // where its flaws are documented
}

// cohortFenced is the form of cohort that hands out fencing tokens, which is not
// a rung of its own.
const cohortFenced = "reentrant/cohort-fenced"

// onPurpose begins the names of the locks that are wrong on purpose.
const onPurpose = "wrong/"

// findSubject returns the lock of that name. Its error lists the valid names.
func findSubject(name string) (subject, error) {
	if mistake, ok := strings.CutPrefix(name, onPurpose); ok {
		m, ok := wrong.Soaked[mistake]
		if !ok {
			return subject{}, fmt.Errorf("there is no wrong lock %q, they are %s",
				name, onPurpose+strings.Join(slices.Sorted(maps.Keys(wrong.Soaked)),
					", "+onPurpose))
		}
		return subject{Rung: ladder.Rung{Name: name, Nodes: 1, Build: m.Build,
			Renews: true}, Fenced: m.Early, Page: "docs/soak.md"}, nil
	}
	find := name
	if name == cohortFenced {
		find = "reentrant/cohort"
	}
	rung, err := ladder.Find(find)
	if err != nil {
		return subject{}, fmt.Errorf("%w, and %s, and wrong/none and others", err,
			cohortFenced)
	}
	found := subject{Rung: rung, Page: page(rung),
		Reentrant: strings.HasPrefix(name, "reentrant"),
		Fenced: name == "reentrant/fenced" || name == cohortFenced ||
			name == "reentrant/readwrite"}
	if name == cohortFenced {
		found.Build = buildFenced
	}
	return found, nil
}

func buildFenced(env lock.Env) (lock.Lock, error) {
	l, err := cohort.NewFenced(env.Nodes[0], env.Key, env.TTL, env.Options...)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// page is where a rung is documented.
func page(rung ladder.Rung) string {
	for i, r := range ladder.Rungs {
		if r.Name == rung.Name {
			return fmt.Sprintf("docs/%02d-%s.md", i+1, path.Base(rung.Name))
		}
	}
	return "docs/README.md"
}
