package whatif

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/scenarios"
)

// failed is an acquire that returns an error: it doesn't say whether the lock was
// granted.
var failed = regexp.MustCompile(`^(R?Lock|TryR?Lock) returns (false, )?(error|deadline exceeded)$`)

// outcome is what came of the first fault that ended an acquire with an error; "": none
// did.
func (q *Question) outcome(results []scenarios.Result) string {
	for _, r := range results {
		for i, e := range r.Sequence {
			if !slices.ContainsFunc(q.Faults, func(f Fault) bool {
				return f.Client == e.Client && f.Nth == e.Nth
			}) {
				continue
			}
			after := r.Sequence[i:]
			end := slices.IndexFunc(after, func(other *scenarios.Entry) bool {
				return other.Client == e.Client && failed.MatchString(other.Text)
			})
			if end >= 0 {
				return unknown(after[end:])
			}
		}
	}
	return ""
}

// unknown says what follows an acquire's error, with which the entries begin: what the
// server thinks, how long it lets nobody in, and who gets in first.
func unknown(entries []*scenarios.Entry) string {
	e := entries[0]
	call, _, _ := strings.Cut(e.Text, " ")
	says := fmt.Sprintf("%s's %s returns an error at %s, so %s doesn't have the lock. ",
		e.Client, call, seconds(e.At), e.Client)
	reads := strings.Contains(call, "RLock")
	free := !owns(e.Client, e.Owner)
	switch {
	case free:
		says += "The server has no lock of " + e.Client + "'s either."
	case reads:
		says += "The server thinks that " + e.Client + " reads."
	default:
		says += "The server thinks that " + e.Client + " holds it."
	}
	in := slices.IndexFunc(entries, func(other *scenarios.Entry) bool {
		return len(other.Inside) > 0
	})
	gone := slices.IndexFunc(entries, func(other *scenarios.Entry) bool {
		return !owns(e.Client, other.Owner)
	})
	asks := slices.ContainsFunc(entries, func(other *scenarios.Entry) bool {
		return other.Client == e.Client && other.Text == scenarios.AsksAgain
	})
	if asks && in >= 0 && (gone < 0 || in < gone) && owns(e.Client, entries[in].Inside[0]) {
		return fmt.Sprintf("%s %s asks again and gets in at %s: the server knows it.", says,
			e.Client, seconds(entries[in].At))
	}
	if !free && !reads { // others may read beside a reader
		if asks {
			says += fmt.Sprintf(" %s asks again, and its own lock is in its way.", e.Client)
		}
		says += shut(e, entries[max(gone, 0)].At)
	}
	if in >= 0 {
		says += fmt.Sprintf(" %s gets in at %s.", entries[in].Inside[0], seconds(entries[in].At))
	}
	return says
}

// shut says how long a grant that its client doesn't know of lets nobody in. Gone is
// when the server has it no longer, as far as the run shows.
func shut(e *scenarios.Entry, gone time.Duration) string {
	switch ends := leaseEnd(e); {
	case gone > e.At && (ends == 0 || gone < ends):
		return fmt.Sprintf(" It lets nobody in until %s.", seconds(gone))
	case ends > 0:
		return fmt.Sprintf(" It lets nobody in for %.1f s, until the lease ends at %s.",
			(ends - e.At).Seconds(), seconds(ends))
	}
	return " It lets nobody in ever again: the key has no lease."
}

// owns says whether an owner belongs to a client: its name begins with the client's.
func owns(client, owner string) bool { return strings.HasPrefix(owner, client) }

// leaseEnd is when the lease of the first node's grant ends; 0: it has none.
func leaseEnd(e *scenarios.Entry) time.Duration {
	if len(e.Leases) == 0 {
		return 0
	}
	return e.Leases[0].Ends
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
