package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryRoundIsALineForBenchstat(t *testing.T) {
	row := fullRow()
	row.Rung = "reentrant/notify"
	row.Rounds = append(row.Rounds, Round{Seconds: 2, Sections: 1000})
	single := fullRow()
	single.Rounds = nil
	none := Row{Rung: "bronze", Rounds: []Round{{Seconds: 30}}}
	var out strings.Builder
	require.NoError(t, WriteBenchstat(Report{Env: Env{OS: "linux",
		Arch: "amd64"}, Rows: []Row{row, single, none}}, &out))
	assert.Equal(t, `goos: linux
goarch: amd64
pkg: github.com/lockladder/lockladder/bench
BenchmarkInventory/rung=reentrant.notify/clients=1000/poll=1000ms 1000 1250000 ns/op 800 acquisitions/s 0.11 times-serial 512.25 wait-p50-ms
BenchmarkInventory/rung=reentrant.notify/clients=1000/poll=1000ms 1000 2000000 ns/op
BenchmarkInventory/rung=gold/clients=1000/poll=1000ms 1000 1250000 ns/op 800 acquisitions/s 0.11 times-serial 512.25 wait-p50-ms
`, out.String())
}
