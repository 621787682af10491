package bench

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
)

// Counts are what some of a round's clients did: one client, those of one process, or
// all. They are added up.
type Counts struct {
	Sections    int64
	Sold        int64
	LostUpdates int64 // somebody changed the stock between reading and taking
	Failures    int64
	NotHeld     int64 // releases of a lock that the server said was not theirs
	Asked       int64 // attempts that were seen
	Refused     int64 // attempts that were refused
	Commands    int64
	Trips       int64
	Most        int64 // clients inside at one time
	Cut         int   // clients that the end of the row cut off
	Absent      int   // clients that did not return
	Waiting     int64 // the longest wait that was cut off, in nanoseconds
	First       string
	Served      []float64 // the sections of each client that is through
	Stamps      []Stamp
	Took        time.Duration // from the start to the last end
	CPU         time.Duration // of the process, 0 when unknown
	Memory      int64         // most of the process so far, in bytes; likewise
	Left        *int64        // of a stock, nil when it is in Redis
	Usage       nodes.Usage   // of the servers, which the clients don't add up
}

// Add adds the counts of others. Clients of different processes may have been inside at
// one time; see MostInside.
func (p *Counts) Add(q *Counts) {
	p.Sections += q.Sections
	p.Sold += q.Sold
	p.LostUpdates += q.LostUpdates
	p.Failures += q.Failures
	p.NotHeld += q.NotHeld
	p.Asked += q.Asked
	p.Refused += q.Refused
	p.Commands += q.Commands
	p.Trips += q.Trips
	p.Most = max(p.Most, q.Most)
	p.Cut += q.Cut
	p.Absent += q.Absent
	p.Waiting = max(p.Waiting, q.Waiting)
	p.First = cmp.Or(p.First, q.First)
	p.Served = append(p.Served, q.Served...)
	p.Stamps = append(p.Stamps, q.Stamps...)
	p.Took = max(p.Took, q.Took)
	p.CPU += q.CPU
	p.Memory += q.Memory
	p.Left = cmp.Or(p.Left, q.Left)
}

// Stamp is one critical section. Times are nanoseconds since the row began.
type Stamp struct {
	Asked   int64 // when the client asked for the lock, -1 when there is none
	Entered int64
	Left    int64
}

// MostInside is how many of the sections overlapped at one time, at most.
func MostInside(stamps []Stamp) int64 {
	type step struct {
		at    int64
		enter int64 // 1 or -1
	}
	steps := make([]step, 0, 2*len(stamps))
	for _, s := range stamps {
		steps = append(steps, step{s.Entered, 1}, step{s.Left, -1})
	}
	// A client that leaves when another enters was not inside with it.
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.enter, b.enter))
	})
	var now, most int64
	for _, s := range steps {
		now += s.enter
		most = max(most, now)
	}
	return most
}

// inOrder is the share of the pairs of acquisitions that were granted in the
// order in which they were asked for: 1 is first come, first served, and 0.5 is
// chance. It is nil when there is no pair.
func inOrder(stamps []Stamp) *float64 {
	ranks := orderOfService(stamps)
	n := len(ranks)
	if n < 2 {
		return nil
	}
	pairs := float64(n) * float64(n-1) / 2
	return new(Rounded(1-float64(inversions(ranks, make([]int, n)))/pairs, 4))
}

// orderOfService is, for every acquisition in the order in which they were asked for,
// its position in the order of grants, from 0.
func orderOfService(stamps []Stamp) []int {
	var asked []Stamp
	for _, s := range stamps {
		if s.Asked >= 0 {
			asked = append(asked, s)
		}
	}
	slices.SortStableFunc(asked, func(a, b Stamp) int {
		return cmp.Or(cmp.Compare(a.Asked, b.Asked),
			cmp.Compare(a.Entered, b.Entered))
	})
	order := make([]int, len(asked))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(asked[a].Entered, asked[b].Entered)
	})
	ranks := make([]int, len(order))
	for rank, i := range order {
		ranks[i] = rank
	}
	return ranks
}

// inversions counts the pairs that stand in the wrong order. It sorts x.
func inversions(x, spare []int) int {
	if len(x) < 2 {
		return 0
	}
	half := len(x) / 2
	n := inversions(x[:half], spare[:half]) + inversions(x[half:], spare[half:])
	left, right := x[:half], x[half:]
	for i := range x {
		if len(right) == 0 || len(left) > 0 && left[0] <= right[0] {
			spare[i], left = left[0], left[1:]
			continue
		}
		n += len(left)
		spare[i], right = right[0], right[1:]
	}
	copy(x, spare)
	return n
}

// longestGap is the longest time in which nobody entered, between the start and
// the end of a row.
func longestGap(stamps []Stamp, took time.Duration) time.Duration {
	entered := make([]int64, 0, len(stamps)+1)
	for _, s := range stamps {
		entered = append(entered, s.Entered)
	}
	entered = append(entered, int64(took))
	slices.Sort(entered)
	var longest, before int64
	for _, at := range entered {
		longest = max(longest, at-before)
		before = at
	}
	return time.Duration(longest)
}
