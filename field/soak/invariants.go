package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// beliefs looks for two owners of one key that believed they held it at the same time, unless
// both only read. A stop of one of them explains it, and nothing else does.
func (r *record) beliefs() {
	believing := map[string][]*section{} // by key
	for _, later := range r.sections {
		still := slices.DeleteFunc(believing[later.key], func(s *section) bool {
			return s.over <= later.held
		})
		for _, earlier := range still {
			if !earlier.shared || !later.shared {
				r.overlap(earlier, later)
			}
		}
		believing[later.key] = append(still, later)
	}
}

func (r *record) overlap(earlier, later *section) {
	from, to := later.held, min(earlier.over, later.over)
	if to-from <= int64(slack) {
		return
	}
	excuses := slices.Concat(r.of(earlier), r.of(later))
	if to-from-covered(excuses, from, to) <= int64(slack) {
		r.verdict.Overlaps++
		return
	}
	r.violated(twoHolders, fmt.Sprintf("%s and %s believed they held %s at the"+
		" same time, for %s", earlier.name, later.name, earlier.key,
		length(to-from)), earlier.key, earlier.called, to, earlier.owner,
		later.owner)
}

// length says a time that may have no end.
func length(d int64) string {
	if d > int64(24*time.Hour) {
		return "the rest of the run"
	}
	return time.Duration(d).Round(time.Millisecond / 10).String()
}

// tokens looks for a grant whose fencing token is not higher than that of a holder
// whose belief had ended before. Readers have no token.
func (r *record) tokens() {
	if !r.setup.Fenced {
		return
	}
	byKey := map[string][]*section{} // in the order of held
	for _, s := range r.sections {
		// A process that is about to be killed may write one more grant down. That
		// belief had ended when it began.
		if !s.shared && s.over > s.held {
			byKey[s.key] = append(byKey[s.key], s)
		}
	}
	for _, key := range r.setup.Keys {
		held := byKey[key]
		over := slices.SortedStableFunc(slices.Values(held),
			func(a, b *section) int { return cmp.Compare(a.over, b.over) })
		next, highest := 0, (*section)(nil)
		for _, s := range held {
			for ; over[next].over <= s.held; next++ {
				if highest == nil || over[next].token > highest.token {
					highest = over[next]
				}
			}
			if highest != nil && s.token <= highest.token {
				r.violated(oldToken, fmt.Sprintf("%s has the token %d, and %s,"+
					" which ended before, had %d", s.name, s.token, highest.name,
					highest.token), s.key, highest.called, s.held,
					highest.owner, s.owner)
			}
		}
	}
}

// update is what a section did in the storage: it read the name of the section
// that wrote last, and wrote its own. As one step, it can't lose an update.
type update struct {
	section     *section
	name, saw   string
	read, wrote int64

	// excused says that it may have overwritten what it had not read. No section
	// of a lock with fencing tokens is.
	excused bool
}

// porcupineTime is how long porcupine may think about one key.
const porcupineTime = time.Minute

// registerModel is what the storage is to its sections, if each is a single step.
var registerModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		u := input.(*update)
		return u.excused || state.(string) == u.saw, u.name
	},
	DescribeOperation: func(input, _ any) string {
		u := input.(*update)
		return fmt.Sprintf("%s saw %q", u.name, u.saw)
	},
}

// updates asks porcupine whether the sections of each key could have taken place one after the
// other. Of a lock without fencing tokens a section may have written too late because its
// process was stopped; with tokens nothing explains it.
func (r *record) updates() {
	byKey := r.readUpdates()
	for _, key := range r.setup.Keys {
		all := byKey[key]
		r.excuse(all)
		var history []porcupine.Operation
		for _, u := range all {
			history = append(history, porcupine.Operation{Input: u, Call: u.read, Return: u.wrote})
		}
		switch porcupine.CheckOperationsTimeout(registerModel, history, porcupineTime) {
		case porcupine.Illegal:
			r.lostUpdate(key, all)
		case porcupine.Unknown:
			r.open(fmt.Sprintf("%s: porcupine has not decided about the %d sections of"+
				" %s within %v", lostUpdate, len(all), key, porcupineTime))
		}
	}
}

// readUpdates reads the storage's history: the updates of each key in the order of
// their writes. A section that has read only changes nothing.
func (r *record) readUpdates() map[string][]*update {
	byKey, open := map[string][]*update{}, map[string]*update{}
	for _, e := range r.events {
		switch e.Kind {
		case Read:
			open[e.Section] = &update{section: r.byName[e.Section],
				name: e.Section, saw: e.Value, read: e.At}
		case Write:
			u := open[e.Section]
			if u == nil || u.section == nil {
				continue // a section holds and reads before it writes
			}
			u.wrote = e.At
			u.excused = !r.setup.Fenced && (e.At-e.Looked > int64(travel) ||
				touched(r.of(u.section), e.Looked, e.At))
			byKey[e.Key] = append(byKey[e.Key], u)
		}
	}
	return byKey
}

// excuse keeps the excuse of those updates only that need one, and lends it to those
// that a late write disturbed, between what they read and what they wrote.
func (r *record) excuse(all []*update) {
	var late []*update
	for _, u := range all {
		if u.excused {
			late = append(late, u)
		}
	}
	last := ""
	for _, u := range all {
		u.excused = u.saw != last && (u.excused || slices.ContainsFunc(late,
			func(l *update) bool { return u.read < l.wrote && l.wrote < u.wrote }))
		if u.excused {
			r.verdict.Stale++
		}
		last = u.name
	}
}

// lostUpdate shows the first update that saw something else than was there.
func (r *record) lostUpdate(key string, all []*update) {
	last := ""
	for _, u := range all {
		if u.saw == last || u.excused {
			last = u.name
			continue
		}
		owners, from := []owner{u.section.owner}, u.section.called
		if before := r.byName[last]; before != nil {
			owners = append(owners, before.owner)
			from = min(from, before.called)
		}
		r.violated(lostUpdate, fmt.Sprintf("%s overwrote the write of %s to %s,"+
			" which it had not seen", u.name, cmp.Or(last, "nobody"), key), key,
			from, u.wrote, owners...)
		return
	}
	r.violated(lostUpdate, "porcupine finds no order of the sections of "+key, key, r.end, r.end)
}

// calls looks for calls that returned too late, or never. The time for which their
// workerLife was stopped doesn't count.
func (r *record) calls() {
	type number struct { // of a call
		workerLife
		n int64
	}
	stacks := map[number]string{}
	for _, e := range r.events {
		if e.Kind == Stuck {
			stacks[number{workerLife{e.Worker, e.Life}, e.N}] = e.Text
		}
	}
	for _, c := range r.requests {
		p := workerLife{c.Worker, c.Life}
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
		if late <= driver.Lateness(r.setup.TTL) {
			continue
		}
		text := fmt.Sprintf("%s of %s by w%d.%d/g%d (driver: %s) %s %s after its"+
			" deadline", c.Op, c.Key, c.Worker, c.Life, c.Goroutine, driver, how,
			length(int64(late)))
		if file := stacks[number{p, c.N}]; file != "" {
			text += ", stacks in " + file
		}
		r.violated(lateReturn, text, c.Key, c.At, end, ownerOf(c.Event))
	}
}

// probes looks for keys that a process could not get within two leases and two pauses between
// attempts after the nemesis had ended. The time in which a server was late doesn't count.
func (r *record) probes() {
	if !r.verdict.Calm {
		r.open("what follows the faults: the run was broken off")
		return
	}
	limit := 2*r.setup.TTL + 2*r.setup.Poll + recovery
	byKey := map[string][]*call{} // of a worker and a key
	for _, c := range r.requests {
		if c.Op == Probe {
			byKey[fmt.Sprint(c.Worker, c.Key)] = append(byKey[fmt.Sprint(c.Worker, c.Key)], c)
		}
	}
	all := true
	for w := range r.setup.Drivers {
		for _, key := range r.setup.Keys {
			all = r.probe(w, key, byKey[fmt.Sprint(w, key)], limit) && all
		}
	}
	if !all {
		r.verdict.LongestProbe = 0
	}
}

// probe judges the calls by which a worker asked for a key, and says whether it had it in time.
func (r *record) probe(worker int, key string, asked []*call, limit time.Duration) bool {
	if len(asked) == 0 {
		r.violated(notHad, fmt.Sprintf("worker %d didn't ask for %s after the faults had"+
			" ended", worker, key), key, r.end, r.end)
		return false
	}
	first, last, end := asked[0], asked[len(asked)-1], r.end
	if last.returned != nil {
		end = last.returned.At
	}
	took := r.waited(worker, first.At, end)
	switch had := last.returned != nil && last.returned.Granted; {
	case had && took <= limit:
		r.verdict.LongestProbe = max(r.verdict.LongestProbe, time.Duration(end-first.At))
		return true
	case had:
		r.violated(notHad, fmt.Sprintf("worker %d got %s %s after the faults had ended,"+
			" the limit is %v", worker, key, length(int64(took)), limit), key, first.At, end,
			ownerOf(last.Event))
	case took <= limit:
		r.open(fmt.Sprintf("whether worker %d could have had %s after the faults: servers"+
			" or processes were late for most of the time", worker, key))
	default:
		r.violated(notHad, fmt.Sprintf("worker %d didn't get %s within %s after the faults"+
			" had ended, the limit is %v", worker, key, length(int64(took)), limit), key,
			first.At, r.end, ownerOf(first.Event))
	}
	return false
}

// waited is how long a worker has asked for a key, without the time in which it, or a
// server, was late.
func (r *record) waited(worker int, from, to int64) time.Duration {
	excuses := slices.Concat(r.excuses[worker], r.excuses[everyone])
	return time.Duration(to - from - covered(excuses, from, to))
}

// leftovers looks for what the soak has found afterwards.
func (r *record) leftovers() {
	rested := map[int]bool{}
	for _, e := range r.events {
		switch {
		case e.Kind == Left:
			r.violated(leftBehind, e.Text, "", e.At, e.At)
		case e.Kind == Rest && e.Count > e.Base:
			r.violated(leftBehind, fmt.Sprintf("%d goroutines of worker %d, at"+
				" the beginning there were %d, stacks in %s", e.Count, e.Worker,
				e.Base, e.Text), "", e.At, e.At)
		}
		rested[e.Worker] = rested[e.Worker] || e.Kind == Rest
	}
	for w := range r.setup.Drivers {
		if r.verdict.Calm && !rested[w] {
			r.violated(leftBehind, fmt.Sprintf("worker %d never came to rest", w), "", r.end, r.end)
		}
	}
}
