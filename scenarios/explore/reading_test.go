package explore

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
)

// A lock without a read side has no such programs.
func TestAProgramForReadersNeedsALockWithReaders(t *testing.T) {
	gold, err := ladder.Find("gold")
	require.NoError(t, err)
	for _, program := range []Program{Read, Downgrade} {
		_, err := explore(t, gold.Build, Bounds{Programs: []Program{program}}, true,
			search)
		assert.ErrorContains(t, err, "the program "+string(program)+
			" needs a lock.ReadWrite")
	}
}
