package cohort

import "github.com/lockladder/lockladder/lock"

// keys are the lock, its queue, its turn, which is also a channel, its waiters,
// and the counter of its fencing tokens.
func (l *Lock) keys() []string {
	return []string{l.key, lock.SecondKey(l.key, "queue"), channel(l.key),
		lock.SecondKey(l.key, "waiters"), lock.SecondKey(l.key, "token")}
}

// channel is where the turns of a lock are told.
func channel(key string) string { return lock.SecondKey(key, "turn") }
