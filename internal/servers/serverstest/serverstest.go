// Package serverstest gets tests the real servers that somebody asks for. It
// stands between the lab and the servers, which do not know each other.
package serverstest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/servers"
)

// Variable is the environment's way to ask, for all packages of a run.
const Variable = "LOCKLADDER_REDIS"

// Auto asks for servers that are started here.
const Auto = "auto"

// Flag defines the flag -redis of a test binary. Its value is what is asked for:
// nothing, Auto, or somebody's servers.
func Flag() *string {
	// No default of the flag's: a usage text would print it, and it may have a
	// password in it.
	asked := os.Getenv(Variable)
	flag.Func("redis", "tell the scenarios on"+
		` real servers: "auto" starts them, and host:port, or`+
		" redis://user:password@host:port, uses somebody's; several are"+
		" separated by commas; without it "+Variable+" is asked",
		func(value string) error {
			asked = value
			return nil
		})
	return &asked
}

// parse reads one address. Its error does not quote the address, which may have
// a password in it.
func parse(address string) (*redis.Options, error) {
	if strings.Contains(address, "://") {
		options, err := redis.ParseURL(address)
		switch {
		case err != nil:
		case options.TLSConfig != nil:
			return nil, errors.New("-redis: the scenarios don't speak TLS;" +
				" redis:// is without it")
		case options.DB != 0:
			return nil, fmt.Errorf("-redis names database %d; the scenarios use"+
				" database 0 only", options.DB)
		default:
			return options, nil
		}
	} else if _, _, err := net.SplitHostPort(address); err == nil &&
		!strings.Contains(address, "@") {
		return &redis.Options{Addr: address}, nil
	}
	return nil, errors.New("-redis is neither host:port nor" +
		" redis://user:password@host:port")
}

// ours is a server of our own, with what the lab asks of one.
type ours struct{ *servers.Redis }

func (s ours) Restart() error   { return s.Redis.Restart(context.Background()) }
func (s ours) Replicate() error { return s.Redis.Replicate(context.Background()) }
func (s ours) Promote() error   { return s.Redis.Promote(context.Background()) }
func (s ours) Restore() error   { return s.Redis.Restore(context.Background()) }

// somebodys is a server that is only borrowed.
type somebodys struct{ options *redis.Options }

func (s somebodys) Addr() string { return s.options.Addr }
func (s somebodys) Auth() (user, password string) {
	return s.options.Username, s.options.Password
}

type clustered struct{ *servers.Cluster }

// watched can fail over, once, and nothing else.
type watched struct{ *servers.Sentinel }

var errOnlyFailover = errors.New("a server under a Sentinel only fails over")

func (watched) Kill()          {}
func (watched) Restart() error { return errOnlyFailover }
func (watched) Pause() error   { return errOnlyFailover }
func (watched) Resume() error  { return errOnlyFailover }
func (watched) Restore() error { return nil }
func (w watched) Replicate() error {
	return w.HoldReplication(context.Background())
}
func (w watched) Promote() error { return w.Failover(context.Background()) }
