package serverstest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// Main is what a TestMain calls whose tests borrow servers. So many tests run at
// the same time when real servers are asked for, see AtOnce.
func Main(m *testing.M, asked *string, parallel int) {
	Sweep()
	os.Exit(AtOnce{m, asked, parallel}.Run())
}

// AtOnce are a package's tests, of which so many run at the same time when real
// servers are asked for: they mostly wait.
type AtOnce struct {
	*testing.M
	Asked    *string
	Parallel int
}

// Run runs the tests and returns the exit status.
func (t AtOnce) Run() int {
	flag.Parse()
	if *t.Asked != "" {
		flag.Set("test.parallel", fmt.Sprint(t.Parallel))
	}
	return t.M.Run()
}

// Sweep is what a command's main calls first that borrows servers: where this
// process is the one that tidies up, it does so and doesn't return.
func Sweep() {
	process.ServeAfter(sweeper, func(b borrowed) error { return b.sweep() })
}

// sweeper is the process that leaves somebody's server as it was, however this
// process ends: it removes what the scenarios leave there when they can't tidy
// up.
const sweeper = "sweeper"

// borrowed is what the sweeper is told.
type borrowed struct {
	Run     string // which keys are this run's
	Servers []address
}

type address struct {
	Addr, User, Password string
	DB                   int
}

// StoreMain is what a TestMain calls whose tests start one kind of store. Where
// that is missing it says so, in one line, and the tests must skip what needs
// it; where stores are asked for, that line is a failure.
func StoreMain(m *testing.M, missing error) {
	if missing != nil {
		if os.Getenv("LOCKLADDER_STORES") != "" {
			fmt.Fprintln(os.Stderr, "LOCKLADDER_STORES asks for stores:", missing)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "%v: the tests that need it are skipped\n", missing)
	}
	os.Exit(m.Run())
}

// RunName names a run, for its keys.
func RunName() string { return fmt.Sprintf("%08x", rand.Uint32()) }

// sweep removes the keys of a run.
func (b borrowed) sweep() error {
	var failed error
	for _, s := range b.Servers {
		if err := s.sweep(b.Run); err != nil {
			failed = errors.Join(failed, fmt.Errorf("keys named lockladder:%s:*"+
				" are left at %s: %w", b.Run, s.Addr, err))
		}
	}
	return failed
}

func (a address) sweep(run string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: a.Addr, Username: a.User,
		Password: a.Password, DB: a.DB, DialerRetries: 1})
	defer rdb.Close()
	// Twice: a command of a worker that was just killed may still arrive.
	for range 2 {
		keys := rdb.Scan(ctx, 0, "*lockladder:"+run+":*", 1000).Iterator()
		for keys.Next(ctx) {
			if err := rdb.Del(ctx, keys.Val()).Err(); err != nil {
				return err
			}
		}
		if err := keys.Err(); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
