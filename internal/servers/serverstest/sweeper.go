package serverstest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers"
)

// Main is what a TestMain calls whose tests borrow servers. So many tests run at
// the same time when real servers are asked for: they mostly wait.
func Main(m *testing.M, asked *string, parallel int) {
	Sweep(func(b borrowed) error { return b.sweep() })
	flag.Parse()
	if *asked != "" {
		flag.Set("test.parallel", fmt.Sprint(parallel))
	}
	os.Exit(m.Run())
}

// Somebody's server must be left as it was, however this process ends. What the
// stories leave there, when they can't tidy up, is removed by another process:
// the test binary once more, which waits for the end of its standard input, as a
// server's shell does.
const sweeperEnv = "LOCKLADDER_SWEEPER"

// borrowed is what the sweeper is told: on standard input, for the arguments and
// the environment of a process can be read by others.
type borrowed struct {
	Run     string // which keys are this run's
	Servers []address
}

type address struct {
	Addr, User, Password string
	DB                   int
}

// StoreMain is what a TestMain calls whose tests start one kind of store. Where
// that is missing it says so, in one line, and the tests must skip what needs it;
// where stores are asked for, that line is a failure.
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

// StartSweeper starts the sweeper and tells it something, as JSON. The returned
// function lets it do its work and waits until it has. TestMain must call Sweep.
func StartSweeper(told any) (func() error, error) {
	text, err := json.Marshal(told)
	if err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), sweeperEnv+"=1")
	cmd.Stderr = os.Stderr
	servers.Detach(cmd)
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	if _, err := alive.Write(text); err != nil {
		return nil, fmt.Errorf("start the sweeper: %w", err)
	}
	return func() error {
		alive.Close()
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("remove what this run has left: %w", err)
		}
		return nil
	}, nil
}

// Sweep does nothing, unless this process is the sweeper: then it does the work
// when the run has ended, however that does, and exits.
func Sweep[T any](work func(told T) error) {
	if os.Getenv(sweeperEnv) == "" {
		return
	}
	var told T
	err := json.NewDecoder(os.Stdin).Decode(&told)
	if err == nil {
		io.Copy(io.Discard, os.Stdin) // until the run has ended
		err = work(told)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sweeper:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

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
