package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/lock"
)

// farApart is how often the smaller of two times fits into the larger one when
// the rule for a lease counts the larger alone: two orders of magnitude.
const farApart = 100

// LeaseFor is the rule of thumb for a lease: 120 % of the longest work that was
// measured, and 110 % of the mean latency of the network. Where one of the two
// is a hundred times the other, it counts alone. It is rounded up to what Redis
// can count, whole milliseconds, and is at least one.
func LeaseFor(longestWork, meanLatency time.Duration) time.Duration {
	work, latency := longestWork*12/10, meanLatency*11/10
	lease := work + latency
	if apart(longestWork, meanLatency) >= farApart {
		lease = max(work, latency)
	}
	up := (lease + time.Millisecond - 1).Truncate(time.Millisecond)
	return max(up, time.Millisecond)
}

// apart is how often the smaller time fits into the larger one.
func apart(a, b time.Duration) float64 {
	small, large := min(a, b), max(a, b)
	return float64(large) / float64(max(small, 1))
}

// Spread is what was seen of a time that differs from one measurement to the
// next.
type Spread struct {
	All                     []time.Duration // in the order of measurement
	Shortest, Mean, Longest time.Duration
}

func spread(all []time.Duration) Spread {
	var sum time.Duration
	for _, d := range all {
		sum += d
	}
	return Spread{all, slices.Min(all), sum / time.Duration(len(all)), slices.Max(all)}
}

// over counts the measurements that were longer.
func (s Spread) over(limit time.Duration) int {
	count := 0
	for _, d := range s.All {
		if d > limit {
			count++
		}
	}
	return count
}

// Sizing is what a lease is sized by.
type Sizing struct {
	Work    Spread // a critical section: GET the stock, DECR it
	Latency Spread // a PING
}

// Lease is what LeaseFor makes of it.
func (s Sizing) Lease() time.Duration {
	return LeaseFor(s.Work.Longest, s.Latency.Mean)
}

// sizings is how many sections a lease is sized by.
const sizings = 10_000

// sizingWithin is how long a lease is measured for at most: on a slow network fewer
// measurements are made.
const sizingWithin = 10 * time.Second

// SizeTTL measures critical sections and as many PINGs of one client in turn, as many
// as ten seconds allow. When ctx ends it returns what was measured, and an error. It
// leaves nothing on the server that the servers' Close does not remove.
func SizeTTL(ctx context.Context, servers *nodes.Servers) (Sizing, error) {
	rdb, key := servers.Node(0), servers.Prefix("sizing")+"stock"
	if err := rdb.Set(ctx, key, sizings, 2*sizingWithin).Err(); err != nil {
		return Sizing{}, lock.Failed(ctx, "set the stock", key, err)
	}
	ping := func() error { return rdb.Ping(ctx).Err() }
	section := func() error {
		left, err := rdb.Get(ctx, key).Int()
		if err == nil && left > 0 {
			err = rdb.Decr(ctx, key).Err()
		}
		return err
	}
	if err := ping(); err != nil { // it opens the connection
		return Sizing{}, lock.Failed(ctx, "measure", key, err)
	}
	var sizing Sizing
	var work, latency []time.Duration
	var err error
	for end := time.Now().Add(sizingWithin); len(work) < sizings &&
		(len(work) == 0 || time.Now().Before(end)); {
		var trip, took time.Duration
		if trip, err = timed(ping); err == nil {
			took, err = timed(section)
		}
		if err != nil {
			err = lock.Failed(ctx, "measure", key, err)
			break
		}
		work, latency = append(work, took), append(latency, trip)
	}
	if len(work) > 0 {
		sizing = Sizing{Work: spread(work), Latency: spread(latency)}
	}
	return sizing, err
}

// timed is how long something takes.
func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

// String shows what was measured, the lease, and how many of the measured
// sections would have outlived leases of other lengths.
func (s Sizing) String() string {
	var b strings.Builder
	n := len(s.Work.All)
	fmt.Fprintf(&b, "One client, %d times each:\n\n", n)
	fmt.Fprintf(&b, "%22s  %10s  %10s  %10s\n", "", "shortest", "mean", "longest")
	for i, spread := range []Spread{s.Work, s.Latency} {
		fmt.Fprintf(&b, "%22s  %10v  %10v  %10v\n",
			[]string{"work (GET, DECR)", "latency (PING)"}[i],
			short(spread.Shortest), short(spread.Mean), short(spread.Longest))
	}
	line := func(name string, value, text any) {
		fmt.Fprintf(&b, "%22s  %10v  %v\n", name, value, text)
	}
	b.WriteByte('\n')
	line("", short(s.Work.Longest*12/10), "120 % of the longest work")
	line("", short(s.Latency.Mean*11/10), "110 % of the mean latency")
	line("", fmt.Sprintf("%.0f", apart(s.Work.Longest, s.Latency.Mean)),
		fmt.Sprintf("times the one is the other; from %d on the larger counts alone",
			farApart))
	line("the lease", s.Lease(), "in whole milliseconds")
	fmt.Fprintf(&b, "\nSections of these %d that would have outlived a lease of\n\n", n)
	outlived := func(name string, lease time.Duration) {
		line(name, short(lease), s.Work.over(lease))
	}
	outlived("the mean work", s.Work.Mean)
	outlived("twice the mean work", 2*s.Work.Mean)
	outlived("ten times the mean", 10*s.Work.Mean)
	outlived("the lease above", s.Lease())
	return b.String()
}

// short keeps three or four digits.
func short(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit <= time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
