package transactions

import "time"

// Queued shows that commands wait for EXEC, and that others see nothing of them
// until then.
func Queued(s *Session) {
	a, b := s.Client("A"), s.Client("B")
	a.Say("MULTI")
	a.Say("SET stock 100")
	a.Say("DECR stock")
	b.Say("GET stock")
	a.Say("EXEC")
	b.Say("GET stock")
}

// Discarded shows a transaction that is given up before EXEC.
func Discarded(s *Session) {
	a := s.Client("A")
	a.Say("SET stock 100")
	a.Say("MULTI")
	a.Say("SET stock 0")
	a.Say("DISCARD")
	a.Say("GET stock")
}

// QueueTimeError shows a command that the server can't even queue, because a
// word is missing: nothing of the transaction is executed.
func QueueTimeError(s *Session) {
	a := s.Client("A")
	a.Say("MULTI")
	a.Say("SET stock 100")
	a.Say("SET sold")
	a.Say("EXEC")
	a.Say("GET stock")
}

// UnknownCommand shows a command that no server knows. Redis and miniredis
// differ here.
func UnknownCommand(s *Session) {
	a := s.Client("A")
	a.Say("MULTI")
	a.Say("SET stock 100")
	a.Say("SETT stock 99")
	a.Say("EXEC")
	a.Say("GET stock")
}

// RunTimeError shows a command that fails when it is executed: those before it
// and those after it stay done. There is no rollback.
func RunTimeError(s *Session) {
	a := s.Client("A")
	a.Say("SET name goods")
	a.Say("MULTI")
	a.Say("SET stock 100")
	a.Say("INCR name")
	a.Say("DECR stock")
	a.Say("EXEC")
	a.Say("GET stock")
	a.Say("GET name")
}

// Clerks shows four clerks who all see that the goods are sold out, and of whom
// one restocks.
func Clerks(s *Session) {
	var clerks []*Client
	s.Client("shop").Say("SET stock 0")
	for _, name := range []string{"A", "B", "C", "D"} {
		clerks = append(clerks, s.Client(name))
	}
	for _, clerk := range clerks {
		clerk.Say("WATCH stock")
		clerk.Say("GET stock")
	}
	for _, clerk := range clerks {
		clerk.Say("MULTI")
		clerk.Say("INCRBY stock 100")
		clerk.Say("EXEC")
	}
	s.Client("shop").Say("GET stock")
}

// Unwatched shows a client that no longer cares whether the key was changed.
func Unwatched(s *Session) {
	a, b := s.Client("A"), s.Client("B")
	a.Say("SET stock 100")
	a.Say("WATCH stock")
	b.Say("DECR stock")
	a.Say("UNWATCH")
	a.Say("MULTI")
	a.Say("DECR stock")
	a.Say("EXEC")
}

// SameValue shows that WATCH looks for writes and not for values: the stock is
// what it was, and still somebody has been there.
func SameValue(s *Session) {
	a, b := s.Client("A"), s.Client("B")
	a.Say("SET stock 1")
	a.Say("WATCH stock")
	b.Say("SET stock 1")
	a.Say("MULTI")
	a.Say("DECR stock")
	a.Say("EXEC")
}

// LockedByHand shows that SET with NX creates a key once.
func LockedByHand(s *Session) {
	a, b := s.Client("A"), s.Client("B")
	a.Say("SET lock:stock locked NX")
	b.Say("SET lock:stock locked NX")
	a.Say("DEL lock:stock")
	b.Say("SET lock:stock locked NX")
}

// LeasedByHand shows a lease that ends.
func LeasedByHand(s *Session) {
	a, b := s.Client("A"), s.Client("B")
	a.Say("SET lock:stock locked NX PX 2000")
	b.Say("SET lock:stock locked NX PX 2000")
	b.Say("TTL lock:stock")
	s.Wait(time.Second)
	b.Say("TTL lock:stock")
	s.Wait(1100 * time.Millisecond)
	b.Say("TTL lock:stock")
	b.Say("SET lock:stock locked NX PX 2000")
}

// RolledBack shows a rollback by hand: the old value, and its old TTL.
func RolledBack(s *Session) {
	a := s.Client("A")
	a.Say("SET price 100 EX 60")
	a.Say("SET note none")
	a.Say("GET price")
	a.Say("TTL price")
	a.Say("MULTI")
	a.Say("SET price 90")
	a.Say("INCR note")
	a.Say("EXEC")
	a.Say("TTL price")
	a.Say("SET price 100 EX 60")
	a.Say("TTL price")
}
