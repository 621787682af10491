// Package protocol lets the scenarios run against a lock in any language.
//
// The lock is a program. It is started once for each process of a scenario, reads
// requests from its standard input and writes answers to its standard output, a
// JSON object a line. docs/any-language.md describes the protocol, and the command
// scenarios/check runs all scenarios against a program.
//
// Find starts a program, asks what it offers and tries it out. Its Build makes
// owners for scenarios.Run, and Serve is the other end, for a lock in Go. So a process
// of the scenarios' own on real servers is one, too: see Again.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrMisbehaves is wrapped by every error that says that a program doesn't speak
// the protocol: it writes something else, ends without being told to, or doesn't
// answer in time. The text is one line, which quotes what the program has written.
var ErrMisbehaves = errors.New("the program doesn't speak the protocol")

// ErrUnfit is wrapped by the errors of Find that say what is wrong with the lock of a program
// that does speak it: it doesn't exclude, or not release, where nothing goes wrong.
var ErrUnfit = errors.New("the lock doesn't work where nothing goes wrong")

// Program is a lock in another program.
type Program struct {
	args        []string
	environment []string // nil: this program's
	hello       Answer   // what it offers
	patience    patience

	mu        sync.Mutex // guards the following, and is not held while one is asked
	processes map[any]*conversation
	closed    bool

	failing sync.Mutex // guards failed; a conversation's own mutex may be held
	failed  error
	fails   chan struct{} // closed with the first failure
}

// patience is how long a program is waited for.
type patience struct {
	hello      time.Duration // a virtual machine must start, on a busy computer
	unanswered time.Duration // how much later than its deadline an answer may come
	tried      time.Duration // likewise, while the program is tried out
	ends       time.Duration // how long it may run when its input has ended
}

var patient = patience{hello: time.Minute, unanswered: 10 * time.Second,
	tried: 3 * time.Second, ends: 5 * time.Second}

// New is the program that these arguments start: a name or a path, and its own
// arguments. Nothing is started.
func New(args ...string) *Program {
	return &Program{args: args, patience: patient,
		processes: map[any]*conversation{}, fails: make(chan struct{})}
}

// Again is this program, to be started with this environment and these arguments. What it
// offers is known when its first owner has been built.
func Again(environment []string, args ...string) (*Program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p := New(append([]string{self}, args...)...)
	p.environment = environment
	return p, nil
}

// Find starts the program against a server, hears what it offers, and tries it
// out: two owners, a refusal, a deadline, and the end of its input. Its errors wrap
// ErrMisbehaves, ErrUnfit or the context's error, or say why the program can't be started.
// Nothing is left running, and no key on the server.
func Find(ctx context.Context, address, user, password string,
	args ...string) (*Program, error) {
	p := New(args...)
	server := &redis.Options{Addr: address, Username: user, Password: password}
	if err := p.try(ctx, server); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("try the program out: %w", ctx.Err())
		}
		return nil, err
	}
	return p, nil
}

// Features are what the program offers.
func (p *Program) Features() []Feature { return p.hello.Features }

// Name is the program as a person would type it.
func (p *Program) Name() string { return strings.Join(p.args, " ") }

// Library is what the program says of itself, such as "redis-py 7.1".
func (p *Program) Library() string { return p.hello.Library }

// Offers says whether the program offers a feature.
func (p *Program) Offers(f Feature) bool {
	return slices.Contains(p.hello.Features, f)
}
