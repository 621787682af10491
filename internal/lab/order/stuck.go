package order

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// How often a world is looked at in real time, and after how much of it a world
// may count as stuck.
var (
	lookEvery = time.Second
	patience  = 10 * time.Second
)

// turnsPerLook is how often each look lets all other goroutines go first.
const turnsPerLook = 100

// quiet is the time since something last passed in a world.
type quiet struct {
	passed  uint64
	looks   int
	blocked int // looks at which no goroutine of the world could run
}

// look is one look at a world in which nothing has passed since the last one.
func (q *quiet) look(goroutines func() []goroutine) error {
	for range turnsPerLook {
		runtime.Gosched()
	}
	q.looks++
	if q.looks < 2 {
		return nil // the stacks of a thousand clients are dear
	}
	all := goroutines()
	if len(all) == 0 || slices.ContainsFunc(all, goroutine.ready) {
		q.blocked = 0
		return nil
	}
	q.blocked++
	mutex := slices.IndexFunc(all, goroutine.wantsMutex)
	switch {
	case q.blocked > 1 && mutex >= 0:
		name, _ := caller(all[mutex].stack)
		return fmt.Errorf("%w: it holds a mutex while it waits for Redis"+
			" or for time, and another goroutine wants it: %s", ErrStuck, name)
	case q.blocked >= int(patience/lookEvery):
		return fmt.Errorf("%w: for %v of real time all of its goroutines have"+
			" waited for something outside of the scenario", ErrStuck, patience)
	}
	return nil
}

// goroutine is one of a world's bubble.
type goroutine struct {
	state string // as the runtime calls it: "select (durable)"
	stack string
}

// waiting are the states of a goroutine that can't go on by itself.
var waiting = []string{"chan ", "select", "sleep", "sync.", "semacquire",
	"synctest", "IO wait"}

// ready says whether the goroutine runs, or would with a processor.
func (g goroutine) ready() bool {
	return !slices.ContainsFunc(waiting, func(state string) bool {
		return strings.HasPrefix(g.state, state)
	})
}

// wantsMutex says whether it waits for a mutex.
func (g goroutine) wantsMutex() bool {
	return strings.HasPrefix(g.state, "sync.Mutex.Lock") ||
		strings.HasPrefix(g.state, "sync.RWMutex")
}

var (
	bubbled  = regexp.MustCompile(`^goroutine \d+ .*\[(.*), (synctest bubble \d+)`)
	function = regexp.MustCompile(`(?m)^([^\s].*)\(.*\)\n\t.*?([^/\s]+/[^/\s]+:\d+)`)
)

// caller is the first function on a stack that is not the runtime's, the standard
// library's or the lab's, and the line in which it calls: "gold/lock.go:45".
func caller(stack string) (name, line string) {
	for _, match := range function.FindAllStringSubmatch(stack, -1) {
		name := match[1]
		if strings.Contains(strings.SplitN(name, "/", 2)[0], ".") &&
			strings.Contains(name, "/") &&
			!strings.Contains(name, "/internal/lab.") &&
			!strings.Contains(name, "/internal/lab/") &&
			!strings.Contains(name, "redis/go-redis") {
			return name, match[2]
		}
	}
	return unknown, "an unknown line"
}

const unknown = "an unknown function"

// Panicked is the error of a client that has panicked with a recovered value.
func Panicked(client string, with any) error {
	_, after, _ := strings.Cut(stacks(false)[0], "\npanic(")
	name, line := caller(after)
	return fmt.Errorf("%s panicked in %s: %v, at %s", client, name, with, line)
}

// stacks are those of all goroutines, or of the calling one.
func stacks(all bool) []string {
	for size := 1 << 16; ; size *= 4 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, all); n < size || size >= 1<<28 {
			return strings.Split(string(buffer[:n]), "\n\n")
		}
	}
}
