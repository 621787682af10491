package benchmark

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Row is what was measured of one subject. A figure that was not measured is
// nil, null in JSON, never 0.
type Row struct {
	Rung    string `json:"rung"`
	Kind    Kind   `json:"kind"`
	Nodes   int    `json:"nodes"`   // Redis servers that the lock was on
	Clients int    `json:"clients"` // that ran at the same time
	Stock   int    `json:"stock"`

	// PollMs is the longest pause of a refused client. Locks that do not poll
	// are given it all the same.
	PollMs float64 `json:"poll_ms"`

	Sold     int64  `json:"sold"` // units that clients were told they took
	Left     *int64 `json:"left"` // by the server's word, below 0 if oversold
	Oversold int64  `json:"oversold"`

	// MaxHolders is how many clients were inside the critical section at one
	// time, at most; nil where there is none.
	MaxHolders *int64 `json:"max_holders"`

	Finished bool    `json:"finished"` // no client was cut off
	Turns    int     `json:"turns"`    // of all clients together
	Sections int64   `json:"sections"` // turns that were completed
	Seconds  float64 `json:"seconds"`  // wall time, first start to last end

	HandoversPerSecond *float64 `json:"handovers_per_second"`
	Wait               *Wait    `json:"wait_ms"`

	// What clients sent, publish/subscribe left out; a pipeline is one trip.
	CommandsPerSection   *float64 `json:"commands_per_section"`
	RoundTripsPerSection *float64 `json:"round_trips_per_section"`

	Failures     int64   `json:"failures"` // turns that ended with an error
	FirstFailure *string `json:"first_failure"`
	Absent       int     `json:"absent"`  // clients that did not even return
	Retries      *int64  `json:"retries"` // attempts that were refused

	// RatioToSerial compares the hand-overs a second with those of the serial
	// limit in the same run.
	RatioToSerial *float64 `json:"ratio_to_serial"`

	// Jain is Jain's index over the sections of each client: 1 when all had
	// as many, 1/n when one of n had all.
	Jain *float64 `json:"jain"`

	meant int // the nodes that the lock is meant for
}

// Wait is how long clients waited for the lock, in milliseconds. It knows only
// of those that got it.
type Wait struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Report is a run.
type Report struct {
	Schema int   `json:"schema"` // 1
	Env    Env   `json:"env"`
	Rows   []Row `json:"rows"`
}

// Env is where and how a run was made.
type Env struct {
	Go            string   `json:"go"`
	OS            string   `json:"os"`
	Arch          string   `json:"arch"`
	CPUs          int      `json:"cpus"`
	Server        string   `json:"server"` // "miniredis" or "redis"
	ServerVersion *string  `json:"server_version"`
	Addresses     []string `json:"addresses"` // null when embedded
	TTLms         float64  `json:"ttl_ms"`
	TimeoutMs     float64  `json:"timeout_ms"`
	Interrupted   bool     `json:"interrupted"`
}

// Write writes the report as JSON.
func (r Report) Write(w io.Writer) error {
	if r.Rows == nil {
		r.Rows = []Row{}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// waits condenses samples, nil when there are none.
func waits(samples []time.Duration) *Wait {
	if len(samples) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(samples))
	return &Wait{
		P50: ms(percentile(sorted, 50)),
		P99: ms(percentile(sorted, 99)),
		Max: ms(sorted[len(sorted)-1]),
	}
}

// percentile is the smallest sample that at least p of 100 samples do not
// exceed. The samples are sorted, and there is at least one.
func percentile(sorted []time.Duration, p int) time.Duration {
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
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
	return new(round(sum*sum/(float64(len(x))*squares), 4))
}

// per is n for each section, nil when there was none.
func per(n, sections int64) *float64 {
	if sections == 0 {
		return nil
	}
	return new(round(float64(n)/float64(sections), 3))
}

// ms is d in milliseconds.
func ms(d time.Duration) float64 {
	return round(float64(d)/float64(time.Millisecond), 3)
}

// round keeps that many digits after the point: more would pretend.
func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
