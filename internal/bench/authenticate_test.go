package bench

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestASilentServerIsShownThePasswordUntilTheContextEnds(t *testing.T) {
	for _, c := range []struct {
		patience, takes time.Duration
		err             error
	}{
		{time.Second, time.Second, context.DeadlineExceeded},
		{time.Hour, replyWithin, os.ErrDeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			go io.Copy(io.Discard, far) // ends with near
			defer near.Close()
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			defer cancel()
			began := time.Now()
			err := authenticate(ctx, near, "s3cret")
			assert.ErrorIs(t, err, c.err)
			assert.Equal(t, c.takes, time.Since(began))
		})
	}
}
