package mysql_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/alternatives/mysql"
)

// Two have read before either writes: the version refuses one of them, and a time
// within one second refuses none.
func TestAClientThatComesTooLateHasNotTaken(t *testing.T) {
	server := start(t)
	for name, accepts := range map[string]bool{"version": false,
		"timestamp": true} {
		t.Run(name, func(t *testing.T) {
			db := open(t, server)
			db.SetMaxOpenConns(1)
			_, err := db.Exec("SET timestamp = 1700000000")
			require.NoError(t, err)
			by := mysql.ByVersion
			if name == "timestamp" {
				by = mysql.ByTimestamp
			}
			ctx := context.Background()
			late := mysql.NewOptimistic(db, name, by)
			require.NoError(t, late.Fill(ctx, 10))
			late.Between = func() {
				accepted, taken, err := mysql.NewOptimistic(db, name,
					by).Attempt(ctx)
				assert.NoError(t, err)
				assert.True(t, accepted && taken)
			}
			accepted, taken, err := late.Attempt(ctx)
			require.NoError(t, err)
			assert.Equal(t, accepts, accepted)
			assert.Equal(t, accepts, taken)
			left, err := late.Left(ctx)
			require.NoError(t, err)
			assert.Equal(t, 9, left, "of 10; with a time two were sold")

			late.Between = nil
			require.NoError(t, late.Fill(ctx, 0))
			accepted, taken, err = late.Attempt(ctx)
			require.NoError(t, err)
			assert.True(t, accepted, "nothing was to be taken")
			assert.False(t, taken)
		})
	}
}
