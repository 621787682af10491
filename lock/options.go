package lock

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// DefaultPoll is the pause between two attempts in [wukong]: 100 ms
// (docs/sources.md).
const DefaultPoll = 100 * time.Millisecond

// Options are a handle's settings, made by Configure.
type Options struct {
	// Now is the client's clock. Only a lock that compares clocks of different
	// machines uses it; leases are measured with the monotonic clock.
	Now func() time.Time

	// Token makes an owner's token, different at each call.
	Token func() string

	// FixedLease turns renewal off.
	FixedLease bool

	// NodeTimeout bounds one command to one of several nodes.
	NodeTimeout time.Duration

	// Parallel asks several nodes at once instead of in order.
	Parallel bool

	poll      time.Duration
	fixedPoll bool
	below     func(int64) int64 // the source of jitter
}

// Option changes one setting of a handle.
type Option func(*Options)

// PollEvery sets the pause between two attempts; with jitter it is the longest
// pause. It must be positive.
func PollEvery(d time.Duration) Option {
	return func(o *Options) { o.poll = d }
}

// LongestPause is what PollEvery has set, 0 when nothing has.
func (o *Options) LongestPause() time.Duration { return o.poll }

// FixedPoll makes every pause as long as PollEvery says. Waiters that start at
// the same time then stay in step and collide at every attempt.
func FixedPoll() Option {
	return func(o *Options) { o.fixedPoll = true }
}

// FixedLease turns renewal off: the lease ends ttl after the grant, however long
// the holder works. Locks that never renew ignore it. Entering again doesn't move
// that end for the holder: Lost closes then, although the server keeps the lock for
// ttl after the newest entry. The same holds where no renewal reaches the server.
func FixedLease() Option {
	return func(o *Options) { o.FixedLease = true }
}

// NodeTimeout bounds one command to one node of a lock on several nodes. The
// default is a twentieth of the lease. Locks on one node ignore it.
func NodeTimeout(d time.Duration) Option {
	return func(o *Options) { o.NodeTimeout = d }
}

// Parallel makes a lock on several nodes ask all of them at once. Waiters then
// split the nodes among themselves, so that nobody has a majority: the pause
// between two attempts becomes ten times as wide. Locks on one node ignore it.
func Parallel() Option {
	return func(o *Options) { o.Parallel = true }
}

// Clock sets the client's clock, for a lock that writes its own deadline.
func Clock(now func() time.Time) Option {
	return func(o *Options) { o.Now = now }
}

// Tokens sets the source of owner tokens, for reproducible runs. It must never
// return the same token twice, not even to two clients.
func Tokens(next func() string) Option {
	return func(o *Options) { o.Token = next }
}

// Seed makes the jitter reproducible.
func Seed(seed uint64) Option {
	return func(o *Options) {
		o.below = rand.New(rand.NewPCG(seed, seed)).Int64N
	}
}

// Configure checks what a constructor was given and applies the options. Its
// errors wrap ErrInvalid.
func Configure(nodes []redis.UniversalClient, key string, ttl time.Duration,
	opts []Option) (*Options, error) {
	if key == "" {
		return nil, invalid("the key is empty, a lock needs a name")
	}
	if ttl < time.Millisecond {
		return nil, invalid("the ttl is %v, Redis needs at least 1ms", ttl)
	}
	// Redis would get less than the deadline that the client counts to.
	if ttl%time.Millisecond != 0 {
		return nil, invalid("the ttl is %v, Redis counts whole milliseconds",
			ttl)
	}
	if len(nodes) == 0 {
		return nil, invalid("there are no nodes, a lock needs at least one")
	}
	for i, node := range nodes {
		if v := reflect.ValueOf(node); !v.IsValid() ||
			v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, invalid("client %d of %d is nil", i+1, len(nodes))
		}
		for j, other := range nodes[:i] {
			switch server := address(node); {
			case same(node, other):
				return nil, invalid("client %d is client %d again, a majority needs"+
					" independent nodes", i+1, j+1)
			case server != "" && server == address(other):
				return nil, invalid("client %d uses the server of client %d, %s: a"+
					" majority needs independent nodes", i+1, j+1, server)
			}
		}
	}
	o := &Options{
		Now:         time.Now,
		Token:       uuid.NewString,
		NodeTimeout: max(ttl/20, time.Millisecond),
		poll:        DefaultPoll,
		below:       rand.Int64N,
	}
	for _, set := range opts {
		if set == nil {
			return nil, invalid("an option is nil")
		}
		set(o)
	}
	if o.poll <= 0 {
		return nil, invalid("the poll interval is %v, it must be positive",
			o.poll)
	}
	if o.NodeTimeout <= 0 {
		return nil, invalid("the node timeout is %v, it must be positive",
			o.NodeTimeout)
	}
	if o.NodeTimeout > ttl {
		return nil, invalid("the node timeout is %v, it must not exceed the ttl"+
			" of %v", o.NodeTimeout, ttl)
	}
	if o.Now == nil || o.Token == nil {
		return nil, invalid("the clock or the source of tokens is nil")
	}
	return o, nil
}

// CanSubscribe checks that a lock whose waiters share one subscription for each
// client can do so with this one. Its error wraps ErrInvalid.
func CanSubscribe(rdb redis.UniversalClient) error {
	if _, ok := rdb.(*redis.Ring); ok {
		return invalid("a *redis.Ring can't subscribe to a lock's channel:" +
			" pass the shard's own client")
	}
	if !reflect.ValueOf(rdb).Comparable() {
		return invalid("a %T can't be told from another one: pass a pointer",
			rdb)
	}
	return nil
}

// same says whether two clients are the very same one.
func same(a, b redis.UniversalClient) bool {
	v, o := reflect.ValueOf(a), reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && o.Kind() == reflect.Pointer &&
		v.Pointer() == o.Pointer()
}

// address is the server of a client that dials by go-redis's own dialer, "" of
// others: an application's dialer may go anywhere.
func address(rdb redis.UniversalClient) string {
	c, ok := rdb.(interface{ Options() *redis.Options })
	if !ok {
		return ""
	}
	o := c.Options()
	dialer := runtime.FuncForPC(reflect.ValueOf(o.Dialer).Pointer())
	if !strings.Contains(dialer.Name(), ".NewDialer.") {
		return ""
	}
	return o.Addr
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// pause is the time to wait before the next attempt: the longest one, or with
// full jitter anything between nothing and that.
func (o *Options) pause() time.Duration {
	longest := o.poll
	if o.Parallel {
		longest = min(longest, math.MaxInt64/10) * 10
	}
	if o.fixedPoll {
		return longest
	}
	return time.Duration(o.below(int64(longest)) + 1)
}
