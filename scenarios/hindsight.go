package scenarios

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// doubtAt notes a break at an entry.
func (s *S) doubtAt(invariant string, entry int, format string, args ...any) *lab.Break {
	b := &lab.Break{Invariant: invariant, At: s.Timeline()[entry].At, Entry: entry,
		Event: fmt.Sprintf(format, args...)}
	s.doubts = append(s.doubts, b)
	return b
}

// findWrongLeases looks for commands that have left their client a lease of another length
// than it asked for, from when it was sent or from when it was executed, or that renew one
// that was not to be renewed.
func (s *S) findWrongLeases() {
	if s.settings.leaseEnd != nil || s.settings.story.Has(swarm.Clock) {
		return
	}
	before := map[int]history.Lease{} // by node
	for i, e := range s.Timeline() {
		for _, l := range e.Leases {
			old := before[l.Node]
			before[l.Node] = l
			if e.Command == "" || l.Node != e.Node || l.Owner != e.Client || l.Ends == 0 ||
				l.Ends == old.Ends {
				continue
			}
			given := l.Ends - e.At
			switch {
			case (given-lease).Abs() > lease/100 && (l.Ends-e.Sent-lease).Abs() > lease/100:
				s.doubtAt(WrongLease, i, "%s has asked for a lease of %.3f s, and is given %.3f",
					e.Client, s.TTL.Seconds(), s.Lasts(given).Seconds())
			case s.settings.story.Fixed && l.Value == old.Value && l.Owner == old.Owner &&
				e.At < old.Ends && !s.settings.story.Nests() &&
				s.answersAll(e.Client): // else it may enter a grant that it wasn't told of
				s.doubtAt(WrongLease, i, "%s's lease was not to be renewed", e.Client)
			}
		}
	}
}

// findBusyWaiting looks for a process that sends more of a kind of command than each of its
// owners need to ask each node again and again. An attempt may take several kinds.
func (s *S) findBusyWaiting() {
	sent := map[string][]time.Duration{} // in the last second
	for i, e := range s.Timeline() {
		if !s.names(e.Command) {
			continue
		}
		kind := e.Client + kindOf(e)
		last := slices.DeleteFunc(append(sent[kind], e.At), func(at time.Duration) bool {
			return s.Lasts(e.At-at) > second
		})
		if sent[kind] = last; len(last) == 2*mostAttempts*s.owners(e.Client) {
			s.doubtAt(BusyWaiting, i, "%s has sent %d like this in a second", e.Client, len(last))
		}
	}
}

// longestFree is how long at a time no node has had the lock, since a moment.
func (s *S) longestFree(since time.Duration) (longest time.Duration) {
	free, now := time.Duration(0), s.Now()
	for _, e := range s.Timeline() {
		longest = max(longest, e.At-max(free, since))
		free = min(free, e.At)
		if e.Owner != "-" || len(e.Leases) > 0 {
			free = until(e.Leases)
		}
	}
	return max(longest, now-max(free, since))
}

// mostFree is how long a lock may be free that somebody waits for. What a waiter has not
// heard of it must find when the lease has ended that it knows of. Where leases are short,
// its pauses needn't be.
func (s *S) mostFree(asked time.Duration) time.Duration {
	pauses := s.Log().Unscaled(2 * second)
	switch {
	case s.disturbed() || s.hidesReaders() || s.settings.leaseEnd != nil && s.settings.story.Skewed():
		return math.MaxInt64
	case len(s.settings.story.Faults) > 0 || s.leavesPlaces(asked):
		return max(lease+lease/10, pauses)
	}
	return max(lease/5, pauses)
}

// givenUp is a call that returned at a moment, after its context had ended.
type givenUp struct {
	process string
	at, due time.Duration
}

// leavesPlaces says whether, within two leases before a moment, a request came to a node when its
// caller had given up, or did before the answer came: it may keep a place in a queue for nobody.
// Readers may renew their marks together, and those of such readers with them.
func (s *S) leavesPlaces(moment time.Duration) bool {
	return slices.ContainsFunc(s.gaveUp, func(g givenUp) bool {
		return slices.ContainsFunc(s.Timeline(), func(e *lab.Entry) bool {
			return e.Client == g.process && e.Command != "" && (e.At > moment-2*lease || s.actors[0].readWrite() != nil) &&
				(e.Sent <= g.at && g.at < e.At || e.Sent < g.due && g.due <= e.At+min(e.At-e.Sent, lease/500)+time.Microsecond)
		})
	})
}

// until is when the last of the leases ends.
func until(leases []history.Lease) (end time.Duration) {
	for _, l := range leases {
		end = max(end, cmp.Or(l.Ends, math.MaxInt64))
	}
	return cmp.Or(end, math.MaxInt64) // readers have the lock if there is none
}

// rests notes since when none of the owners of the actor's process has the lock or asks for it.
func (a *actor) rests() {
	a.calling = false
	for _, o := range a.run.actors {
		if o.process == a.process && (o.depth+o.reads.depth > 0 || o.calling) {
			return
		}
	}
	a.run.resting[a.Name] = a.run.Now()
}

// wakes judges what the process has sent meanwhile, and whether it has the lock still.
func (a *actor) wakes() {
	s := a.run
	since, rested := s.resting[a.Name]
	delete(s.resting, a.Name)
	if !rested || s.settings.story.Has(swarm.Stops) {
		return
	}
	answered := s.answersAll(a.Name)
	for i, e := range s.Timeline() {
		switch {
		case e.At <= since+lease/10:
		case answered && slices.ContainsFunc(e.Leases, func(l history.Lease) bool {
			return l.Owner == a.Name
		}):
			s.doubtAt(Orphaned, i, "%s has had nothing to do with the lock since %.3f s, and a"+
				" server has it as its", a.Name, since.Seconds()).Told = true
			return
		case e.Client == a.Name && s.names(e.Command) && e.Sent > since+lease/10 &&
			!strings.Contains(e.Command, "SUBSCRIBE "): // a driver does so when it reconnects
			s.doubtAt(RenewalAfterUnlock, i, "%s has had nothing to do with the lock since %.3f s",
				a.Name, since.Seconds())
			return
		}
	}
}

// refusedByItself says whether a process that asks for the lock since a moment, and was told
// of all that it has sent, has asked three times while the server had the lock as its.
func (s *S) refusedByItself(process string, since time.Duration) bool {
	if s.settings.nodes > 1 || s.shared(process) || !s.answersAll(process) {
		return false
	}
	times, owned := 0, false
	for _, e := range s.Timeline() {
		had := owned && e.At > since && e.Client == process
		owned = slices.Contains(strings.Fields(e.Owner), process)
		if had && !owned {
			times = 0 // it didn't ask: it gave the lock back, in more than one command
		} else if had && s.names(e.Command) {
			times++
		}
	}
	return times >= 3
}

// answersAll says whether the process has been told of all that it has sent, if late.
func (s *S) answersAll(process string) bool {
	story := s.settings.story
	return !story.Repeats && !slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.Name == process && (a.failed || a.reads.failed)
	}) && !slices.ContainsFunc(story.Faults, func(f swarm.Fault) bool {
		late := s.settings.nodes == 1 && (f.Kind == swarm.LateReply || f.Kind == swarm.LateRequest)
		return !late && f.Kind != swarm.Flush && (f.Process == "" || f.Process == process)
	})
}
