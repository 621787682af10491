package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// calls looks for calls that returned too late, or never. The time for which their
// process was stopped doesn't count.
func (r *record) calls() {
	stacks := map[process]map[int64]string{}
	for _, e := range r.events {
		if e.Kind == event.Stuck {
			p := process{e.Worker, e.Life}
			if stacks[p] == nil {
				stacks[p] = map[int64]string{}
			}
			stacks[p][e.N] = e.Text
		}
	}
	for _, c := range r.requests {
		p := process{c.Worker, c.Life}
		end, how := r.end, "has not returned when the run ended"
		if c.returned != nil {
			end, how = c.returned.At, "returned"
		} else if at, ok := r.killed[p]; ok {
			end, how = at, "had not returned when its process was killed"
		}
		late := time.Duration(end - c.Deadline -
			covered(r.excuses[c.Worker], min(c.Deadline, end), end))
		driver := r.setup.Drivers[c.Worker]
		if c.returned != nil {
			r.verdict.Latest[driver] = max(r.verdict.Latest[driver], late)
		}
		if late <= r.setup.Lateness[c.Worker] {
			continue
		}
		text := fmt.Sprintf("%s of %s by w%d.%d/g%d (driver: %s) %s %s after its"+
			" deadline", c.Op, c.Key, c.Worker, c.Life, c.Goroutine, driver, how,
			length(int64(late)))
		if file := stacks[p][c.N]; file != "" {
			text += ", stacks in " + file
		}
		r.violated(LateReturn, text, c.Key, c.At, end, ownerOf(c.Event))
	}
	r.countNotHeld()
}

// countNotHeld counts the Unlocks that say that the lock was not held although
// nothing had said so before.
func (r *record) countNotHeld() {
	newest := map[owner]*section{}
	next := 0
	for _, c := range r.requests {
		for ; next < len(r.sections) && r.sections[next].held <= c.At; next++ {
			newest[r.sections[next].owner] = r.sections[next]
		}
		s := newest[ownerOf(c.Event)]
		if c.Op == event.Unlock && c.returned != nil && s != nil &&
			s.key == c.Key && !s.lost && c.returned.Error == "not held" {
			r.verdict.NotHeld++
		}
	}
}

// probes looks for keys that a process could not get within two leases and two
// pauses between attempts after the nemesis had ended. The time in which a server was
// late doesn't count.
func (r *record) probes() {
	if !r.verdict.Calm {
		r.open("what follows the faults: the run was broken off")
		return
	}
	limit := 2*r.setup.TTL + 2*r.setup.Poll + recovery
	type probe struct {
		worker int
		key    string
	}
	first, last := map[probe]*call{}, map[probe]*call{}
	got := map[probe]bool{}
	for _, c := range r.requests {
		p := probe{c.Worker, c.Key}
		if c.Op != event.Probe {
			continue
		}
		if first[p] == nil {
			first[p] = c
		}
		last[p] = c
		if c.returned == nil || !c.returned.Granted {
			continue
		}
		got[p] = true
		took := r.waited(c.Worker, first[p].At, c.returned.At)
		r.verdict.LongestProbe = max(r.verdict.LongestProbe,
			time.Duration(c.returned.At-first[p].At))
		if took > limit {
			r.violated(NotHad, fmt.Sprintf("worker %d got %s %s after the faults"+
				" had ended, the limit is %v", c.Worker, c.Key,
				length(int64(took)), limit), c.Key, first[p].At, c.returned.At,
				ownerOf(c.Event))
		}
	}
	for w := range r.setup.Drivers {
		for _, key := range r.setup.Keys {
			p := probe{w, key}
			if got[p] {
				continue
			}
			if first[p] == nil {
				r.violated(NotHad, fmt.Sprintf("worker %d didn't ask for %s after the"+
					" faults had ended", w, key), key, r.end, r.end)
				continue
			}
			end := r.end
			if last[p].returned != nil {
				end = last[p].returned.At
			}
			took := r.waited(w, first[p].At, end)
			if took <= limit {
				r.open(fmt.Sprintf("whether worker %d could have had %s after the"+
					" faults: servers or processes were late for most of the time", w,
					key))
				continue
			}
			r.violated(NotHad, fmt.Sprintf("worker %d didn't get %s within %s after the"+
				" faults had ended, the limit is %v", w, key, length(int64(took)), limit),
				key, first[p].At, r.end, ownerOf(first[p].Event))
		}
	}
	if slices.ContainsFunc(r.verdict.Violations, func(v Violation) bool {
		return v.Invariant == NotHad
	}) || len(got) < len(r.setup.Drivers)*len(r.setup.Keys) {
		r.verdict.LongestProbe = 0
	}
}

// waited is how long a worker has asked for a key, without the time in which it, or a
// server, was late.
func (r *record) waited(worker int, from, to int64) time.Duration {
	excuses := slices.Concat(r.excuses[worker], r.late)
	return time.Duration(to - from - covered(excuses, from, to))
}

// leftovers looks for what the soak has found afterwards.
func (r *record) leftovers() {
	rested := map[int]bool{}
	for _, e := range r.events {
		switch {
		case e.Kind == event.Left:
			r.violated(LeftBehind, e.Text, "", e.At, e.At)
		case e.Kind == event.Rest && e.Count > e.Base:
			r.violated(LeftBehind, fmt.Sprintf("%d goroutines of worker %d, at"+
				" the beginning there were %d, stacks in %s", e.Count, e.Worker,
				e.Base, e.Text), "", e.At, e.At)
		}
		rested[e.Worker] = rested[e.Worker] || e.Kind == event.Rest
	}
	for w := range r.setup.Drivers {
		if r.verdict.Calm && !rested[w] {
			r.violated(LeftBehind, fmt.Sprintf("worker %d never came to rest", w),
				"", r.end, r.end)
		}
	}
}
