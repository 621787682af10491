package command

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// stores is a program with rows whose servers are their own. The error, if there
// is one, keeps two of them from being measured.
func stores(missing error) Command {
	row := func(name string) benchmark.Subject {
		return benchmark.Subject{Name: name, OnlyReal: true, OwnServer: true,
			Missing: func() error { return missing }}
	}
	other := row("other")
	other.Missing = nil
	other.Lease = func(time.Duration) time.Duration { return 10 * time.Second }
	return Command{Locks: []benchmark.Subject{row("store/a"), row("store/b"),
		other}}
}

// left parses the arguments, and returns the names of the rows that are left and
// the note about the others.
func left(t *testing.T, c Command, args ...string) (rows []string,
	said string, err error) {
	t.Helper()
	s, _, err := c.parse(append(args, "-redis", "127.0.0.1:1"), io.Discard)
	if err == nil {
		err = s.installed()
	}
	if err != nil {
		return nil, "", err
	}
	for _, subject := range s.subjects {
		if subject.OwnServer {
			rows = append(rows, subject.Name)
		}
	}
	return rows, s.notMeasured(), nil
}

func TestEveryRowIsMeasuredWhenNothingIsMissing(t *testing.T) {
	t.Setenv(storesVariable, "1")
	rows, said, err := left(t, stores(nil))
	require.NoError(t, err)
	assert.Equal(t, []string{"store/a", "store/b", "other"}, rows)
	assert.Empty(t, said)
}

func TestARowWhoseProgramIsMissingIsLeftOutAndNamed(t *testing.T) {
	t.Setenv(storesVariable, "")
	rows, said, err := left(t, stores(errors.New("stored is not installed")))
	require.NoError(t, err)
	assert.Equal(t, []string{"other"}, rows)
	assert.Equal(t, "Not measured: store/a, store/b (stored is not"+
		" installed).\n", said)
}

func TestACallerThatNamesARowOrAsksForAllStoresIsToldWhatIsMissing(t *testing.T) {
	t.Setenv(storesVariable, "")
	missing := stores(errors.New("stored is not installed"))
	_, _, err := left(t, missing, "-rungs", "no-lock,store/b")
	assert.EqualError(t, err, "-rungs: store/b: stored is not installed")
	_, _, err = left(t, missing, "-rungs", "no-lock")
	assert.NoError(t, err, "nobody asked for it")

	t.Setenv(storesVariable, "1")
	_, _, err = left(t, missing)
	assert.EqualError(t, err,
		"LOCKLADDER_STORES asks for stores: stored is not installed")
}

func TestARowIsLeftOutWhereItWouldNotMeanWhatTheFlagsSay(t *testing.T) {
	for _, c := range []struct {
		args []string
		rows []string
		said string
	}{
		{[]string{"-services", "2"}, nil, "Not measured: store/a, store/b," +
			" other (the server started for the row is one process's, not with" +
			" -services).\n"},
		{[]string{"-crash", "0.1"}, nil, "Not measured: store/a, store/b," +
			" other (who crashes has connections of its own, and here it would" +
			" be a server of its own, not with -crash).\n"},
		{[]string{"-ttl", "3s"}, []string{"store/a", "store/b"},
			"Not measured: other (its lease is 10s, whatever -ttl says).\n"},
		{[]string{"-overrun", "0.1"}, []string{"store/a", "store/b"},
			"Not measured: other (its lease is 10s, whatever -ttl says).\n"},
		{[]string{"-overrun", "0.1", "-ttl", "10s"},
			[]string{"store/a", "store/b", "other"}, ""},
	} {
		rows, said, err := left(t, stores(nil), c.args...)
		require.NoError(t, err, c.args)
		assert.Equal(t, c.rows, rows, c.args)
		assert.Equal(t, c.said, said, c.args)
	}
	_, _, err := left(t, stores(nil), "-crash", "0.1", "-rungs", "other,store/a")
	assert.ErrorContains(t, err, "-rungs: store/a, other: who crashes has")
}
