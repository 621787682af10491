package inventory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFatesAreSharesOfTheClientsAndTheSameForTheSameSeed(t *testing.T) {
	count := func(drawn []fate) (crashed, overran int) {
		for _, f := range drawn {
			switch f {
			case crashes:
				crashed++
			case overruns:
				overran++
			}
		}
		return crashed, overran
	}
	crashed, overran := count(fates(1000, 0.01, 0.05, 1))
	assert.Equal(t, 10, crashed)
	assert.Equal(t, 50, overran)
	crashed, overran = count(fates(10, 0.01, 0, 1))
	assert.Equal(t, 1, crashed, "a share is at least one")
	assert.Zero(t, overran)
	crashed, overran = count(fates(3, 1, 0, 1))
	assert.Equal(t, 3, crashed)
	assert.Zero(t, overran)

	assert.Equal(t, fates(100, 0.1, 0.1, 1), fates(100, 0.1, 0.1, 1))
	assert.NotEqual(t, fates(100, 0.1, 0.1, 1), fates(100, 0.1, 0.1, 2))
}

func TestTheProgressSaysHowFarARowIs(t *testing.T) {
	assert.Equal(t, ": warming up", Progress{}.String())
	assert.Equal(t, ": 12 of 1000 turns, 1.3 s",
		Progress{Sections: 12, Turns: 1000, Elapsed: 1_260_000_000}.String())
}
