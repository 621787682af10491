package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockladder/lockladder/internal/servers/process"
)

// misbehave is the life of this program where it was started as something else than a
// worker. A test that was started itself has what a worker has.
func misbehave() {
	serve("fails", func(*json.Decoder, *json.Encoder) error {
		fmt.Fprintln(os.Stderr, "so far so good")
		return errors.New("out of paper")
	})
	serve("panics", func(*json.Decoder, *json.Encoder) error { panic("on fire") })
	serve("hears nothing", func(*json.Decoder, *json.Encoder) error { select {} })
	serve("listens", func(soak *json.Decoder, say *json.Encoder) error {
		say.Encode(strconv.Itoa(os.Getpid()))
		fmt.Println("this is no answer")
		var word string
		return soak.Decode(&word)
	})
	serve("has two processes", family)
}

// family is a process with two of its own, of which it has paused one. It says their
// numbers and waits to be killed.
func family(_ *json.Decoder, say *json.Encoder) error {
	for _, pauses := range []bool{false, true} {
		p, err := start("listens")
		if err != nil {
			return err
		}
		number, err := p.Hear(time.Minute)
		if err == nil && pauses {
			err = process.Pause(p.OS.Pid)
		}
		if err := errors.Join(err, say.Encode(number)); err != nil {
			return err
		}
	}
	select {}
}

func TestAProcessThatFailsSaysWhy(t *testing.T) {
	for name, why := range map[string]string{
		"fails":  "fails: out of paper",
		"panics": "panic: on fire",
	} {
		p, err := start(name)
		require.NoError(t, err)
		_, err = p.Hear(time.Minute)
		assert.EqualError(t, err, "it has ended: "+why)
		assert.NoError(t, p.Close(), "it is gone already")
		assert.Error(t, p.Tell("still there?"))
	}
}

func TestNoProcessOutlivesItsParent(t *testing.T) {
	p, err := start("has two processes")
	require.NoError(t, err)
	var pids []int
	for range 2 {
		number, err := p.Hear(time.Minute)
		require.NoError(t, err)
		pid, err := strconv.Atoi(number)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	p.Kill()
	for _, pid := range pids {
		assert.Eventually(t, func() bool {
			state := process.State(pid)
			return state == 0 || state == 'Z' // for the system to bury
		}, 20*time.Second, 10*time.Millisecond)
	}
}

func TestAProcessThatDoesNotEndIsKilled(t *testing.T) {
	defer func(within time.Duration) { endWithin = within }(endWithin)
	endWithin = time.Second
	p, err := start("hears nothing")
	require.NoError(t, err)
	require.NoError(t, process.Pause(p.OS.Pid))
	assert.EqualError(t, p.Close(), "it had to be killed")
	assert.EqualError(t, p.Err(), "signal: killed")
}
