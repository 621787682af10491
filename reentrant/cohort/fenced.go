package cohort

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// Fenced is a Lock that numbers its holders: each of them, not each cohort, has
// a fencing token of its own. A key that is locked with it must not be locked
// without.
type Fenced struct{ *owner }

// owner is Lock, under a name that its method Lock leaves free.
type owner = Lock

var _ lock.Lock = Fenced{}
var _ lock.LossNotifier = Fenced{}
var _ lock.Fenced = Fenced{}

// NewFenced is New for an owner whose grants have fencing tokens.
func NewFenced(rdb redis.UniversalClient, key string, ttl time.Duration,
	opts ...lock.Option) (Fenced, error) {
	l, err := New(rdb, key, ttl, opts...)
	if err != nil {
		return Fenced{}, err
	}
	l.fenced = true
	return Fenced{l}, nil
}

// Token is the fencing token of the newest grant, 0 before the first. Grants of
// the key have rising tokens; entering once more keeps the token.
func (f Fenced) Token() uint64 { return f.fence }
