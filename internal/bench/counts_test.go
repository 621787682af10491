package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInOrderIsTheShareOfPairsServedInTheOrderOfAsking(t *testing.T) {
	for want, ranks := range map[float64][]int64{1: {0, 1, 2, 3}, 0: {3, 2, 1, 0},
		0.6667: {2, 1, 3}, 0.8333: {0, 2, 1, 3}} {
		var stamps []Stamp
		for asked, rank := range ranks {
			stamps = append(stamps, Stamp{int64(asked), 100 + rank, 101 + rank})
		}
		assert.Equal(t, &want, inOrder(stamps))
	}
	assert.Nil(t, inOrder([]Stamp{{-1, 1, 2}, {-1, 3, 4}}), "nobody asked")
}

func TestTheOrderOfServiceIsSampledEvenly(t *testing.T) {
	var ranks []int
	for i := range 1000 {
		ranks = append(ranks, i)
	}
	sample := sampled(ranks)
	assert.Len(t, sample, points)
	assert.Equal(t, 0.0, sample[0])
	assert.Equal(t, 100.0, sample[points-1])
	assert.Equal(t, []float64{100, 0}, sampled([]int{1, 0}))
	assert.Equal(t, []float64{0}, sampled([]int{0}))
}

func TestSectionsThatOverlapAreInsideTogether(t *testing.T) {
	assert.EqualValues(t, 0, MostInside(nil))
	assert.EqualValues(t, 1, MostInside([]Stamp{{0, 5, 7}, {0, 7, 9}}),
		"who enters when another leaves is not inside with it")
	assert.EqualValues(t, 2, MostInside([]Stamp{{0, 5, 8}, {0, 7, 9}}))
	assert.EqualValues(t, 3, MostInside([]Stamp{{0, 1, 9}, {0, 2, 4},
		{0, 3, 5}, {0, 5, 6}}))
}

func TestTheLongestGapIsTheLongestTimeWithoutAnAcquisition(t *testing.T) {
	stamps := []Stamp{{0, 10, 11}, {0, 90, 91}, {0, 20, 21}}
	assert.EqualValues(t, 70, longestGap(stamps, 100))
	assert.EqualValues(t, 210, longestGap(stamps, 300), "until the end")
	assert.EqualValues(t, 50, longestGap(nil, 50))
}

// rounds makes rows with these ratios.
func rounds(ratios ...float64) []Row {
	var rows []Row
	for _, ratio := range ratios {
		rows = append(rows, RowOf(map[string]any{"ratio_to_serial": ratio,
			"finished": true, "seconds": 1 / ratio, "max_holders": 1, "failures": 0,
			"oversold": 0}))
	}
	return rows
}

func TestTheRoundWithTheMedianRatioIsReported(t *testing.T) {
	row := Median(rounds(0.5, 0.1, 0.4), 0)
	assert.Equal(t, 0.4, *row.Ratio())
	assert.Equal(t, 2.5, row.Value("seconds"), "its other figures are of that round")
	assert.Len(t, row.Rounds, 3)
	assert.InDelta(t, 50, *row.Number("spread"), 1e-9, "(0.5 - 0.1) / 2 / 0.4")
}

func TestWhatMustNotHappenIsReportedOfTheWorstRound(t *testing.T) {
	done := rounds(0.5, 0.1, 0.4)
	done[0].Set("max_holders", 2)
	done[0].Set("failures", 1)
	done[0].Set("finished", false)
	done[1].Set("oversold", 3)
	done[1].Set("failures", 2)
	done[1].Set("first_failure", "broken")
	row := Median(done, 3)
	assert.Equal(t, 2, row.Count("max_holders"))
	assert.Equal(t, 3, row.Count("oversold"))
	assert.Equal(t, 3, row.Count("failures"))
	assert.Equal(t, "broken", row.Value("first_failure"))
	assert.False(t, row.Finished())
}
