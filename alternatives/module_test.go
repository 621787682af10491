// Package alternatives_test holds the nested module to its purpose.
package alternatives_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who learns from the ladder need not download what it is compared with.
func TestTheLaddersModuleDoesNotRequireTheLibraries(t *testing.T) {
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		for _, library := range []string{"go-redsync/", "bsm/redislock",
			"redis/rueidis"} {
			assert.NotContains(t, string(content), library, file)
		}
	}
}
