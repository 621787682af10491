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
	if os.Getenv(sweeperEnv) != "" {
		if err := sweep(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
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

// runName names a run, for its keys.
func runName() string { return fmt.Sprintf("%08x", rand.Uint32()) }

// startSweeper starts the sweeper; the returned function lets it do its work and
// waits until it has.
func startSweeper(run string, of []*redis.Options) (func() error, error) {
	b := borrowed{Run: run}
	for _, o := range of {
		b.Servers = append(b.Servers, address{o.Addr, o.Username, o.Password, o.DB})
	}
	text, err := json.Marshal(b)
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
			return fmt.Errorf("remove the keys of this run: %w", err)
		}
		return nil
	}, nil
}

// sweep removes the keys of a run when that has ended.
func sweep(from io.Reader) error {
	var b borrowed
	decoder := json.NewDecoder(from)
	if err := decoder.Decode(&b); err != nil {
		return fmt.Errorf("sweeper: %w", err)
	}
	io.Copy(io.Discard, from) // until the run has ended
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
