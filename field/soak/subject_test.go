package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/ladder"
	"github.com/lockladder/lockladder/internal/locktest/wrong"
	"github.com/lockladder/lockladder/lock"
)

func TestEveryLockIsWhatItsNameSays(t *testing.T) {
	names := []string{"reentrant/cohort-fenced"}
	for _, rung := range ladder.Rungs {
		names = append(names, rung.Name)
	}
	for mistake := range wrong.Soaked {
		names = append(names, "wrong/"+mistake)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			rung, err := findSubject(name)
			require.NoError(t, err)
			env := lock.Env{Key: "k", TTL: time.Second}
			for port := range rung.Nodes {
				rdb := redis.NewClient(&redis.Options{
					Addr: fmt.Sprintf("127.0.0.1:%d", port+1)})
				defer rdb.Close()
				env.Nodes = append(env.Nodes, rdb)
			}
			l, err := rung.Build(env)
			require.NoError(t, err)
			_, fenced := l.(lock.Fenced)
			assert.Equal(t, rung.Fenced, fenced, "it offers fencing tokens")
			_, err = os.Stat(filepath.Join("../..", rung.Page))
			if filepath.Base(rung.Page) != "soak.md" {
				require.NoError(t, err, "its page")
			}
		})
	}
}
