package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
)

// reachWithin bounds the search for a sign of life of servers.
const reachWithin = 5 * time.Second

// Open makes the servers of a run: "" embeds n of them in this process, "auto" starts n
// real ones, and anything else is the addresses of somebody's, host:port, separated by
// commas. down takes down what was made, also after ctx has ended.
func Open(ctx context.Context, asked string, n int, config Config) (s *Servers,
	down func(context.Context) error, err error) {
	if asked == "" {
		s = Embed(n, config)
		return s, s.Close, nil
	}
	stop := func() {}
	addresses := strings.Split(asked, ",")
	if asked == servers.Auto {
		started, err := servers.StartAll(ctx, n, "--maxclients", strconv.Itoa(max(10_000, config.Clients*2+1000)))
		if errors.Is(err, servers.ErrMissing) {
			return nil, nil, fmt.Errorf("%w; install it, or name a server with -redis host:port", err)
		}
		if err != nil {
			return nil, nil, cmp.Or(terminal.Wrong(ctx.Err() != nil, "%w while servers were started", ErrInterrupted), err)
		}
		stop = func() { servers.StopAll(started) }
		_, config.Password = started[0].Auth()
		addresses = nil
		for _, server := range started {
			addresses = append(addresses, server.Addr())
		}
	}
	reach, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	if s, err = Connect(reach, addresses, config); err != nil {
		stop()
		return nil, nil, cmp.Or(terminal.Wrong(ctx.Err() != nil, "%w while servers were asked for a sign of life",
			ErrInterrupted), err)
	}
	return s, func(ctx context.Context) error {
		defer stop()
		return s.Close(ctx)
	}, nil
}

// ErrInterrupted says that a run was ended from outside.
var ErrInterrupted = errors.New("interrupted")
