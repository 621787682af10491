package judge

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockladder/lockladder/scenarios/soak/internal/event"
)

// span is a time during which a process could not act, from until end, and a
// moment after it, until to, for it to notice what has happened meanwhile.
type span struct{ from, end, to int64 }

// findExcuses finds, for each worker, when its process was stopped, or got no CPU
// for a while. A pause of the soak's own process, which has the proxies and the
// storage, is one of all workers.
func findExcuses(workers int, events []event.Event) map[int][]span {
	all, stopped := map[int][]span{}, map[int]int64{}
	var end int64
	for _, e := range events {
		end = e.At
		switch e.Kind {
		case event.Stop:
			stopped[e.Worker] = e.At
		case event.Continue:
			all[e.Worker] = append(all[e.Worker], span{stopped[e.Worker],
				e.At, e.At + int64(recovery)})
			delete(stopped, e.Worker)
		case event.Pause:
			s := span{e.At - int64(e.For) - int64(slack), e.At,
				e.At + int64(min(e.For, 100*time.Millisecond)) + int64(slack)}
			if e.Worker != event.Everyone {
				all[e.Worker] = append(all[e.Worker], s)
				continue
			}
			for w := range workers {
				all[w] = append(all[w], s)
			}
		}
	}
	for w, from := range stopped {
		all[w] = append(all[w], span{from, end, end})
	}
	return all
}

// findLate finds when a server was late.
func findLate(events []event.Event) (late []span) {
	for _, e := range events {
		if e.Kind == event.Late {
			late = append(late, span{e.At - int64(e.For), e.At, e.At})
		}
	}
	return late
}

// of are the excuses of a section's process: those of stops that ended before the
// section began explain nothing, because the lock could have seen what they did.
func (r *record) of(s *section) []span {
	return slices.DeleteFunc(slices.Clone(r.excuses[s.worker]),
		func(one span) bool {
			return one.end < s.held || one.from > s.over
		})
}

// merged puts spans in order, and those that touch together.
func merged(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Compare(a.from, b.from)
	})
	var out []span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.from <= out[last].to {
			out[last].to = max(out[last].to, s.to)
			out[last].end = max(out[last].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// covered is how much of a time the spans cover.
func covered(spans []span, from, to int64) int64 {
	near := slices.DeleteFunc(slices.Clone(spans), func(s span) bool {
		return s.from >= to || s.to <= from
	})
	var sum int64
	for _, s := range merged(near) {
		sum += max(0, min(s.to, to)-max(s.from, from))
	}
	return sum
}

// touched says whether a span has a moment in common with a time.
func touched(spans []span, from, to int64) bool {
	return slices.ContainsFunc(spans, func(s span) bool {
		return s.from <= to && from <= s.to
	})
}
