// Bench prints the ladder's table with the libraries that people use in it: the
// same job, in one run.
//
//	go run ./bench
//	go run ./bench -clients 100 -rungs serial-limit,diamond/watchdog,redislock
//	go run ./bench -redis 127.0.0.1:6379
//
// With -redis the locks in other stores are measured too, each on a server that
// is started for its row, and a stock in MariaDB that needs no lock. Rows whose
// store is not installed are left out, and named: MariaDB, ZooKeeper, etcd.
//
// With -programs, locks of other languages are measured too, each in a program that
// sells the stock by itself: see programs. Those that are not installed are left out.
//
// rueidislock needs client-side caching, which the embedded servers do not have;
// with -redis it is measured too. It exits as the other one does.
package main

import (
	"context"

	"github.com/lockladder/lockladder/field/libraries"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/bench/command"
	"github.com/lockladder/lockladder/lock"
)

func main() { program().Main() }

func program() command.Command {
	all := bench.Rungs()
	for _, library := range libraries.Libraries {
		subject := bench.Subject{
			Name:  library.Name,
			Kind:  bench.Alternative,
			Nodes: library.Nodes,
			Build: library.Build,
		}
		if library.Share != nil {
			// It brings its own connection, which nobody counts.
			subject.Nodes, subject.OnlyReal = 0, true
			subject.Build = nil
			subject.Share = func(context.Context) (lock.Build, func(), error) {
				build, end := library.Share()
				return build, end, nil
			}
		}
		all = append(all, subject)
	}
	return command.Command{
		Intro: "Sells a stock to many clients, behind every rung of the ladder " +
			"and the locks of\npopular libraries, and prints what that did and " +
			"what it cost.",
		Note: "redsync waits for 50 to 250 ms, its default; redislock for 100 " +
			"ms, as in its example:\nits default is not to wait. mysql/record " +
			"and mysql/lease always wait for as long.",
		Locks:    append(all, storeRows...),
		Programs: workloads(),
	}
}
