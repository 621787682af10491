package cache_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/bench/jobs/cache"
	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest"
	"github.com/lockladder/lockladder/internal/site/generated"
)

func TestTheTablesOfThePageAreFresh(t *testing.T) {
	locktest.WhenNamed(t, "it runs every scenario of the page:"+
		" go test ./internal/bench/jobs/cache -run OfThePage")
	generated.Compare(t, "cache.md", "mutex",
		generated.Block(run(t, mutexes, 80*ms, 50*ms).timeline))
	generated.Compare(t, "cache.md", "locks", locks(t))
}

// locks is what becomes of four requests to two services.
func locks(t *testing.T) string {
	var rows [][]string
	row := func(name string, guard func(c *lab.Client) cache.Guard) {
		usual := run(t, guard, 80*ms, 50*ms)
		long := run(t, guard, 15*time.Second)
		dies := runDeath(t, guard)
		rows = append(rows, []string{name, fmt.Sprint(usual.loads),
			fmt.Sprintf("%s / %s", usual.seen["A"][0], usual.seen["B"][0]),
			usual.cached, fmt.Sprint(long.loads), dies.last()})
	}
	row("no lock", func(*lab.Client) cache.Guard { return nil })
	row("a mutex in each service", mutexes)
	for _, rung := range ladder.Rungs {
		row(rung.Name, behind(rung))
	}
	return generated.Table(1, []string{"", "loads", "A / B answer", "cache holds",
		"loads of 15 s", "A dies: last answer"}, rows)
}
