package bench_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockladder/lockladder/internal/bench"
)

func TestZZ(t *testing.T) {
	servers, down, err := bench.Open(t.Context(), "auto", 1, bench.Config{Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer down(t.Context())
	r := &bench.Runner{Servers: servers, Settings: bench.Settings{Clients: 1, Ops: 15000, Stock: 1000000, TTL: bench.DefaultTTL, Timeout: time.Hour, Grace: time.Minute}}
	row, err := r.Measure(t.Context(), subject(t, os.Getenv("ROW")))
	fmt.Println(os.Getenv("ROW"), row.Show("acquisitions_per_second", 0), row.Show("cpu_us_per_section.clients", 1), row.Show("cpu_us_per_section.server", 1), err)
}
