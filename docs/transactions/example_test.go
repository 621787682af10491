package transactions

import (
	"os"

	"github.com/alicebob/miniredis/v2"
)

// onMiniredis tells a transcript to a server within this process.
func onMiniredis(script func(*Session)) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	s := NewSession(server.Addr(), os.Stdout)
	s.wait = server.FastForward
	defer s.Close()
	script(s)
}

func ExampleQueued() {
	onMiniredis(Queued)

	// Output:
	// A> MULTI
	// OK
	// A> SET stock 100
	// QUEUED
	// A> DECR stock
	// QUEUED
	// B> GET stock
	// (nil)
	// A> EXEC
	// 1) OK
	// 2) (integer) 99
	// B> GET stock
	// 99
}

func ExampleDiscarded() {
	onMiniredis(Discarded)

	// Output:
	// A> SET stock 100
	// OK
	// A> MULTI
	// OK
	// A> SET stock 0
	// QUEUED
	// A> DISCARD
	// OK
	// A> GET stock
	// 100
}

func ExampleQueueTimeError() {
	onMiniredis(QueueTimeError)

	// Output:
	// A> MULTI
	// OK
	// A> SET stock 100
	// QUEUED
	// A> SET sold
	// (error) ERR wrong number of arguments for 'set' command
	// A> EXEC
	// (error) EXECABORT Transaction discarded because of previous errors.
	// A> GET stock
	// (nil)
}

func ExampleUnknownCommand() {
	onMiniredis(UnknownCommand)

	// Output:
	// A> MULTI
	// OK
	// A> SET stock 100
	// QUEUED
	// A> SETT stock 99
	// (error) ERR unknown command `SETT`, with args beginning with: `stock`, `99`,
	// A> EXEC
	// 1) OK
	// A> GET stock
	// 100
}

func ExampleRunTimeError() {
	onMiniredis(RunTimeError)

	// Output:
	// A> SET name goods
	// OK
	// A> MULTI
	// OK
	// A> SET stock 100
	// QUEUED
	// A> INCR name
	// QUEUED
	// A> DECR stock
	// QUEUED
	// A> EXEC
	// 1) OK
	// 2) (error) ERR value is not an integer or out of range
	// 3) (integer) 99
	// A> GET stock
	// 99
	// A> GET name
	// goods
}

func ExampleClerks() {
	onMiniredis(Clerks)

	// Output:
	// shop> SET stock 0
	// OK
	// A> WATCH stock
	// OK
	// A> GET stock
	// 0
	// B> WATCH stock
	// OK
	// B> GET stock
	// 0
	// C> WATCH stock
	// OK
	// C> GET stock
	// 0
	// D> WATCH stock
	// OK
	// D> GET stock
	// 0
	// A> MULTI
	// OK
	// A> INCRBY stock 100
	// QUEUED
	// A> EXEC
	// 1) (integer) 100
	// B> MULTI
	// OK
	// B> INCRBY stock 100
	// QUEUED
	// B> EXEC
	// (nil)
	// C> MULTI
	// OK
	// C> INCRBY stock 100
	// QUEUED
	// C> EXEC
	// (nil)
	// D> MULTI
	// OK
	// D> INCRBY stock 100
	// QUEUED
	// D> EXEC
	// (nil)
	// shop> GET stock
	// 100
}

func ExampleUnwatched() {
	onMiniredis(Unwatched)

	// Output:
	// A> SET stock 100
	// OK
	// A> WATCH stock
	// OK
	// B> DECR stock
	// (integer) 99
	// A> UNWATCH
	// OK
	// A> MULTI
	// OK
	// A> DECR stock
	// QUEUED
	// A> EXEC
	// 1) (integer) 98
}

func ExampleSameValue() {
	onMiniredis(SameValue)

	// Output:
	// A> SET stock 1
	// OK
	// A> WATCH stock
	// OK
	// B> SET stock 1
	// OK
	// A> MULTI
	// OK
	// A> DECR stock
	// QUEUED
	// A> EXEC
	// (nil)
}

func ExampleLockedByHand() {
	onMiniredis(LockedByHand)

	// Output:
	// A> SET lock:stock locked NX
	// OK
	// B> SET lock:stock locked NX
	// (nil)
	// A> DEL lock:stock
	// (integer) 1
	// B> SET lock:stock locked NX
	// OK
}

func ExampleLeasedByHand() {
	onMiniredis(LeasedByHand)

	// Output:
	// A> SET lock:stock locked NX PX 2000
	// OK
	// B> SET lock:stock locked NX PX 2000
	// (nil)
	// B> TTL lock:stock
	// (integer) 2
	// (1s later)
	// B> TTL lock:stock
	// (integer) 1
	// (1.1s later)
	// B> TTL lock:stock
	// (integer) -2
	// B> SET lock:stock locked NX PX 2000
	// OK
}

func ExampleRolledBack() {
	onMiniredis(RolledBack)

	// Output:
	// A> SET price 100 EX 60
	// OK
	// A> SET note none
	// OK
	// A> GET price
	// 100
	// A> TTL price
	// (integer) 60
	// A> MULTI
	// OK
	// A> SET price 90
	// QUEUED
	// A> INCR note
	// QUEUED
	// A> EXEC
	// 1) OK
	// 2) (error) ERR value is not an integer or out of range
	// A> TTL price
	// (integer) -1
	// A> SET price 100 EX 60
	// OK
	// A> TTL price
	// (integer) 60
}
