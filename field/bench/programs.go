package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/lockladder/lockladder/field/programs"
	"github.com/lockladder/lockladder/internal/bench"
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
			Sell:    bench.Sells(p.WorkloadIn(folder))})
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
