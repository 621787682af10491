package servers

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Variable is the environment's way to ask for servers, for all packages of a run.
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
	return nil, errors.New("-redis is neither auto nor host:port nor" +
		" redis://user:password@host:port")
}

// Need skips a test that starts Redis servers unless Variable asks for servers: such
// tests mostly wait, and go test ./... is to answer soon. A test that was asked for
// fails where redis-server is missing.
func Need(t testing.TB) {
	t.Helper()
	missing := Installed()
	switch {
	case os.Getenv(Variable) == "":
		t.Skipf("it starts servers, which is asked for with %s=%s", Variable, Auto)
	case missing != nil:
		t.Fatalf("%s asks for servers: %v", Variable, missing)
	}
}

// Main is what a TestMain calls whose tests borrow servers. So many tests run at
// the same time when real servers are asked for: they mostly wait.
func Main(m *testing.M, asked *string, parallel int) {
	Sweep()
	os.Exit(AtOnce{m, asked, parallel}.Run())
}

// AtOnce are a package's tests, of which so many run at the same time when real
// servers are asked for.
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
