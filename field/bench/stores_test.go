package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/terminal"
	"github.com/lockladder/lockladder/lock"
)

// needStores skips the test where a server is missing, unless stores are asked
// for.
func needStores(t *testing.T) {
	t.Helper()
	for _, missing := range []error{servers.Installed(), stores.HasMariaDB(),
		stores.HasZooKeeper(), stores.HasEtcd()} {
		if missing != nil && os.Getenv("LOCKLADDER_STORES") != "" {
			t.Fatalf("LOCKLADDER_STORES asks for stores: %v", missing)
		}
		if missing != nil {
			t.Skip(missing)
		}
	}
}

func TestEveryStoresRowIsMeasured(t *testing.T) {
	needStores(t)
	var names []string
	for _, store := range storeRows {
		names = append(names, store.Name)
	}
	file := filepath.Join(t.TempDir(), "bench.json")
	status, out, complaint := run(t, "-redis", "auto", "-clients", "3",
		"-rounds", "1", "-json", file, "-rungs", strings.Join(names, ","))
	require.Equal(t, terminal.OK, status, complaint)
	assert.NotContains(t, out, "Not measured")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var report bench.Report
	require.NoError(t, json.Unmarshal(content, &report))
	require.Len(t, report.Rows, len(storeRows))
	for i, row := range report.Rows {
		assert.Equal(t, names[i], row.Name())
		assert.True(t, row.Finished(), row.Name())
		assert.Zero(t, row.Value("failures"), "%s: %v", row.Name(), row.Value("first_failure"))
		assert.EqualValues(t, 3, row.Value("sections"), row.Name())
		assert.EqualValues(t, 3, row.Value("sold"), row.Name())
		assert.Zero(t, row.Value("oversold"), row.Name())
		require.NotNil(t, row.Value("left"), row.Name())
		if strings.HasPrefix(row.Name(), "mysql/optimistic") {
			assert.Nil(t, row.Value("max_holders"), row.Name())
			assert.NotNil(t, row.Value("retries"), row.Name())
		} else {
			assert.EqualValues(t, 1, row.Value("max_holders"), row.Name())
		}
		if row.Name() == "mysql/optimistic-timestamp" {
			// Two clients that sell within one second may sell the same unit.
			assert.Equal(t, row.Count("left")-97, row.Count("lost_updates"))
		} else {
			assert.Equal(t, 97, row.Count("left"), row.Name())
			assert.Zero(t, row.Value("lost_updates"), row.Name())
		}
	}
}

func row(t *testing.T, name string) bench.Subject {
	t.Helper()
	subjects, err := bench.Select(storeRows, name)
	require.NoError(t, err)
	return subjects[0]
}

// The pause of MySQL's polling rows is -poll's, or their own.
func TestMySQLsRowsWaitAsLongAsTheTableSays(t *testing.T) {
	for _, name := range []string{"mysql/record", "mysql/lease"} {
		assert.Equal(t, askEvery, bench.Settings{}.Pause(row(t, name), false))
	}
	assert.Equal(t, 7*time.Millisecond, pause(lock.Env{Options: []lock.Option{
		lock.PollEvery(7 * time.Millisecond)}}))
}

func TestAnInterruptEndsTheStartOfAServer(t *testing.T) {
	needStores(t)
	for _, name := range []string{"mysql/record", "zookeeper/basic", "etcd"} {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		_, _, err := row(t, name).Share(ctx)
		assert.ErrorIs(t, err, context.Canceled, name)
	}
}
