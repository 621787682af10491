package servers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab"
	"github.com/lockladder/lockladder/internal/servers/process"
)

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

type address struct{ Addr, User, Password string }

// somebodys is a server that is only borrowed.
type somebodys struct{ address }

func (s somebodys) Addr() string                  { return s.address.Addr }
func (s somebodys) Auth() (user, password string) { return s.User, s.Password }

// borrow lends somebody's servers, and tidies up there at the end.
func borrow(ctx context.Context, asked string) (all lab.Pool, end func() error,
	err error) {
	p := &Shared{}
	limit := Limited(p, atOnce)
	left := borrowed{Run: limit.Run()}
	for name := range strings.SplitSeq(asked, ",") {
		options, err := parse(name)
		if err != nil {
			return nil, nil, err
		}
		if err := Reach(ctx, options); err != nil {
			return nil, nil, err
		}
		this := address{options.Addr, options.Username, options.Password}
		for _, other := range left.Servers {
			if other.Addr == this.Addr {
				return nil, nil, fmt.Errorf("-redis names %s twice: a lock on several"+
					" servers needs different ones", this.Addr)
			}
		}
		p.all = append(p.all, somebodys{this})
		left.Servers = append(left.Servers, this)
	}
	end, err = process.After(sweeper, left)
	if err != nil {
		return nil, nil, err
	}
	p.Start = func() (lab.Server, error) {
		return nil, lab.TooFew(fmt.Sprintf("-redis names %d", len(p.all)))
	}
	return limit, end, nil
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
		Password: a.Password, DialerRetries: 1})
	defer rdb.Close()
	// Twice: a command of a worker that was just killed may still arrive.
	for range 2 {
		if err := Remove(ctx, rdb, "*lockladder:"+run+":*"); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// Remove removes the keys that match a pattern.
func Remove(ctx context.Context, rdb *redis.Client, pattern string) error {
	keys := rdb.Scan(ctx, 0, pattern, 1000).Iterator()
	for keys.Next(ctx) {
		if err := rdb.Del(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}
