package cohort_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/reentrant/cohort"
)

// away puts a process at a distance from the server: each way takes half of the
// round trip.
func away(trip time.Duration) func(dial) dial {
	return func(d dial) dial {
		return func(ctx context.Context) (net.Conn, error) {
			server, err := d(ctx)
			if err != nil {
				return nil, err
			}
			time.Sleep(trip) // for the connection itself
			near, far := net.Pipe()
			go relay(far, server, trip/2)
			go relay(server, far, trip/2)
			return near, nil
		}
	}
}

// relay brings what it reads to the other end, later and in order. At the end of
// one direction it ends the connection.
func relay(from, to net.Conn, delay time.Duration) {
	type packet struct {
		due   time.Time
		bytes []byte
	}
	way := make(chan packet, 1024)
	go func() {
		defer to.Close()
		for p := range way {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				from.Close()
			}
		}
	}()
	defer close(way)
	for {
		buffer := make([]byte, 4096)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		way <- packet{time.Now().Add(delay), buffer[:n]}
	}
}

// section is the work that is done under the lock.
const section = 20 * milli

// served is what a process gets.
type served struct {
	sections int
	longest  time.Duration // wait for the lock
}

// compete lets processes, each at its distance, take the lock again and again
// for a time.
func compete(t *testing.T, lease, during time.Duration,
	trips ...time.Duration) []served {
	results := make([]served, len(trips))
	config := lab.Config{Nodes: 1, Key: key, TTL: lease}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &story{World: w, t: t}
		s.Record()
		for i, trip := range trips {
			p := s.process(fmt.Sprint(i))
			p.driver(away(trip))
			l, err := cohort.New(p.env.Nodes[0], key, lease,
				p.env.Options...)
			require.NoError(t, err)
			p.Go(func() {
				time.Sleep(time.Duration(i+1) * milli)
				for w.Now() < during {
					asked := time.Now()
					require.NoError(t, l.Lock(w.Context()))
					results[i].longest = max(results[i].longest,
						time.Since(asked))
					results[i].sections++
					time.Sleep(section)
					require.NoError(t, l.Unlock(w.Context()))
				}
			})
		}
		s.Play()
		for _, rdb := range s.drivers {
			assert.NoError(t, rdb.Close())
		}
		assert.Empty(t, w.Failures())
	}))
	return results
}

// Two processes are next to the server and one is far away: its round trip is
// longer than a twentieth of the lease. It waits for each of the others for a
// third of a lease and one section at most, as they do.
func TestAFarProcessIsServedLikeOthers(t *testing.T) {
	const lease = 600 * milli
	for _, trip := range []time.Duration{10 * milli, 20 * milli, 40 * milli} {
		t.Run(trip.String(), func(t *testing.T) {
			all := compete(t, lease, 10*second, milli, milli, trip)
			t.Log(all)
			near, far := all[0], all[2]
			assert.Greater(t, far.sections, near.sections/2)
			for _, one := range all {
				assert.LessOrEqual(t, one.longest, 2*(lease/3+section))
			}
		})
	}
}

// A far process that has died in the queue costs the others its turn, which is
// five round trips, and no more than a third of a lease.
func TestAFarProcessThatDiesCostsOneTurn(t *testing.T) {
	for trip, turn := range map[time.Duration]time.Duration{
		40 * milli: ttl / 20, 400 * milli: 2 * second, second: ttl / 3,
	} {
		t.Run(trip.String(), func(t *testing.T) {
			tell(t, func(s *story) {
				a, b, c := s.process("A"), s.process("B"), s.process("C")
				b.driver(away(trip))
				for _, p := range []*process{a, b, c} {
					p.warm()
				}
				s.Record()
				a.owner(1, func(o *owner) { o.section(8 * second) })
				b.owner(2, func(o *owner) { o.acquire() })
				b.crash(7 * second) // it has asked twice
				c.owner(3, func(o *owner) {
					o.at(7500 * milli)
					o.section(second)
					assert.Equal(t, 8*second+turn.Truncate(milli)+milli,
						o.since)
				})
				s.Play()
				assert.Equal(t, []string{"A1", "C3"}, s.served)
			})
		})
	}
}
