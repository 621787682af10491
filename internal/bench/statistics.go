package bench

import (
	"math"
	"slices"
	"time"
)

// Clock has some times.
type Clock []time.Duration

// At is the time that so many percent do not exceed, in milliseconds; nil when there is none.
func (c Clock) At(percent float64) *float64 {
	if len(c) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(c))
	return new(Milliseconds(sorted[int(math.Ceil(percent*float64(len(c))/100))-1]))
}

// waits are those for the acquisitions.
func waits(stamps []Stamp) (c Clock) {
	for _, s := range stamps {
		if s.Asked >= 0 {
			c = append(c, time.Duration(s.Entered-s.Asked))
		}
	}
	return c
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

// Milliseconds is d in milliseconds, to the microsecond.
func Milliseconds(d time.Duration) float64 { return Rounded(float64(d)/float64(time.Millisecond), 3) }

// Rounded keeps that many digits after the point: more would pretend.
func Rounded(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
