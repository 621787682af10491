package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestALeaseIsSizedByWhatWasMeasured(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, ok, run(t.Context(), []string{"-size-ttl"}, &out, &errs))
	assert.Contains(t, out.String(), "work (GET, DECR)")
	assert.Regexp(t, `the lease +\d+`, out.String())
	assert.Empty(t, errs.String())
}

func TestSizingGoesWithAServerOnly(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, usage, run(t.Context(), []string{"-size-ttl", "-clients",
		"3"}, &out, &errs))
	assert.Contains(t, errs.String(), "-clients does not go with it")
	assert.Equal(t, 1, bytes.Count(errs.Bytes(), []byte("\n")))
	assert.Empty(t, out.String())
}
