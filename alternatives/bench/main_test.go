package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/internal/benchmark/command"
)

// told runs the program and returns what it says.
func told(t *testing.T, args ...string) (status int, out, complaint string) {
	var stdout, stderr bytes.Buffer
	status = program().Run(t.Context(), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestOneTableHasRungsAndLibraries(t *testing.T) {
	status, out, _ := told(t, "-clients", "3")
	assert.Equal(t, command.OK, status)
	for _, row := range []string{"\nserial-limit", "\nreentrant/fenced",
		"\nredsync ", "\nredsync-5 ", "\nredislock ", "\nlua-decrement"} {
		assert.Contains(t, out, row)
	}
	assert.Contains(t, out, "Not measured: rueidislock, rueidislock-3,"+
		" rueidislock-1, mysql/record, mysql/lease, mysql/pessimistic,"+
		" zookeeper/basic, zookeeper/sequential, etcd; they need a real server")
}

func TestBadArgumentsAreRefusedWithOneLine(t *testing.T) {
	for _, args := range [][]string{
		{"-clients", "0"},
		{"-stock", "-1"},
		{"-ttl", "1us"},
		{"-rungs", "redsink"},
		{"-rungs", "rueidislock"}, // not on the embedded servers
		{"-redis", "nowhere"},
		{"-nonsense"},
		{"more"},
	} {
		status, out, complaint := told(t, args...)
		assert.Equal(t, command.Usage, status, args)
		assert.Empty(t, out, args)
		assert.Regexp(t, `^bench: [^\n]+\(-help lists the flags\)\n$`, complaint)
	}
}

func TestAnUnreachableServerIsNamed(t *testing.T) {
	status, _, complaint := told(t, "-redis", "127.0.0.1:1", "-rungs", "gold")
	assert.Equal(t, command.Failed, status)
	assert.Regexp(t, `^bench: [^\n]*127\.0\.0\.1:1[^\n]+\n$`, complaint)
}
