package transactions

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/internal/servers/serverstest"
)

var transcripts = []struct {
	name   string
	script func(*Session)

	// differs names a file in testdata with what Redis answers, where it is not
	// what miniredis answers.
	differs string
}{
	{"Queued", Queued, ""},
	{"Discarded", Discarded, ""},
	{"QueueTimeError", QueueTimeError, ""},
	{"UnknownCommand", UnknownCommand, "unknown.txt"},
	{"RunTimeError", RunTimeError, ""},
	{"Clerks", Clerks, ""},
	{"Unwatched", Unwatched, ""},
	{"SameValue", SameValue, ""},
	{"LockedByHand", LockedByHand, ""},
	{"LeasedByHand", LeasedByHand, ""},
	{"RolledBack", RolledBack, ""},
}

// The examples run on miniredis. Redis says the same, or what the page says.
func TestRedisAnswersAsThePageSays(t *testing.T) {
	serverstest.Need(t)
	for _, c := range transcripts {
		t.Run(c.name, func(t *testing.T) {
			real, err := servers.StartRedis(t.Context())
			require.NoError(t, err)
			defer real.Stop()
			want := recorded(t, c.script, func(out io.Writer) *Session {
				server := miniredis.RunT(t)
				s := NewSession(server.Addr(), out)
				s.wait = server.FastForward
				return s
			})
			got := recorded(t, c.script, func(out io.Writer) *Session {
				return &Session{rdb: real.Client(), out: out} // with the password
			})
			if c.differs == "" {
				assert.Equal(t, want, got)
				return
			}
			assert.NotEqual(t, want, got, "the page says that they differ")
			said, err := os.ReadFile(filepath.Join("testdata", c.differs))
			require.NoError(t, err)
			assert.Equal(t, string(said), got)
		})
	}
}

func recorded(t *testing.T, script func(*Session),
	on func(io.Writer) *Session) string {
	var b bytes.Buffer
	s := on(&b)
	defer func() { require.NoError(t, s.Close()) }()
	script(s)
	return b.String()
}
