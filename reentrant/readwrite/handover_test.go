package readwrite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/reentrant/readwrite"
)

var build = lock.On(readwrite.New)

func TestTheLockIsHandedOver(t *testing.T) { locktest.HandOver(t, build) }

// A has forty writers. B's hears of a release after five of theirs at the latest,
// and then asks beside them.
func TestOtherProcessesHaveAChanceBetweenTheHandOvers(t *testing.T) {
	locktest.Run(t, locktest.Config{Build: build, Processes: []string{"A", "B"}},
		func(s *locktest.Scenario) {
			for n := range 40 {
				s.Owner(fmt.Sprint("A", n+1)).Section(100 * time.Millisecond)
			}
			s.Owner("B1").At(50 * time.Millisecond).Section(second)
			s.Play()
			assert.Len(t, s.Served, 41)
			var heard []time.Duration
			for _, e := range s.Timeline() {
				if e.Client == "B" && strings.HasPrefix(e.Text, "message ") {
					heard = append(heard, e.At)
				}
			}
			require.Greater(t, len(heard), 7)
			for i, at := range heard[:8] { // later ones find nobody there
				assert.LessOrEqual(t, at, time.Duration(i+1)*5*100*time.Millisecond+
					10*time.Millisecond)
			}
		})
}
