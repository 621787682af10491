package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/lockladder/lockladder/field/programs"
	"github.com/lockladder/lockladder/internal/terminal"
)

// run runs the program and returns what it says.
func run(t *testing.T, args ...string) (status int, out, complaint string) {
	var stdout, stderr bytes.Buffer
	status = program().Run(t.Context(), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func TestOneTableHasRungsAndLibraries(t *testing.T) {
	status, out, _ := run(t, "-clients", "3")
	assert.Equal(t, terminal.OK, status)
	for _, row := range []string{"\n  serial-limit", "\n  reentrant/fenced",
		"\n  redsync ", "\n  redsync-5 ", "\n  redislock ", "\n  lua-decrement"} {
		assert.Contains(t, out, row)
	}
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "Not measured: rueidislock, rueidislock-3,"+
		" rueidislock-1, mysql/record, mysql/lease, mysql/pessimistic,"+
		" zookeeper/basic, zookeeper/sequential, etcd, mysql/optimistic,"+
		" mysql/optimistic-timestamp (a real server is needed, see -redis).")
}

func TestBadArgumentsAreRefusedWithOneLine(t *testing.T) {
	for _, args := range [][]string{
		{"-rungs", "redsink"},
		{"-rungs", "rueidislock"}, // not on the embedded servers
		{"-redis", "127.0.0.1:1", "-rungs", "zookeeper/basic", "-ttl", "3s"},
		{"-redis", "127.0.0.1:1", "-rungs", "etcd", "-ttl", "200ms"},
		{"-redis", "127.0.0.1:1", "-rungs", "redis-py"}, // without -programs
		{"-redis", "127.0.0.1:1", "-programs", "-rungs", "redis-py", "-loop", "1s"},
		{"-redis", "127.0.0.1:1", "-programs", "-rungs", "redisson", "-rtt", "1ms"},
		{"-redis", "127.0.0.1:1", "-programs", "-rungs", "redisson", "-ops", "3"},
	} {
		status, out, complaint := run(t, args...)
		assert.Equal(t, terminal.Usage, status, args)
		assert.Empty(t, out, args)
		assert.Regexp(t, `^bench: [^\n]+\(-help lists the flags\)\n$`, complaint)
	}
}

func TestAProgramThatIsNotInstalledSaysHowToInstallIt(t *testing.T) {
	p := programs.Program{Dir: "redis-py", Makes: "nothing", Install: "make it"}
	assert.EqualError(t, installed("../programs", p),
		"it is not installed: (cd programs/redis-py && make it)")
	p.Makes = "workload.py"
	assert.NoError(t, installed("../programs", p))
	for _, row := range workloads() {
		assert.NotNil(t, row.Missing, row.Name)
	}
	assert.Len(t, workloads(), 4)
}
