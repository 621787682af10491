package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Row is what was measured of one subject. A figure that was not measured is
// nil, null in JSON, never 0.
type Row struct {
	Rung    string `json:"rung"`
	Kind    Kind   `json:"kind"`
	Nodes   int    `json:"nodes"`   // Redis servers that the lock was on
	Clients int    `json:"clients"` // that ran at the same time

	// InTableOf is how many clients the other rows of the table have.
	InTableOf int `json:"table_clients"`

	Stock int `json:"stock"`

	Services int `json:"services"` // processes that the clients lived in

	// LoopSeconds is how long every client took turns, null when each had a
	// number of turns.
	LoopSeconds *float64 `json:"loop_seconds"`

	// PollMs is the longest pause of a refused client. Locks that do not poll
	// are given it all the same.
	PollMs    float64 `json:"poll_ms"`
	FixedPoll bool    `json:"fixed_poll"` // every pause was as long

	Sold     int64  `json:"sold"` // units that clients were told they took
	Left     *int64 `json:"left"` // by the server's word, below 0 if oversold
	Oversold int64  `json:"oversold"`

	// LostUpdates are the sections in which somebody else changed the stock
	// between the reading and the taking.
	LostUpdates int64 `json:"lost_updates"`

	// MaxHolders is how many clients were inside the critical section at one
	// time, at most; nil where there is none.
	MaxHolders *int64 `json:"max_holders"`

	Finished bool    `json:"finished"` // no client was cut off
	Turns    int     `json:"turns"`    // of all clients together
	Sections int64   `json:"sections"` // turns that were completed
	Seconds  float64 `json:"seconds"`  // wall time, first start to last end

	AcquisitionsPerSecond *float64 `json:"acquisitions_per_second"`
	Wait                  *Wait    `json:"wait_ms"`

	// The commands that clients sent, without publish/subscribe; a pipeline is one trip.
	CommandsPerSection   *float64 `json:"commands_per_section"`
	RoundTripsPerSection *float64 `json:"round_trips_per_section"`

	// CallsPerSection is what the servers executed, by their own word: also
	// publish/subscribe, and the calls inside scripts.
	CallsPerSection *float64 `json:"calls_per_section"`

	CPU *CPU `json:"cpu_us_per_section"` // null on embedded servers

	Failures     int64   `json:"failures"` // turns that ended with an error
	FirstFailure *string `json:"first_failure"`
	NotHeld      int64   `json:"not_held"` // failed: the lock was not theirs
	Absent       int     `json:"absent"`   // clients that did not even return
	Retries      *int64  `json:"retries"`  // attempts that were refused

	Stuck int `json:"stuck"` // clients that the end of the row cut off

	// LongestGapMs is the longest time in which nobody got in.
	LongestGapMs float64 `json:"longest_gap_ms"`

	// RatioToSerial compares the acquisitions a second with those of the serial
	// limit, in the same run or, with several rounds, in the same round.
	RatioToSerial *float64 `json:"ratio_to_serial"`

	// SerialMaxOverP50 tells what of the longest wait is the machine's, in a
	// closed loop of several rounds. It is of the serial limit in the same round,
	// where nobody queues: the longest time of as many sections as take the
	// median wait, in units of their median time.
	SerialMaxOverP50 *float64 `json:"serial_max_over_p50"`

	// Rounds are all rounds; the other figures are those of the one with the
	// median ratio, and of what must not happen the worst. Null for one round.
	Rounds []Round `json:"rounds"`

	// Jain is Jain's index over the sections of each client: 1 when all had
	// as many, 1/n when one of n had all.
	Jain *float64 `json:"jain"`

	// InOrder is the share of the pairs of acquisitions that were granted in
	// the order in which they were asked for: 1 is first come, first served,
	// 0.5 is chance.
	InOrder *float64 `json:"in_order"`

	// Service is the order of service: of up to fifty acquisitions, evenly
	// spread over the order in which they were asked for, the percentage of
	// all that were granted before. First come, first served rises evenly.
	Service []float64 `json:"order_of_service"`

	meant  int // the nodes that the lock is meant for
	rounds int // that there should be, 0 for one
}

// Complete says that all rounds were measured and no client was cut off.
func (r Row) Complete() bool {
	return r.Finished && len(r.Rounds) == r.rounds
}

// Wait is how long clients waited for the lock, in milliseconds. The percentiles
// are of those that got it; the longest wait may have been cut off.
type Wait struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`

	// Percentiles are the waits at the percents of Percents.
	Percentiles []float64 `json:"percentiles"`
}

// Percents are the percentiles that a wait is reported at.
var Percents = []float64{0, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99,
	99.9, 100}

// CPU is the processor time of a section, in microseconds.
type CPU struct {
	Clients float64 `json:"clients"`
	Server  float64 `json:"server"`
}

// Round is one of several measurements of a row.
type Round struct {
	Seconds               float64  `json:"seconds"`
	Sections              int64    `json:"sections"`
	AcquisitionsPerSecond *float64 `json:"acquisitions_per_second"`
	RatioToSerial         *float64 `json:"ratio_to_serial"`
	WaitP50               *float64 `json:"wait_p50_ms"`
	WaitMax               *float64 `json:"wait_max_ms"`
	SerialMaxOverP50      *float64 `json:"serial_max_over_p50"`
	Oversold              int64    `json:"oversold"`
}

// histogram has the waits of the acquisitions in nanoseconds, three significant
// digits from a nanosecond to an hour; nil when there was none.
func histogram(stamps []Stamp) *hdrhistogram.Histogram {
	h := hdrhistogram.New(1, int64(time.Hour), 3)
	for _, s := range stamps {
		if s.Asked >= 0 {
			// Longer than an hour is an hour.
			_ = h.RecordValue(min(s.Entered-s.Asked, int64(time.Hour)))
		}
	}
	if h.TotalCount() == 0 {
		return nil
	}
	return h
}

// waits condenses the waits, nil when nobody waited.
func waits(stamps []Stamp) *Wait {
	h := histogram(stamps)
	if h == nil {
		return nil
	}
	at := func(percent float64) float64 {
		return Milliseconds(time.Duration(h.ValueAtQuantile(percent)))
	}
	w := &Wait{P50: at(50), P99: at(99), Max: at(100)}
	for _, percent := range Percents {
		w.Percentiles = append(w.Percentiles, at(percent))
	}
	w.Percentiles[0] = Milliseconds(time.Duration(h.Min()))
	return w
}

// Times are how long something took, in milliseconds.
type Times struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Show is one of the times with so many digits after the point.
func (t *Times) Show(digits int, which func(*Times) float64) string {
	if t == nil {
		return NotMeasured
	}
	return fmt.Sprintf("%.*f", digits, which(t))
}

// Clock gathers times, to the microsecond. It is used by one goroutine at a time.
type Clock struct{ histogram *hdrhistogram.Histogram }

// NewClock makes a clock without times.
func NewClock() Clock {
	return Clock{hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
}

// Record adds a time. Longer than an hour is an hour.
func (c Clock) Record(took time.Duration) {
	_ = c.histogram.RecordValue(min(took, time.Hour).Microseconds())
}

// Times are nil when there are none.
func (c Clock) Times() *Times {
	if c.histogram.TotalCount() == 0 {
		return nil
	}
	at := func(percent float64) float64 {
		return Rounded(float64(c.histogram.ValueAtQuantile(percent))/1000, 3)
	}
	return &Times{at(50), at(99), at(100)}
}

// points is how many points of an order of service are kept.
const points = 50

// sampled takes points of an order of service.
func sampled(ranks []int) []float64 {
	var kept []float64
	last := len(ranks) - 1
	for i := range min(len(ranks), points) {
		if last == 0 {
			return []float64{0}
		}
		asked := i * last / (min(len(ranks), points) - 1)
		kept = append(kept, Rounded(100*float64(ranks[asked])/float64(last), 1))
	}
	return kept
}

// Median is the round whose ratio, or else speed, is in the middle, with the
// worst of what must not happen in any. There should be so many rounds.
func Median(done []Row, rounds int) Row {
	speed := func(r Row) float64 {
		if r.RatioToSerial != nil {
			return *r.RatioToSerial
		}
		if r.AcquisitionsPerSecond != nil {
			return *r.AcquisitionsPerSecond
		}
		return 0
	}
	sorted := slices.Clone(done)
	slices.SortStableFunc(sorted, func(a, b Row) int {
		return cmp.Compare(speed(a), speed(b))
	})
	row := sorted[(len(sorted)-1)/2]
	row.rounds = rounds
	row.Failures, row.NotHeld, row.FirstFailure = 0, 0, nil
	for _, r := range done {
		round := Round{
			Seconds:               r.Seconds,
			Sections:              r.Sections,
			AcquisitionsPerSecond: r.AcquisitionsPerSecond,
			RatioToSerial:         r.RatioToSerial,
			Oversold:              r.Oversold,
			SerialMaxOverP50:      r.SerialMaxOverP50,
		}
		if r.Wait != nil {
			round.WaitP50, round.WaitMax = &r.Wait.P50, &r.Wait.Max
		}
		row.Rounds = append(row.Rounds, round)
		if r.MaxHolders != nil {
			row.MaxHolders = new(max(*row.MaxHolders, *r.MaxHolders))
		}
		row.Oversold = max(row.Oversold, r.Oversold)
		row.LostUpdates = max(row.LostUpdates, r.LostUpdates)
		row.Finished = row.Finished && r.Finished
		row.Failures += r.Failures
		row.NotHeld += r.NotHeld
		row.Absent = max(row.Absent, r.Absent)
		row.Stuck = max(row.Stuck, r.Stuck)
		row.FirstFailure = cmp.Or(row.FirstFailure, r.FirstFailure)
	}
	return row
}

// Compare sets the figures of a row that compare it with the serial limit: its
// acquisitions a second, and in a closed loop of several rounds its sections. An
// argument that is nil was not measured.
func (r *Row) Compare(handovers *float64, sections []Stamp) {
	if handovers != nil && r.AcquisitionsPerSecond != nil && *handovers > 0 {
		r.RatioToSerial = new(Rounded(*r.AcquisitionsPerSecond / *handovers, 4))
	}
	if r.Wait != nil {
		r.SerialMaxOverP50 = unevenness(sections,
			time.Duration(r.Wait.P50*float64(time.Millisecond)))
	}
}

// Spread is half of the distance between the least and the greatest ratio of the
// rounds, as a share of the median; nil with fewer than two.
func (r Row) Spread() *float64 {
	var ratios []float64
	for _, round := range r.Rounds {
		if round.RatioToSerial != nil {
			ratios = append(ratios, *round.RatioToSerial)
		}
	}
	if len(ratios) < 2 || r.RatioToSerial == nil || *r.RatioToSerial == 0 {
		return nil
	}
	return new((slices.Max(ratios) - slices.Min(ratios)) / 2 / *r.RatioToSerial)
}

// unevenness is the longest time of as many sections in a row as usually fit into
// a span, in units of their median time; nil where there are no more than that.
func unevenness(stamps []Stamp, span time.Duration) *float64 {
	last := len(stamps) - 1
	if last < 1 {
		return nil
	}
	each := (stamps[last].Entered - stamps[0].Entered) / int64(last)
	n := max(1, int(int64(span)/max(each, 1)))
	var took []int64
	for i := n; i <= last; i++ {
		took = append(took, stamps[i].Entered-stamps[i-n].Entered)
	}
	if len(took) == 0 {
		return nil
	}
	slices.Sort(took)
	middle := max(took[len(took)/2], 1)
	return new(Rounded(float64(took[len(took)-1])/float64(middle), 2))
}

// maxOverP50 is the longest wait in units of the median one.
func maxOverP50(p50, longest *float64) *float64 {
	if p50 == nil || longest == nil || *p50 == 0 {
		return nil
	}
	return new(Rounded(*longest / *p50, 2))
}

// jain is (Σx)² / (n·Σx²), nil when nobody had anything.
func jain(x []float64) *float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return nil
	}
	return new(Rounded(sum*sum/(float64(len(x))*squares), 4))
}

// Per is n for each section, nil when there was none.
func Per(n, sections int64) *float64 {
	if sections == 0 {
		return nil
	}
	return new(Rounded(float64(n)/float64(sections), 3))
}

// Percent is a share in percent.
func Percent(share *float64) *float64 {
	if share == nil {
		return nil
	}
	return new(100 * *share)
}

// Milliseconds is d in milliseconds, to the microsecond.
func Milliseconds(d time.Duration) float64 {
	return Rounded(float64(d)/float64(time.Millisecond), 3)
}

// Rounded keeps that many digits after the point: more would pretend.
func Rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

// Woken says whether the row's lock wakes its waiters, and so has no pause.
func (r Row) Woken() bool {
	switch r.Rung {
	case "reentrant/notify", "reentrant/fair", "reentrant/cohort",
		"reentrant/readwrite", "redisson", "redisson-fair":
		return true
	}
	return false
}

// Finding is what the rows with the most clients say, in a sentence: how much faster
// the slowest lock that wakes its waiters is than the fastest that polls. It is ""
// when there are not both, or when polling is as fast.
func Finding(rows []Row) string {
	var polls, wakes *Row
	clients := 0
	for _, row := range rows {
		clients = max(clients, row.Clients)
	}
	for _, row := range rows {
		switch {
		case row.Kind == Baseline || row.Clients < clients ||
			row.LostUpdates > 0 || row.RatioToSerial == nil:
		case row.Woken() && (wakes == nil ||
			*row.RatioToSerial < *wakes.RatioToSerial):
			wakes = &row
		case !row.Woken() && (polls == nil ||
			*row.RatioToSerial > *polls.RatioToSerial):
			polls = &row
		}
	}
	if polls == nil || wakes == nil || *wakes.RatioToSerial <= *polls.RatioToSerial {
		return ""
	}
	return fmt.Sprintf("The slowest lock that wakes its waiters (%s) is %.1f times as"+
		" fast as the fastest that polls (%s)", wakes.Rung,
		*wakes.RatioToSerial / *polls.RatioToSerial, polls.Rung)
}
