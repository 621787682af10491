package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// pass is a way in which some scenarios are run again.
type pass struct {
	says      string
	change    func(*settings)
	reads     bool // it needs a lock.ReadWrite
	scenarios []string
}

// passes are ways that no verdict should depend on. The scenarios are those that show the
// most of it.
var passes = []pass{
	{says: `with a lease of 0.7 s and the lock "50%d of {a} B"`,
		change: func(s *settings) { s.lease, s.key = 700*time.Millisecond, "50%d of {a} B" },
		scenarios: strings.Fields(`mutual_exclusion crash_holding overrun_release nested
			lost_wakeup hung_worker lost_lease_told lease_length fixed_lease prompt_answers
			crash_after_renewal dead_waiter other_name readers_together writer_excludes
			reader_crash`)},
	{says: "with A as a reader", change: func(s *settings) { s.reader = "A" }, reads: true,
		scenarios: strings.Fields(`crash_after_first_command slow_release nested lost_reply
			late_grant cancelled_context lost_wakeup abandoned_acquire hung_worker
			renewal_after_unlock renewal_fails_once script_cache_flushed failed_unlock
			compare_twice unlock_is_no_loss fixed_lease prompt_answers renewal_hangs
			crash_after_renewal prompt_wake impatient_waiter dead_waiter second_grant
			error_replies`)},
	{says: "with B as a reader", change: func(s *settings) { s.reader = "B" }, reads: true,
		scenarios: strings.Fields(`crash_after_first_command overrun_overlap lost_wakeup
			unlock_not_held script_cache_flushed prompt_answers prompt_wake impatient_waiter
			dead_waiter error_replies`)},
}

// runAgain runs scenarios a second time, in subtests. It fails when the lock breaks what it
// held, or fails, and returns whether it didn't.
func (s settings) runAgain(t *testing.T, build Build, first Report) (ok bool) {
	t.Helper()
	s.flaws, s.left = slices.Concat(s.flaws, first.with(Breaks)), nil
	reads := first.Verdict("readers_together", Unavailable) != DoesNotArise
	return t.Run("second_pass", func(t *testing.T) {
		t.Helper()
		for _, p := range passes {
			if reads || !p.reads {
				s.pass(t, build, p)
			}
		}
	})
}

// pass runs the scenarios of a pass.
func (s settings) pass(t *testing.T, build Build, p pass) {
	t.Helper()
	p.change(&s)
	for _, name := range p.scenarios {
		scenario, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		results, err := runScenario(t, scenario, build, s)
		if err != nil && slices.ContainsFunc(s.flaws, func(f Flaw) bool { return f.Scenario == name }) {
			continue // what it breaks may keep it from its end
		}
		if err != nil {
			t.Errorf("in the second pass, %s: %s: %v", p.says, name, err)
			return // so may all others
		}
		news := slices.DeleteFunc(Report(results), func(r Result) bool {
			return r.Verdict != Breaks || s.expects(r.Scenario, r.Invariant)
		})
		if len(news) == 0 {
			continue
		}
		show := Report.Failures
		if !s.whole() {
			show = func(r Report) string { return r.brief(0) }
		}
		t.Errorf("a flaw that is not declared, in the second pass,\n%s:\n%s\n%s", p.says, show(news),
			news.places())
	}
}
