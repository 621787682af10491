package main

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/benchmark/command"
)

func TestALeaseIsSizedByWhatWasMeasured(t *testing.T) {
	status, out, errs := bench(t.Context(), "-size-ttl")
	assert.Equal(t, command.OK, status)
	assert.Contains(t, out, "work (GET, DECR)")
	assert.Regexp(t, `the lease +\d+`, out)
	assert.Empty(t, errs)
}

func TestSizingGoesWithAServerOnly(t *testing.T) {
	status, out, errs := bench(t.Context(), "-size-ttl", "-clients", "3")
	assert.Equal(t, command.Usage, status)
	oneLineOnly(t, errs, "-clients does not go with it")
	assert.Empty(t, out)
}

func TestAnInterruptedSizingPrintsWhatWasMeasured(t *testing.T) {
	redis := miniredis.RunT(t)
	ctx, cancel := context.WithCancel(t.Context())
	onCommand(redis, "DECR", 20, cancel)
	status, out, errs := bench(ctx, "-size-ttl", "-redis", redis.Addr())
	assert.Equal(t, command.Failed, status)
	assert.Regexp(t, `One client, (19|20) times each:`, out)
	assert.Regexp(t, `the lease +\d+`, out)
	oneLineOnly(t, errs, "interrupted")
	assert.Empty(t, redis.Keys())
}
