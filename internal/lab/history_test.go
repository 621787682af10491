package lab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/lab"
)

func TestATimelineCountsAttemptsThatDifferInATokenOrACounter(t *testing.T) {
	stageFor(t, func(s *stage) {
		s.a.Go(func() {
			s.a.ask("SET", key, "a", "NX")
			for i := range 40 {
				s.a.ask("INCR", "counter")
				s.a.ask("SET", key, fmt.Sprintf("x%dy", i), "NX")
			}
			s.a.ask("GET", "counter")
		})
		s.Play()
		said := s.Render(-1)
		assert.Equal(t, 2, strings.Count(said, " SET "), "granted, and refused:\n%s", said)
		assert.Equal(t, 2, strings.Count(said, " INCR "), "the first, and the others:\n%s",
			said)
		assert.Contains(t, said, "GET counter -> 40", "another command is shown")
	})
}

func TestTheWorldKnowsWhoseGrantAKeyIs(t *testing.T) {
	stageFor(t, func(s *stage) {
		s.a.Go(func() {
			s.a.ask("SET", key, "a", "NX", "PX", 10000)
			s.a.Step("enters", func() { s.a.EnterAs("A", nil) })
		})
		s.b.Go(func() {
			s.b.Sleep(second)
			s.b.Step("looks", func() { assert.Equal(t, "A", s.Owner()) })
			s.b.ask("PEXPIRE", key, 20000)
			s.b.ask("DEL", key)
			s.b.ask("SET", key, "b", "NX")
			s.b.Step("looks", func() { assert.Equal(t, "B", s.Owner()) })
			s.b.Step("enters", func() { s.b.EnterAs("B", nil) })
		})
		s.Play()
		for invariant, event := range map[string]string{
			lab.ForeignRenewal: "1.000 s: B's PEXPIRE stock 20000 extends the" +
				" lease of A's grant",
			lab.ForeignRelease: "1.000 s: B's DEL stock removes the grant that A" +
				" has had since 0.000 with a lease until 21.000",
			lab.TwoHolders: "1.000 s: B holds the lock, and A was never told" +
				" that it lost it",
		} {
			if breaks := s.Breaks(invariant); assert.Len(t, breaks, 1) {
				assert.Equal(t, event, breaks[0].String())
			}
		}
	})
}

func TestAGrantWhoseLeaseIsOverIsNobodys(t *testing.T) {
	stageFor(t, func(s *stage) {
		s.a.Go(func() { s.a.ask("SET", key, "a", "NX", "PX", 10000) })
		s.b.Go(func() {
			s.b.Sleep(11 * second)
			s.b.ask("DEL", key)
			s.b.ask("SET", key, "b")
		})
		s.Play()
		assert.Empty(t, s.Breaks(lab.ForeignRelease))
	})
}
