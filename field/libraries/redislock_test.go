package libraries_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/field/libraries"
	"github.com/lockladder/lockladder/internal/lab"
)

// late_grant gives the caller no deadline, and redislock then waits for one lease
// at most. With a later deadline a grant comes through whose lease has ended.
func TestRedislockBelievesALateGrantWhenTheCallerWaitsForIt(t *testing.T) {
	i := slices.IndexFunc(libraries.Libraries, func(l libraries.Library) bool {
		return l.Name == "redislock"
	})
	build := libraries.Libraries[i].Build
	config := lab.Config{Nodes: 1, Key: "stock", TTL: 10 * time.Second}
	require.NoError(t, lab.Run(t, config, func(w *lab.World) {
		a := w.Client("A")
		a.Go(func() {
			warm, err := build(a.Env("warm"))
			assert.NoError(t, err)
			_, err = warm.TryLock(w.Context())
			assert.NoError(t, err)
			l, err := build(a.Env("stock"))
			assert.NoError(t, err)

			ctx, cancel := context.WithTimeout(w.Context(), 15*time.Second)
			defer cancel()
			a.Step("begins", func() {
				w.Record()
				a.Fault(lab.Acquire, 1, lab.Fault{Answer: 12 * time.Second})
				a.Begin(lab.Acquire)
			})
			granted, err := l.TryLock(ctx)
			assert.NoError(t, err)
			assert.True(t, granted)
			assert.GreaterOrEqual(t, w.Now(), 12*time.Second)
			assert.True(t, w.Node(0).Free(), "the lease has ended")
		})
		w.Play()
		assert.Empty(t, w.Failures())
	}))
}
