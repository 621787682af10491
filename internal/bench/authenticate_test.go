package bench

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestASilentServerIsShownThePasswordUntilTheContextEnds(t *testing.T) {
	for patience, takes := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: replyWithin} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			go io.Copy(io.Discard, far) // ends with near
			defer near.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			began := time.Now()
			assert.Error(t, authenticate(ctx, near, "s3cret"))
			assert.Equal(t, takes, time.Since(began))
		})
	}
}
