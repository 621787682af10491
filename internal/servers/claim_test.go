package servers

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPortIsClaimedWhetherOrNotItsServerRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has names that go with the process")
	}
	port, err := freePort()
	require.NoError(t, err)
	assert.Error(t, claim(port))
}
