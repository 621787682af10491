// Bench prints the ladder's table with the libraries that people use in it: the
// same job, in one run.
//
//	go run ./bench
//	go run ./bench -clients 100 -rungs serial-limit,diamond/watchdog,redislock
//	go run ./bench -redis 127.0.0.1:6379
//
// With -redis the locks in other stores are measured too, each on a server that
// is started for its row: MariaDB, ZooKeeper, etcd.
//
// rueidislock needs client-side caching, which the embedded servers do not have;
// with -redis it is measured too. It exits with 0 when every row was measured, 2
// when it was not understood, and 1 after any other failure or an interrupt.
package main

import (
	"github.com/lockladder/lockladder/alternatives/libraries"
	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/benchmark/command"
	"github.com/lockladder/lockladder/internal/ladder"
)

func main() { program().Main() }

func program() command.Command {
	var all []benchmark.Subject
	for _, rung := range ladder.Rungs {
		all = append(all, benchmark.Subject{
			Name:  rung.Name,
			Kind:  benchmark.Rung,
			Nodes: rung.Nodes,
			Build: rung.Build,
		})
	}
	for _, library := range libraries.Libraries {
		subject := benchmark.Subject{
			Name:  library.Name,
			Kind:  benchmark.Alternative,
			Nodes: library.Nodes,
			Build: library.Build,
		}
		if library.Share != nil {
			// It brings its own connection, which nobody counts.
			subject.Nodes, subject.OnlyReal = 0, true
			subject.Build, subject.Share = nil, library.Share
		}
		all = append(all, subject)
	}
	for _, store := range stores {
		all = append(all, store.row())
	}
	return command.Command{
		Intro: "Sells a stock to many clients, behind every rung of the ladder " +
			"and the locks of\npopular libraries, and prints what that did and " +
			"what it cost.",
		Note:     "Libraries wait between attempts as they do by default.",
		Subjects: benchmark.Around(all...),
	}
}
