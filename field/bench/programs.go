package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/field/programs"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
	"github.com/lockladder/lockladder/scenarios/protocol"
)

// workloads are the rows of the programs that sell.
func workloads() []bench.Subject {
	_, here, _, _ := runtime.Caller(0)
	folder := filepath.Join(filepath.Dir(here), "..", "programs")
	var rows []bench.Subject
	for _, p := range programs.Programs {
		if p.Workload == nil {
			continue
		}
		rows = append(rows, bench.Subject{Name: p.Name, Kind: bench.Alternative,
			Nodes: p.Nodes, OnlyReal: true, MostSections: protocol.MostSections,
			Missing: func() error { return installed(folder, p) },
			Sell: func(ctx context.Context, a bench.Assignment) (bench.Counts, error) {
				return sell(ctx, p.WorkloadIn(folder), a)
			}})
	}
	return rows
}

// installed says what to do where a program is not installed.
func installed(folder string, p programs.Program) error {
	if _, err := os.Stat(filepath.Join(folder, p.Dir, p.Makes)); err != nil {
		return fmt.Errorf("it is not installed: (cd programs/%s && %s)", p.Dir, p.Install)
	}
	return nil
}

// sell has a program sell the stock.
func sell(ctx context.Context, args []string, a bench.Assignment) (part bench.Counts,
	err error) {
	env := lock.Env{Key: a.Lock, TTL: a.TTL}
	for _, address := range a.Addresses {
		rdb := redis.NewClient(&redis.Options{Addr: address, Password: a.Password})
		defer func() { err = errors.Join(err, rdb.Close()) }() // it was never dialed
		env.Nodes = append(env.Nodes, rdb)
	}
	p := protocol.New(args...)
	defer p.Close()
	sold, err := p.Sell(ctx, env, protocol.Workload{Stock: a.Stock, Owners: a.Clients,
		Turns: a.Turns, Poll: a.Poll})
	if err != nil {
		return part, err
	}
	part = bench.Counts{Sections: int64(len(sold.Sections)), Bought: sold.Bought,
		Failures: sold.Failures, First: sold.Text}
	for _, times := range sold.Sections {
		stamp := bench.Stamp{Asked: times[0] * 1000, Entered: times[1] * 1000,
			Left: times[2] * 1000}
		part.Stamps = append(part.Stamps, stamp)
		part.Took = max(part.Took, time.Duration(stamp.Left))
	}
	part.Most = bench.MostInside(part.Stamps)
	return part, nil
}
