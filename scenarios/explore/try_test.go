package explore_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/scenarios/explore"
)

var rungName = flag.String("rung2", "gold", "")
var clients = flag.Int("clients", 2, "")
var exp = flag.Int("e", 1, "")
var crash = flag.Int("c", 1, "")
var tim = flag.Int("r", 0, "")
var pauses = flag.Int("z", 0, "")
var lost = flag.Int("l", 0, "")
var attempts = flag.Int("a", 5, "")
var nodes = flag.Int("nodes", 1, "")
var limit = flag.Int("limit", 2000000, "")
var strays = flag.Int("s", 0, "")
var prog = flag.String("prog", "once", "")

func TestTry(t *testing.T) {
	rung, err := ladder.Find(*rungName)
	if err != nil {
		t.Fatal(err)
	}
	b := explore.Bounds{Clients: *clients, Nodes: *nodes,
		Expiries: *exp, Crashes: *crash, Timers: *tim, Pauses: *pauses, LostReplies: *lost, Strays: *strays, Attempts: *attempts, States: *limit,
		Programs: []explore.Program{explore.Program(*prog)}}
	_ = strconv.Itoa
	start := time.Now()
	r := explore.Run(t, rung.Build, b)
	fmt.Println(rung.Name, time.Since(start))
	fmt.Println(r)
}
