package servers

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAPasswordIsNeverPrinted(t *testing.T) {
	for _, address := range []string{"user:s3cret@127.0.0.1:6379",
		"redis://:s3cret@127.0.0.1:port", "http://:s3cret@h:1", "s3cret"} {
		_, err := parse(address)
		require.ErrorContains(t, err, "redis://user:password@host:port", address)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.NotContains(t, err.Error(), "\n")
	}

	t.Setenv(Variable, "redis://:s3cret@127.0.0.1:6379")
	all := flag.CommandLine
	defer func() { flag.CommandLine = all }()
	var usage bytes.Buffer
	flag.CommandLine = flag.NewFlagSet("a mistyped flag", flag.ContinueOnError)
	flag.CommandLine.SetOutput(&usage)
	asked := Flag()
	flag.CommandLine.PrintDefaults()
	assert.Contains(t, usage.String(), "-redis")
	assert.NotContains(t, usage.String(), "s3cret")

	options, err := parse(*asked)
	require.NoError(t, err)
	assert.Equal(t, "s3cret", options.Password)
}

func TestAServerThatTheLabCannotReachIsRefused(t *testing.T) {
	for address, says := range map[string]string{
		"rediss://127.0.0.1:6379":      "TLS",
		"redis://127.0.0.1:6379/5":     "names database 5",
		"redis://127.0.0.1:6379/?db=5": "names database 5",
	} {
		_, err := parse(address)
		require.ErrorContains(t, err, says, address)
	}
	_, err := parse("redis://127.0.0.1:6379/0")
	require.NoError(t, err)
}

// The sweeper removes the keys that have the run's name.
func TestALimitedPoolKeepsTheNameOfTheRun(t *testing.T) {
	pool := Limited(&Shared{}, 1)
	assert.NotEmpty(t, pool.Run())
	assert.Equal(t, pool.Run(), Limited(pool, 1).Run())
}
