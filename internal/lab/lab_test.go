package lab_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/lab/order"
)

// The lab's own tests use go-redis clients and no lock, because they are about
// the world that the locks live in.

const key = "stock"

// stage is a world with two clients and a node each scenario needs.
type stage struct {
	*lab.World
	t    *testing.T
	a, b *person
}

// person is a client that says what it was told.
type person struct {
	*lab.Client
	rdb   redis.UniversalClient
	stage *stage
}

// aWorld is a world with one node, where nothing takes time.
var aWorld = lab.Config{Nodes: 1, Key: key, TTL: 10 * time.Second}

// stageFor runs a scenario in a world of its own and returns the timeline.
func stageFor(t *testing.T, script func(s *stage)) (timeline string) {
	t.Helper()
	return stageIn(t, aWorld, script)
}

func stageIn(t *testing.T, config lab.Config, script func(s *stage)) (timeline string) {
	t.Helper()
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		s := &stage{World: w, t: t}
		s.a, s.b = s.person("A"), s.person("B")
		w.Record()
		script(s)
		w.Play()
		assert.Empty(t, w.Failures())
		timeline = lines(w)
	}))
	return timeline
}

func (s *stage) person(name string) *person {
	c := s.Client(name)
	return &person{Client: c, rdb: c.Env(key).Nodes[0], stage: s}
}

// ask sends a command and notes the reply, as the client hears it.
func (p *person) ask(args ...any) {
	reply, err := p.rdb.Do(p.stage.Context(), args...).Result()
	p.Step("hears", func() {
		if err != nil && err != redis.Nil {
			p.Note("hears an error")
		} else {
			p.Note("hears %v", reply)
		}
	})
}

// asks is a script: the client sends commands, one after the other, from a moment on.
func (p *person) asks(from time.Duration, commands ...string) {
	p.Go(func() {
		if from > 0 {
			p.Sleep(from)
		}
		for _, command := range commands {
			var args []any
			for word := range strings.FieldsSeq(command) {
				args = append(args, word)
			}
			p.ask(args...)
		}
	})
}

// lines are a timeline's entries, one a line.
func lines(w *lab.World) string {
	var b strings.Builder
	for _, e := range w.Timeline() {
		who := e.Client
		if who == "" {
			who = fmt.Sprintf("node %d", e.Node+1)
		}
		fmt.Fprintf(&b, "%.3f %s: %s", e.At.Seconds(), who, e.Text)
		if e.Reply != "" {
			fmt.Fprintf(&b, " -> %s", e.Reply)
		}
		b.WriteString("\n")
	}
	return b.String()
}

const second = time.Second

func TestWhatTheNetworkCanDo(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(s *stage)
		want   string
	}{
		{"nothing: a command takes no time",
			func(s *stage) { s.a.asks(0, "SET stock a") }, `
0.000 A: SET stock a -> OK
0.000 A: hears OK
`},
		{"clients at one instant act in the order of their names",
			func(s *stage) {
				s.b.asks(0, "SET stock b NX")
				s.a.asks(0, "SET stock a NX")
			}, `
0.000 A: SET stock a NX -> OK
0.000 B: SET stock b NX -> nil
0.000 A: hears OK
0.000 B: hears <nil>
`},
		{"a request is delayed",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 1, lab.Fault{Deliver: 3 * second})
				s.a.asks(0, "SET stock a NX")
				s.b.asks(second, "SET stock b NX")
			}, `
1.000 B: SET stock b NX -> OK
1.000 B: hears OK
3.000 A: SET stock a NX, sent at 0.000 -> nil
3.000 A: hears <nil>
`},
		{"a client is far away",
			func(s *stage) {
				s.a.Far = 300 * time.Millisecond
				s.a.asks(0, "SET stock a NX")
				s.b.asks(0, "SET stock b NX")
			}, `
0.000 B: SET stock b NX -> OK
0.000 B: hears OK
0.300 A: SET stock a NX -> nil
0.600 A: hears <nil>
`},
		{"a server evicts the keys beside the lock",
			func(s *stage) {
				s.a.Go(func() {
					s.a.ask("SET", key, "a")
					s.a.ask("SET", key+":count", "1")
					s.a.Step("evicts", func() { s.Node(0).Evict() })
					s.a.ask("EXISTS", key)
					s.a.ask("EXISTS", key+":count")
				})
			}, `
0.000 A: SET stock a -> OK
0.000 A: hears OK
0.000 A: SET stock:count 1 -> OK
0.000 A: hears OK
0.000 node 1: evicts every key but the lock's
0.000 A: EXISTS stock -> 1
0.000 A: hears 1
0.000 A: EXISTS stock:count -> 0
0.000 A: hears 0
`},
		{"a reply is delayed",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 1, lab.Fault{Answer: 3 * second})
				s.a.asks(0, "SET stock a NX")
				s.b.asks(second, "SET stock b NX")
			}, `
0.000 A: SET stock a NX -> OK, which arrives at 3.000
1.000 B: SET stock b NX -> nil
1.000 B: hears <nil>
3.000 A: hears OK
`},
		{"a reply is lost, the second one is not",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 1, lab.Fault{LoseReply: true})
				s.a.asks(0, "SET stock a", "GET stock")
			}, `
0.000 A: SET stock a -> OK, which is lost
0.000 A: hears an error
0.000 A: GET stock -> a
0.000 A: hears a
`},
		{"a connection breaks before the command is sent",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 1, lab.Fault{Refuse: true})
				s.a.asks(0, "SET stock a", "GET stock")
			}, `
0.000 A: SET stock a -> never sent: connection error
0.000 A: hears an error
0.000 A: GET stock -> nil
0.000 A: hears <nil>
`},
		{"a node refuses connections, and then it does not",
			func(s *stage) {
				s.a.Go(func() {
					s.a.Step("down", func() { s.Node(0).Refuse(true) })
					s.a.ask("SET", key, "a")
					s.a.Step("up", func() { s.Node(0).Refuse(false) })
					s.a.ask("SET", key, "a")
				})
			}, `
0.000 node 1: goes down: connections are refused
0.000 A: hears an error
0.000 node 1: is up again
0.000 A: SET stock a -> OK
0.000 A: hears OK
`},
		{"a node hangs",
			func(s *stage) {
				s.a.Go(func() {
					s.a.Step("hangs", func() { s.Node(0).Hang() })
					s.a.asks(0, "SET stock a")
					s.a.Sleep(30 * second)
					s.a.Step("dies", func() { s.a.Crash() })
				})
			}, `
0.000 node 1: hangs: it accepts commands and never answers
0.000 A: SET stock a -> no answer
30.000 A: dies
`},
		{"a process, or its network, stops for a time",
			func(s *stage) {
				s.a.Hold(second, 3*second, nil)
				s.a.Fault(lab.Renewal, 1, lab.Fault{Answer: 2 * second})
				s.a.asks(0, "SET stock a")
				s.a.asks(1500*time.Millisecond, "GET stock")
			}, `
0.000 A: SET stock a -> OK, which arrives at 2.000
3.000 A: GET stock, sent at 1.500 -> a
3.000 A: hears a
3.000 A: hears OK
`},
		{"a node restarts without its data",
			func(s *stage) {
				s.a.Go(func() {
					s.a.ask("SET", key, "a")
					s.a.Step("restart", func() { s.Node(0).Restart("restarts") })
					s.a.ask("GET", key) // on the connection that was open
					s.a.ask("GET", key)
				})
			}, `
0.000 A: SET stock a -> OK
0.000 A: hears OK
0.000 node 1: restarts
0.000 A: hears an error
0.000 A: GET stock -> nil
0.000 A: hears <nil>
`},
		{"a node's clock jumps",
			func(s *stage) {
				s.a.Go(func() {
					s.a.ask("SET", key, "a", "PX", 5000)
					s.a.Step("jump", func() { s.Node(0).JumpClock(5 * second) })
					s.a.ask("GET", key)
				})
			}, `
0.000 A: SET stock a PX 5000 -> OK
0.000 A: hears OK
0.000 node 1: its clock jumps ahead by 5s
0.000 A: GET stock -> nil
0.000 A: hears <nil>
`},
		{"a client dies before its second command",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 2, lab.Fault{CrashBefore: true})
				s.a.asks(0, "SET stock a", "DEL stock")
				s.b.asks(second, "GET stock")
			}, `
0.000 A: SET stock a -> OK
0.000 A: hears OK
0.000 A: DEL stock -> never sent: A dies
0.000 A: dies
1.000 B: GET stock -> a
1.000 B: hears a
`},
		{"a client dies after its second command",
			func(s *stage) {
				s.a.Fault(lab.Renewal, 2, lab.Fault{CrashAfter: true})
				s.a.asks(0, "SET stock a", "DEL stock")
				s.b.asks(second, "GET stock")
			}, `
0.000 A: SET stock a -> OK
0.000 A: hears OK
0.000 A: DEL stock -> 1, and A dies
0.000 A: dies
1.000 B: GET stock -> nil
1.000 B: hears <nil>
`},
		{"a dead client sends nothing more, from no goroutine",
			func(s *stage) {
				for range 3 {
					s.a.Go(func() {
						for range 100 {
							s.a.ask("INCR", key)
							s.a.Sleep(second)
						}
					})
				}
				s.b.Go(func() {
					s.b.Sleep(500 * time.Millisecond)
					s.b.Step("kills A", func() { s.a.Crash() })
					s.b.Sleep(time.Hour)
					s.b.ask("GET", key)
				})
			}, `
0.000 A: INCR stock -> 1
0.000 A: INCR stock -> 2
0.000 A: INCR stock -> 3
0.000 A: hears 1
0.000 A: hears 2
0.000 A: hears 3
0.500 A: dies
3600.500 B: GET stock -> 3
3600.500 B: hears 3
`},
		{"a message to a subscriber is lost",
			func(s *stage) {
				s.a.Go(func() {
					pubsub := s.a.rdb.Subscribe(s.Context(), "news")
					defer pubsub.Close()
					for range 2 {
						message, err := pubsub.Receive(s.Context())
						s.a.Step("hears", func() {
							assert.NoError(s.t, err)
							s.a.Note("hears %v", message)
						})
					}
				})
				s.b.Go(func() {
					s.b.Sleep(second)
					s.b.Step("mutes", func() { s.Node(0).Mute(true) })
					s.b.ask("PUBLISH", "news", "one")
					s.b.Sleep(second)
					s.b.Step("mutes", func() { s.Node(0).Mute(false) })
					s.b.ask("PUBLISH", "news", "two")
				})
			}, `
0.000 A: SUBSCRIBE news -> subscribe news 1
0.000 A: hears subscribe: news
1.000 B: PUBLISH news one -> 1
1.000 A: message news one -> which is lost
1.000 B: hears 1
2.000 B: PUBLISH news two -> 1
2.000 A: message news two
2.000 B: hears 1
2.000 A: hears Message<news: two>
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, strings.TrimPrefix(c.want, "\n"), stageFor(t, c.script))
		})
	}
}

// crowd is a scenario in which everybody does everything at the same instant.
func crowd(s *stage) {
	for i := range 20 {
		p := s.person(fmt.Sprintf("C%02d", i))
		p.Go(func() {
			for range 20 {
				p.ask("SET", key, p.Client.Name, "NX", "PX", 350)
				p.Sleep(100 * time.Millisecond)
			}
		})
	}
}

func TestTheSameScenarioIsTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a processor busy")
	}
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() { // somebody else is busy
		}
	}()
	want := stageFor(t, crowd)
	require.Equal(t, 2*20*20, strings.Count(want, "\n"))
	for _, processors := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(processors)
		got := stageFor(t, crowd)
		runtime.GOMAXPROCS(before)
		require.Equal(t, want, got, "with %d processors", processors)
	}
}

func TestALeakIsAnError(t *testing.T) {
	err := lab.Run(t, aWorld, func(w *lab.World) {
		w.Client("A").Go(func() { go leak() })
		w.Play()
	})
	require.ErrorIs(t, err, order.ErrLeak)
	assert.NotContains(t, err.Error(), "\n")
}

func leak() { select {} }

func TestAPanicOfTheScenarioIsAnError(t *testing.T) {
	err := lab.Run(t, aWorld, func(*lab.World) { panic("lost the thread") })
	assert.EqualError(t, err, "the scenario panicked: lost the thread")
}

func TestAPanicOfAClientIsAFailure(t *testing.T) {
	require.NoError(t, lab.Run(t, aWorld, func(w *lab.World) {
		w.Client("A").Go(func() { panic("lost the thread") })
		w.Play()
		if assert.Len(t, w.Failures(), 1) {
			assert.Regexp(t, `^A panicked in github\.com/lockladder/lockladder/internal/`+
				`lab_test\.TestAPanicOfAClientIsAFailure\.func1\.1: lost the thread, at`+
				` lab/lab_test\.go:\d+$`, w.Failures()[0])
		}
	}))
}

// The driver of a client that could not connect sixteen times dials by itself
// from then on; that is no leak of the lock's.
func TestANodeMayRefuseForALongTime(t *testing.T) {
	stageFor(t, func(s *stage) {
		s.a.Go(func() {
			s.a.Step("down", func() { s.Node(0).Refuse(true) })
			for range 100 {
				s.a.ask("GET", key)
				s.a.Sleep(100 * time.Millisecond)
			}
		})
	})
}
