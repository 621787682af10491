// Bench sells a stock to many clients that take one lock after the other: once
// behind every rung of the ladder, and behind the baselines around them.
//
//	go run ./bench
//	go run ./bench -clients 100 -rungs serial-limit,gold,redlock
//	go run ./bench -redis 127.0.0.1:6379 -json bench.json
//
// A lock in any language can be a row, and a run can be compared with an earlier one:
//
//	go run ./bench -redis auto -program 'python3 lock.py'
//	go run ./bench -redis auto -against bench.json
//
// It exits with 0 when every row was measured, 2 when it was not understood, 130
// after an interrupt, and 1 after any other failure.
package main

import (
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/command"
)

func main() { program().Main() }

func program() command.Command {
	return command.Command{
		Intro: "Sells a stock to many clients, behind every rung of the ladder " +
			"and the baselines\naround them, and prints what that did and what it cost.",
		Locks: bench.Rungs(),
	}
}
