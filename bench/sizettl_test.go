package main

import (
	"testing"

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
