package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// beliefs looks for two owners of one key that believed they held it at the same
// time, unless both only read. A stop of one of them explains it, and nothing else
// does.
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
	r.violated(TwoHolders, fmt.Sprintf("%s and %s believed they held %s at the"+
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
				r.violated(OldToken, fmt.Sprintf("%s has the token %d, and %s,"+
					" which ended before, had %d", s.name, s.token, highest.name,
					highest.token), s.key, highest.called, s.held,
					highest.owner, s.owner)
			}
		}
	}
}
