package scenarios

import (
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/history"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/swarm"
)

// mayBe says what a break in a story may follow from.
func (s *S) mayBe(b *lab.Break) found {
	f := found{Break: b}
	story := s.settings.story
	add := func(when bool, flaws ...string) {
		if when {
			f.flaws = append(f.flaws, lock.Flaws(flaws...)...)
		}
	}
	forgets := story.Has(swarm.Restart, swarm.Failover, swarm.Deleted)
	unsure := story.Repeats || story.Has(swarm.LateRequest, swarm.LateReply,
		swarm.LostReply, swarm.Hangs, swarm.Down, swarm.Stops, swarm.CutOff, swarm.Restart,
		swarm.Failover)
	late := b.Late || story.Has(swarm.LateReply, swarm.LateRequest, swarm.CutOff, swarm.Stops)
	refusals := story.Has(swarm.ErrorReply, swarm.Errors, swarm.Down)
	switch b.Invariant {
	case TwoHolders:
		add(story.Has(swarm.Restart) || forgets && s.settings.nodes > 1, "node_restart: two holders")
		add(story.Has(swarm.Failover), "failover: two holders", "reader_failover: two holders")
		add(story.Has(swarm.Clock), "clock_jump: two holders")
		add(story.Skewed(), "client_clock_skew: two holders")
		add(late, "late_grant: two holders")
		add(unsure && s.offers(Renewal), "renewal_hangs: two holders")
		add(refusals, "nodes_down: two holders")
		add(b.After == lab.Expired, "overrun_overlap: two holders")
		add(b.Reads > 0 && s.settings.readers("") == "" && b.At-b.Reads >= lease*9/10,
			"reader_overrun: two holders") // its lease may be over, unseen
		add(story.Fixed, "fixed_lease: not told")
		add(b.After == lab.CutOff, "partitioned_holder: not told")
		add(b.After != lab.Running, "overrun_release: foreign release",
			"overrun_release: two holders")
		add(story.Shares(), "two_owners_one_process: two holders")
		add(story.Shares() && unsure, "slow_get: foreign release", "slow_release: foreign release", // which isn't seen in a process
			"late_own_release: foreign release", "lost_release_reply: foreign release")
		add(story.Nests(), "held_token: two holders")
		f.blameless = story.Has(swarm.Deleted) || s.settings.nodes == 1 && story.Has(swarm.Clock) ||
			(b.After != lab.Running && !b.Late || s.settings.readers("") != "") &&
				story.Has(swarm.Stops) ||
			s.settings.nodes == 1 && b.After == history.Removed
	case ForeignRelease:
		add(b.After != lab.Running, "overrun_release: foreign release",
			"slow_get: foreign release") // a short lease ends between any two commands
		add(true, "unlock_not_held: foreign release", "two_owners_one_process: foreign release")
		add(unsure, "slow_get: foreign release", "slow_release: foreign release",
			"compare_twice: foreign release", "late_own_release: foreign release",
			"lost_release_reply: foreign release")
		add(story.Skewed(), "client_clock_skew: foreign release")
	case ForeignRenewal:
		add(true, "renewal_reacquires: foreign renewal", "unlock_not_held: foreign release",
			"two_owners_one_process: foreign release")
		f.blameless = b.Own
	case LostUpdate:
		add(true, "oversell: lost update", "paused_holder: stale write",
			"failover: two holders", "node_restart: two holders")
	case StaleWrite:
		add(true, "paused_holder: stale write")
		add(forgets, "failover: stale write")
		f.blameless = forgets
	case Orphaned:
		add(true, "crash_holding: orphaned") // it has no lease at all
		add(story.Ends(swarm.Unlock, swarm.RUnlock), "cancelled_context: orphaned")
		add(story.Ends(swarm.TryLock, swarm.Lock, swarm.TryRLock, swarm.RLock),
			"abandoned_acquire: orphaned")
		add(len(story.Faults) > 0, "crash_after_first_command: orphaned",
			"failed_unlock: orphaned")
		add(s.hung() != "", "hung_worker: orphaned")
		add(unsure && !b.Told, "lost_reply: self-deadlock")
		add(late, "late_grant: orphaned")
	case Unavailable:
		add(forgets, "tokens_rise: unavailable")
		add(story.Shares(), "two_owners_one_process: foreign release") // amid its two commands
	case SelfDeadlock:
		add(story.Nests(), "nested: self-deadlock")
		add(true, "refused_by_itself: self-deadlock", "upgrade: self-deadlock",
			"downgrade: self-deadlock")
		// A takeover may have met a key that was just deleted, and take it for a refusal.
		add(unsure && !b.Told || s.settings.leaseEnd != nil, "lost_reply: self-deadlock")
		add(late, "late_grant: orphaned") // a grant of its own that it doesn't know of refuses it
	case NotTold:
		add(true, "lost_lease_told: not told")
		add(story.Fixed, "fixed_lease: not told")
		add(story.Nests(), "nested: self-deadlock")
		add(unsure, "partitioned_holder: not told")
		f.blameless = !s.offers(LossNotices) || story.Has(swarm.Stops) ||
			(unsure || refusals || story.Fixed) && (b.After == history.Removed || story.Has(swarm.Clock))
	case FalseSuccess:
		add(b.Grant && (late || s.settings.nodes > 1), "late_grant: two holders")
		add(b.Grant && story.Shares(), "two_owners_one_process: foreign release")
		add(b.Grant && unsure, "lost_reply: false success")
		add(!b.Grant && refusals, "error_replies: false success")
		add(!b.Grant && unsure && s.offers(Renewal), "renewal_hangs: false success")
		add(!b.Grant, "unlock_is_no_loss: false success", "unlock_not_held: false success",
			"unlock_expired: false success", "lost_lease_told: false success",
			"overrun_release: foreign release", "reader_overrun: false success")
		add(forgets && s.settings.nodes > 1, "node_restart: two holders")
		f.blameless = !b.Told && (b.After == history.Removed || story.Has(swarm.Clock) ||
			b.After != lab.Running && story.Has(swarm.Stops))
	case FalseLoss:
		add(true, "held_token: false success", "held_token: two holders")
		add(s.offers(Renewal), "cancelled_context: two holders",
			"renewal_fails_once: two holders", "overrun_overlap: two holders")
		add(story.Has(swarm.Full), "full_server: unavailable")
		add(refusals, "error_replies: false loss")
		f.blameless = story.Has(swarm.Clock, swarm.Stops, swarm.CutOff) || s.downBy(b.At) ||
			s.lateBefore(b, b.At, lease) || // it may have granted the lock once more
			story.Nests() && !s.untroubled() // see lock.FixedLease
	case Hangs:
		add(true, "prompt_answers: hangs", "nodes_down: hangs")
	case BusyWaiting:
		add(true, "prompt_answers: busy waiting")
	case LateWakeUp:
		add(true, "prompt_wake: late wake-up", "lost_wakeup: orphaned",
			"impatient_waiter: late wake-up", "writer_excludes: late wake-up")
	case Starvation:
		add(true, "writer_not_starved: starvation")
	case WrongLease:
		add(true, "lease_length: wrong lease")
		add(story.Fixed, "fixed_lease: wrong lease")
	case WrongToken:
		add(true, "tokens_rise: wrong token", "lost_reply: wrong token")
		add(story.Nests(), "nested: wrong token")
	case RenewalAfterUnlock:
		add(s.offers(Renewal), "renewal_after_unlock: renewal after unlock",
			"failed_unlock: renewal after unlock")
		add(late, "late_grant: orphaned") // it gives the grant back
		// What follows a late request in its pipeline is late, too.
		f.blameless = s.lateBefore(b, s.Timeline()[b.Entry].Sent, lease/10)
	case LeftBehind:
		add(true, "nothing_left: left behind", "crash_holding: orphaned",
			"crash_after_first_command: orphaned", "cancelled_context: orphaned",
			"abandoned_acquire: orphaned")
	}
	f.blameless = f.blameless || slices.ContainsFunc(f.flaws, s.settings.declines)
	return f
}

// declines says whether the lock doesn't claim to offer what the scenario of a flaw is about.
func (s settings) declines(f Flaw) bool {
	of, _ := Find(f.Scenario)
	return slices.ContainsFunc(of.features, func(feature Feature) bool {
		return slices.Contains(s.declined, feature)
	})
}

// downBy says whether a node was down within a lease before a moment: then no renewal reached it.
func (s *S) downBy(moment time.Duration) bool {
	return slices.ContainsFunc(s.settings.story.Faults, func(f swarm.Fault) bool {
		return f.Kind == swarm.Down && f.At <= moment && moment <= f.At+f.For+lease
	})
}

// lateBefore says whether a request of the client whose entry shows a break was late, and arrived
// within some time before a moment.
func (s *S) lateBefore(b *lab.Break, moment, within time.Duration) bool {
	client := s.Timeline()[b.Entry].Client
	return slices.ContainsFunc(s.Timeline()[:b.Entry], func(e *lab.Entry) bool {
		return e.Client == client && e.Command != "" && e.At-e.Sent > lease/10 &&
			moment-e.At <= within
	})
}
