package history_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// A real server's TTL and its clock are two answers, between which it may have waited.
func TestALookAtARealServerMayBeOffByTwentyMilliseconds(t *testing.T) {
	at := func(ends int64) history.State {
		return history.State{Exists: true, Ends: time.UnixMilli(ends),
			Reading: &history.Reading{Ends: ends}}
	}
	assert.False(t, at(3000).Altered(at(3020)))
	assert.False(t, at(3000).Altered(at(2980)))
	assert.True(t, at(3000).Altered(at(3021)))
}
