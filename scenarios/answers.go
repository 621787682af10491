package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// suspect notes a break of a story's at the newest entry.
func (a *actor) suspect(invariant, format string, args ...any) *lab.Break {
	s := a.run
	b := s.doubtAt(invariant, len(s.Timeline())-1, format, args...)
	b.At, b.After = s.Now(), s.Log().Ending(a.Name)
	return b
}

// disturbed says whether something has gone wrong in the story that may explain why a call fails
// now: a process that was gone and may still have its place in a queue, a fault of a command that
// is not over for three leases, and another fault that isn't for one. A lock must not notice that
// the server has forgotten its scripts, or that some of several nodes have trouble.
func (s *S) disturbed() bool {
	if s.fewNodes() {
		return false
	}
	for i, f := range s.settings.story.Faults {
		began, over := f.At, f.For+lease
		if f.OfCommand() {
			at, befallen := s.settings.story.befallen[i]
			if !befallen {
				continue
			}
			began, over = at, f.For+3*lease
		}
		lasting := s.settings.story.Repeats || slices.Contains([]swarm.Kind{swarm.Full, swarm.Dies,
			swarm.DiesBefore, swarm.DiesAfter, swarm.Stops, swarm.CutOff}, f.Kind)
		rounded := lease / 1000 // as scaled times are
		if f.Kind != swarm.Flush && began <= s.Now()+rounded && (lasting || s.Now() <= began+over) {
			return true
		}
	}
	return false
}

// fewNodes says whether all that goes wrong in the story befalls fewer than half of several
// nodes: each command is sent to one of them.
func (s *S) fewNodes() bool {
	return len(s.settings.story.Faults) <= (s.settings.nodes-1)/2 &&
		!s.settings.story.Has(swarm.Errors, swarm.Dies, swarm.DiesBefore, swarm.DiesAfter,
			swarm.Stops, swarm.CutOff)
}

// asked is what is known of an acquire when it is called.
type asked struct {
	at     time.Duration
	free   bool // no node has the lock, and nobody else asks for it
	open   bool // nobody writes or would write
	inside bool // the owner has the lock, as far as it knows
	owned  bool // the servers had the lock as the actor's process's
	told   bool // the owner knows that it has lost the lock
	late   bool // a writer came a lease before this reader, and waits
}

func (a *actor) asks() asked {
	a.Step("judged", a.mustNotHaveLost)
	now := asked{a.run.Now(), a.run.free() && !a.run.somebodyAsks() && !a.run.hidesReaders(),
		a.run.open(), a.writes.depth+a.reads.depth > 0, a.owns(), a.depth > 0 && a.told(),
		a.depth+a.writes.depth == 0 && a.run.writerWaits(a.run.Now())}
	a.asking = true
	return now
}

// writerWaits says whether somebody waits to write who had done so for a lease at a moment,
// and nobody has written since that moment.
func (s *S) writerWaits(at time.Duration) (waits bool) {
	for _, a := range s.actors {
		if a.grantedAt >= at && a.grantedAt > 0 {
			return false
		}
		waits = waits || a.lockedAt > 0 && at-a.lockedAt >= lease
	}
	return waits && len(s.Log().Leases()) == 0
}

// open says whether readers may come in: no node has the lock for a writer, and nobody
// would write.
func (s *S) open() bool {
	return len(s.Log().Leases()) == 0 && !slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.asking || a.depth > 0
	})
}

// hidesReaders says whether there may be readers that the servers don't show.
func (s *S) hidesReaders() bool {
	return s.settings.readers("") == "" && slices.ContainsFunc(s.actors, func(a *actor) bool {
		return a.reads.grantedAt > 0
	})
}

func (s *S) somebodyAsks() bool {
	return slices.ContainsFunc(s.actors, func(o *actor) bool {
		return o.asking || o.reads.asking
	})
}

// free says whether none of the nodes has the lock.
func (s *S) free() bool {
	free := true
	s.everyNode(func(n *lab.Node) { free = free && n.Free() })
	return free
}

// answered judges an acquire.
func (a *actor) answered(step swarm.Step, asked asked, granted bool, err error) {
	s := a.run
	a.Step("judged", func() {
		a.asking, a.failed = false, a.failed || err != nil
		if due := asked.at + cmp.Or(step.Within, swarm.Patience); !granted && s.Now() >= due {
			s.gaveUp = append(s.gaveUp, givenUp{a.process.Name, s.Now(), due})
		}
		a.unsure = err != nil || a.unsure && !granted
		if granted && (a.depth == 1 || !s.nests()) {
			a.fence = a.token()
		}
		if step.Ended {
			return // any answer is right
		}
		if free := s.longestFree(asked.at); s.settings.nodes == 1 && free > s.mostFree(asked.at) && a.alone() {
			a.suspect(LateWakeUp, "%s has waited while the lock was free for %.3f s", a.owner,
				free.Seconds())
		}
		if step.Verb == swarm.Lock && !asked.inside && s.refusedByItself(a.Name, asked.at) {
			a.suspect(SelfDeadlock, "%s is refused again and again for a lock that the server has"+
				" as its", a.owner).Told = true
		}
		if granted && asked.late && s.untroubled() && s.writerWaits(asked.at) {
			a.suspect(Starvation, "%s asked to read at %.3f s, and is let in before a writer who"+
				" had waited for a lease then", a.owner, asked.at.Seconds())
		}
		if took := s.Now() - asked.at; granted && step.Verb == swarm.TryLock &&
			s.settings.nodes > 1 && took >= lease*99/100 {
			a.suspect(TwoHolders, "%s is granted the lock %.3f s after it has asked, and its lease"+
				" may be over where a clock is 1 %% fast", a.owner, took.Seconds())
		}
		switch {
		case granted && asked.told && s.nests():
			a.suspect(FalseSuccess, "%s enters again, and was told of its loss", a.owner).Told = true
		case granted && a.depth > 1 && !s.nests():
			a.depth = 1 // its lease was over, and it has another one
			a.process.LeaveAs(a.owner)
			a.enter()
		case granted && a.depth == 1 && a == a.writes && a.owns():
			if s.Node(0).LeaseLeft() == 0 && s.settings.leaseEnd == nil && s.settings.nodes == 1 {
				a.suspect(Orphaned, "%s is granted the lock without a lease", a.owner)
			}
			a.judgesToken()
		case a == a.writes && a.fenced() && a.token() != a.fence:
			a.suspect(WrongToken, "%s returns %s to %s, and the token of its newest grant is"+
				" %d after %d", step.Verb, outcomeOf(granted, err), a.owner, a.token(), a.fence)
		case !granted && err == nil && !a.failed && !asked.inside && !asked.owned && a.owns() &&
			s.settings.nodes == 1 && !s.settings.story.Repeats && !s.shared(a.Name):
			a.suspect(FalseSuccess, "%s returns false to %s, and the server has granted it the"+
				" lock", step.Verb, a.owner).Grant = true
		case granted, errors.Is(err, lock.ErrUpgrade) && a.reads.depth > 0, errors.Is(err, lock.ErrLost) && a.depth > 0:
		case err == nil && (asked.free && s.free() || a == a.reads && asked.open && s.open()) &&
			s.settings.nodes == 1 && a.metError(asked.at):
			a.suspect(Unavailable, "%s returns false to %s, and the server has answered with"+
				" an error", step.Verb, a.owner)
		case s.disturbed() || 0 < step.Within && step.Within <= second:
		case a.upgrades() && s.Now()-asked.at > lease/2:
			a.suspect(SelfDeadlock, "%s returns %s to %s after %.3f s, which reads, and waits"+
				" for itself", step.Verb, outcomeOf(granted, err), a.owner,
				(s.Now() - asked.at).Seconds())
		case (a.depth > 0 || a.writes.depth > 0) && a.owns() && s.offers(Reentry) &&
			!errors.Is(err, lock.ErrLost):
			a.suspect(SelfDeadlock, "%s returns %s to %s, which holds the lock", step.Verb,
				outcomeOf(granted, err), a.owner)
		case (step.Verb == swarm.TryLock && asked.free && s.free() && !s.somebodyAsks() ||
			step.Verb == swarm.TryRLock && asked.open && s.open() && a.writes.depth == 0) &&
			!slices.ContainsFunc(s.actors, func(o *actor) bool { return o.grantedAt > asked.at }) &&
			!asked.inside && a.alone() && !s.leavesPlaces(asked.at) && (err == nil || s.healthy() && step.Within == 0):
			a.suspect(Unavailable, "%s returns %s to %s, and nobody else is in its way",
				step.Verb, outcomeOf(granted, err), a.owner)
		case step.Verb == swarm.Lock && a.reads.depth == 0 && s.healthy() &&
			s.Now()-asked.at < cmp.Or(step.Within, swarm.Patience):
			a.suspect(Unavailable, "Lock gives up before its context ends: it returns %s to %s",
				outcomeOf(granted, err), a.owner)
		}
	})
}

// nests says whether the lock lets its holder enter again, as far as is known.
func (s *S) nests() bool {
	return s.offers(Reentry) && !s.settings.declares("nested", SelfDeadlock)
}

// upgrades says whether a reader asks to write, and all others that have the lock do too.
func (a *actor) upgrades() bool {
	return a == a.writes && a.depth == 0 && a.reads.depth > 0 &&
		!slices.ContainsFunc(a.run.actors, func(o *actor) bool {
			return o != a && o.depth+o.reads.depth > 0 && !o.asking
		})
}

// healthy says whether the servers answer all commands in the story, most of them if there
// are several.
func (s *S) healthy() bool { return s.untroubled() || s.fewNodes() }

// untroubled says whether nothing goes wrong that a lock must notice.
func (s *S) untroubled() bool {
	return !slices.ContainsFunc(s.settings.story.Faults, func(f swarm.Fault) bool {
		return f.Kind != swarm.Flush && f.Kind != swarm.Deleted
	})
}

func outcomeOf(granted bool, err error) string {
	if err != nil {
		return outcome(err)
	}
	return fmt.Sprint(granted)
}

func (a *actor) judgesToken() {
	if !a.fenced() {
		return
	}
	s, token := a.run, a.token()
	if token <= s.newest && !s.settings.story.Has(swarm.Restart, swarm.Failover) {
		a.suspect(WrongToken, "%s is granted token %d after %d", a.owner, token, s.newest)
	}
	s.newest, a.fence = max(s.newest, token), token
}

// mustHaveBeenTold judges, before an Unlock, whether the holder has lost the lock half a
// lease ago and was told nothing.
func (a *actor) mustHaveBeenTold() {
	s := a.run
	a.Step("judged", func() {
		if a.depth > 0 && a.seen() && !a.told() && !a.owns() && a.unlocks().held &&
			s.Log().Ending(a.Name) != lab.Running && s.Now()-a.lostAt() > lease/2 {
			a.suspect(NotTold, "%s has lost the lock at %.3f s, and was told nothing",
				a.owner, a.lostAt().Seconds())
		}
	})
}

// mustHaveFreed judges, after an Unlock, whether the servers still have the lock as the
// actor's, who thinks that it has none. They have it until the end of its lease.
func (a *actor) mustHaveFreed(called call, err error) {
	s := a.run
	a.Step("judged", func() {
		a.asking = false
		a.failed = a.failed || err != nil && !errors.Is(err, lock.ErrNotHeld)
		alone := !s.shared(a.Name) && s.settings.nodes == 1
		if lost := a.lost(); a.writes.depth+a.reads.depth == 0 && err == nil &&
			(!closed(lost) || !called.lost && !s.settings.story.Nests() &&
				s.Now()-called.at < lease/10) { // in a longer call the lease may end
			a.left = lost
		}
		switch {
		case err != nil && !errors.Is(err, lock.ErrNotHeld) && !errors.Is(err, lock.ErrLost) &&
			!called.ends && s.healthy() && (s.settings.nodes == 1 || s.Now()-a.grantedAt < lease): // or it is over meanwhile
			a.suspect(Unavailable, "%sUnlock returns %s to %s, and the servers answer", a.side,
				outcome(err), a.owner)
		case a.writes.depth+a.reads.depth > 0:
		case alone && err == nil && !a.seen() && !a.executes(called.at):
			a.suspect(FalseSuccess, "%sUnlock returns ok to %s, and the server has executed"+
				" nothing", a.side, a.owner)
		case alone && err == nil && a == a.writes && called.held && called.owned &&
			slices.Contains([]history.Ending{history.Expired, history.Taken}, s.Log().Ending(a.Name)):
			a.suspect(FalseSuccess, "Unlock returns ok to %s, which has lost the lock meanwhile",
				a.owner)
		case !a.owns() || a.unsure || s.shared(a.Name) || a == a.reads && a.failed:
			// A reader whose release has failed may have its old place beside the new one.
		case err == nil && !s.settings.story.Repeats && !s.settings.story.Has(swarm.LateRequest):
			a.suspect(FalseSuccess, "Unlock returns ok to %s, and the servers have its lock still",
				a.owner)
		case !s.disturbed():
			a.suspect(Orphaned, "%s has unlocked, and the servers have its lock", a.owner)
		}
	})
}

// mustNotHaveLost judges the Lost of a grant that was released.
func (a *actor) mustNotHaveLost() {
	if a.lost(); closed(a.left) { // some look at the clock when they are asked
		a.suspect(FalseSuccess, "%s has unlocked, and Lost says now that it has lost the lock",
			a.owner)
	}
	a.left = nil
}

// executes says whether the server has executed something that the actor's process has sent
// for the lock, since a moment.
func (a *actor) executes(since time.Duration) bool {
	return slices.ContainsFunc(a.sentIn(a.run.Timeline()), func(e *lab.Entry) bool {
		return e.Sent >= since && !a.run.isError(e.Reply)
	})
}

// metError says whether the newest reply to the actor's process, since a moment, is an error.
// An unknown script may be the clean-up of a grant that came late.
func (a *actor) metError(since time.Duration) (met bool) {
	for _, e := range a.sentIn(a.run.Timeline()) {
		if e.Sent >= since {
			met = a.run.isError(e.Reply) && !(strings.HasPrefix(e.Reply, "NOSCRIPT") && a.run.settings.story.Has(swarm.LateReply, swarm.LateRequest))
		}
	}
	return met
}

// mustHaveKept judges, after the Unlock of a holder, whether it had lost a lock that is
// renewed although nothing has gone wrong.
func (a *actor) mustHaveKept(held bool, err error) {
	s := a.run
	if held && errors.Is(err, lock.ErrNotHeld) && s.offers(Renewal) && a.seen() &&
		!s.settings.story.Fixed && !s.shared(a.Name) && (s.settings.story.Spaced() || !slices.ContainsFunc(
		s.settings.story.Faults, func(f swarm.Fault) bool {
			return f.Kind != swarm.Flush && f.Kind != swarm.Full
		})) {
		a.Step("judged", func() {
			a.suspect(FalseLoss, "%s has lost the lock since %.3f s, and at most every other"+
				" renewal has failed", a.owner, a.lostAt().Seconds())
		})
	}
}

// seen says whether the servers show whose grants the actor's are.
func (a *actor) seen() bool {
	return a == a.writes || a.run.settings.readers("") != ""
}

// lostAt is when the timeline shows first that the actor has the lock no more.
func (a *actor) lostAt() time.Duration {
	var at time.Duration
	had := true
	for _, e := range a.run.Timeline() {
		has := slices.Contains(strings.Fields(e.Owner), a.Name)
		if had && !has {
			at = e.At
		}
		had = has
	}
	return at
}

// answersPromptly judges how long a call takes that waits for nobody.
func (a *actor) answersPromptly(step swarm.Step, took time.Duration) {
	s := a.run
	prompt := lease / 10
	if s.fewNodes() && !s.untroubled() {
		prompt = lease
	}
	if step.Verb == swarm.Lock || step.Verb == swarm.RLock || took <= prompt || !s.healthy() {
		return
	}
	a.Step("judged", func() {
		a.suspect(Hangs, "%s takes %.3f s, and most servers answer at once", step.Verb,
			took.Seconds())
	})
}

// returnsInTime judges how long after its context a call returns. Where a server may not
// answer, it may take a lease more to give back what it has, and before that wait for the
// end of a renewal.
func (a *actor) returnsInTime(step swarm.Step, late time.Duration) {
	s := a.run
	if !s.untroubled() {
		late -= 3 * lease / 2
	}
	if a.other != "" { // its lease is longer
		late -= 3 * lease / 2
	}
	if late <= lease/10 || s.settings.story.Repeats || a.process.Dead() {
		return
	}
	a.Step("judged", func() {
		a.suspect(Hangs, "%s returns to %s %.3f s after its context has ended", step.Verb,
			a.owner, late.Seconds())
	})
}

// writesAfter reads the storage and, after some time, writes back one less. A storage that
// checks tokens must let a holder in.
func (a *actor) writesAfter(pause time.Duration, storage *lab.Storage) {
	var left, version int
	a.Step("reads", func() {
		var admitted bool
		left, version, admitted = storage.Read(a.holding, a.token())
		if !admitted && a.owns() && !a.run.shared(a.Name) {
			a.suspect(Unavailable, "%s has the lock, and the storage refuses its token %d",
				a.owner, a.token())
		}
	})
	a.Sleep(pause)
	a.write(storage, left-1, version)
}
