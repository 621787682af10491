// Package life draws the recorded life of a lock: a lane for each client, one for
// the lock's key on each node, and between them the commands that pass. It is the
// picture at the top of a rung's page.
package life

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/scenarios"
)

// Dir is where the pictures are, below the module.
const Dir = "docs/life"

// renewScript is what the rungs call the script that renews a lease.
const renewScript = "renew.lua"

// File is the picture of a rung, below the module.
func File(rung string) string { return path.Join(Dir, path.Base(rung)+".svg") }

// tenure is a time during which a node has the key under one grant.
type tenure struct {
	owners   []string // several: readers
	value    string
	from, to time.Duration
	ends     time.Duration // of its lease, as last renewed; 0: never
	renewed  int
	reading  bool
	open     bool // it is there when the run ends
}

// expired says whether the lease ended it, and no release.
func (t *tenure) expired() bool { return !t.open && t.ends > 0 && t.to == t.ends }

// tenures are those of a node, in order.
func tenures(l *scenarios.Lived, node int) []*tenure {
	var all []*tenure
	var now *tenure
	for _, e := range l.Entries {
		next := at(e, node)
		if now != nil && (next == nil || next.value != now.value ||
			!slices.Equal(next.owners, now.owners)) {
			now.to = e.At
			if now.ends > 0 {
				now.to = min(now.to, now.ends)
			}
			now = nil
		}
		switch {
		case next == nil:
		case now == nil:
			now = next
			all = append(all, now)
		case next.ends != now.ends:
			if now.ends > 0 {
				now.renewed++
			}
			now.ends = next.ends
		}
	}
	if now != nil {
		now.to, now.open = end(l), true
	}
	return all
}

// at is who has the key on a node after an entry; nil: nobody. The grants of readers
// aren't in the key itself.
func at(e *scenarios.Entry, node int) *tenure {
	for _, lease := range e.Leases {
		if lease.Node == node {
			return &tenure{owners: []string{lease.Owner},
				value: lease.Value, from: e.At, ends: lease.Ends}
		}
	}
	if e.Owner != "-" && len(e.Leases) == 0 {
		return &tenure{owners: strings.Fields(e.Owner), from: e.At,
			reading: true}
	}
	return nil
}

// end is when the run ends.
func end(l *scenarios.Lived) time.Duration {
	return l.Entries[len(l.Entries)-1].At
}

// nodes is how many nodes have the lock's key.
func nodes(l *scenarios.Lived) int {
	n := 1
	for _, e := range l.Entries {
		n = max(n, e.Node+1)
	}
	return n
}

// process is the client whose commands an owner sends: its own, or those of the
// owner that it lives beside.
func process(l *scenarios.Lived, owner string) string {
	for _, v := range l.Runs {
		if v.Client == owner && v.Beside != "" {
			return v.Beside
		}
	}
	return owner
}

// commands are those that a client run sends until its call returns, from a moment on.
func commands(l *scenarios.Lived, v scenarios.ClientRecord, from, to time.Duration,
) []*scenarios.Entry {
	client := process(l, v.Client)
	var sent []*scenarios.Entry
	for _, e := range l.Entries {
		if e.Client == client && e.Node >= 0 && e.Command != "" && e.Sent >= from &&
			e.At <= to && short(e) != renewScript {
			sent = append(sent, e)
		}
	}
	return sent
}

// short is a command without the names of keys and without numbers.
func short(e *scenarios.Entry) string {
	words := strings.Fields(e.Text)
	if strings.HasPrefix(words[0], "EVAL") && len(words) > 1 {
		return words[1]
	}
	var kept []string
	for _, w := range words {
		if strings.Trim(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// several are the short forms of commands, each once, with how often.
func several(sent []*scenarios.Entry) string {
	var names []string
	count := map[string]int{}
	for _, e := range sent {
		name := short(e)
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, count[name])
		}
	}
	return strings.Join(names, ", ")
}

// granting are the commands of the attempt that gave a client run the lock: those after
// which the servers have something else for the lock.
func granting(l *scenarios.Lived, v scenarios.ClientRecord) []*scenarios.Entry {
	var changed []*scenarios.Entry
	for _, e := range commands(l, v, v.Asked, v.Granted) {
		i := slices.Index(l.Entries, e)
		if i == 0 || state(l.Entries[i-1]) != state(e) {
			changed = append(changed, e)
		}
	}
	return changed
}

func state(e *scenarios.Entry) string { return fmt.Sprint(e.Owner, e.Leases) }

// woken says whether a message came to a client run right before it was granted.
func woken(l *scenarios.Lived, v scenarios.ClientRecord) bool {
	return slices.ContainsFunc(l.Entries, func(e *scenarios.Entry) bool {
		return e.Client == process(l, v.Client) &&
			strings.HasPrefix(e.Text, "message ") &&
			e.At <= v.Granted && v.Granted-e.At < 100*time.Millisecond
	})
}

// releasing are the commands of a client run's Unlock.
func releasing(l *scenarios.Lived, v scenarios.ClientRecord) []*scenarios.Entry {
	returned := end(l)
	for _, e := range l.Entries {
		if e.Client == process(l, v.Client) && e.At >= v.Left &&
			strings.Contains(e.Text, "nlock returns") {
			returned = e.At
			break
		}
	}
	return commands(l, v, v.Left, returned)
}

// renewals are when a client run's lease was renewed.
func renewals(l *scenarios.Lived, v scenarios.ClientRecord) []time.Duration {
	var all []time.Duration
	for _, e := range l.Entries {
		if e.Client == process(l, v.Client) && e.Command != "" &&
			short(e) == renewScript && e.At > v.Granted && e.At <= v.Left {
			all = append(all, e.At)
		}
	}
	return all
}

// Text says in words what the picture shows, for readers who don't see it.
func Text(l *scenarios.Lived) string {
	type fact struct {
		at   time.Duration
		text string
	}
	var facts []fact
	say := func(at time.Duration, format string, args ...any) {
		facts = append(facts, fact{at, fmt.Sprintf(format, args...)})
	}
	for _, v := range l.Runs {
		if v.Granted == 0 {
			say(v.Left, "%s gives up at %s", v.Client, seconds(v.Left))
			continue
		}
		switch {
		case v.Reads:
			say(v.Granted, "%s reads from %s on", v.Client, seconds(v.Granted))
		case v.Token > 0:
			say(v.Granted, "%s takes the lock at %s, with token %d", v.Client,
				seconds(v.Granted), v.Token)
		case passedOn(l, v):
			say(v.Granted, "%s gets the lock at %s, without a command", v.Client,
				seconds(v.Granted))
		default:
			say(v.Granted, "%s takes the lock at %s", v.Client, seconds(v.Granted))
		}
		if n := len(renewals(l, v)); n > 0 {
			say(v.Granted, "%s renews the lease %s", v.Client, times(n))
		}
		if v.Crashes {
			say(v.Left, "%s crashes at %s", v.Client, seconds(v.Left))
		} else {
			say(v.Left, "%s unlocks at %s", v.Client, seconds(v.Left))
		}
	}
	if at, down := failed(l); len(down) > 0 {
		say(at, "nodes down from %s on: %d of %d", seconds(at), len(down), nodes(l))
	}
	for _, t := range tenures(l, 0) {
		switch {
		case t.open && t.ends == 0 && !t.reading:
			say(t.to, "the key of %s has no lease and stays forever", t.owners[0])
		case t.expired():
			say(t.to, "the lease of %s ends at %s", t.owners[0], seconds(t.to))
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return int(a.at - b.at) })
	var b strings.Builder
	b.WriteString("A recorded run.")
	for _, f := range facts {
		b.WriteString(" " + strings.ToUpper(f.text[:1]) + f.text[1:] + ".")
	}
	return b.String()
}

// passedOn says whether a client run got the lock without a command.
func passedOn(l *scenarios.Lived, v scenarios.ClientRecord) bool {
	return v.Granted > 0 && len(granting(l, v)) == 0
}

// failed are the nodes that go down, and when.
func failed(l *scenarios.Lived) (at time.Duration, down map[int]bool) {
	down = map[int]bool{}
	for _, e := range l.Entries {
		if e.Client == "" && e.Node >= 0 {
			at, down[e.Node] = e.At, true
		}
	}
	return at, down
}

// housemates are the owners of a process.
func housemates(l *scenarios.Lived, client string) string {
	names := []string{client}
	for _, v := range l.Runs {
		if v.Beside == client && !slices.Contains(names, v.Client) {
			names = append(names, v.Client)
		}
	}
	return strings.Join(names, " and ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	if n == 2 {
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// seconds are rounded, as a label has them.
func seconds(d time.Duration) string {
	return fmt.Sprintf("%.0f s", d.Seconds())
}
