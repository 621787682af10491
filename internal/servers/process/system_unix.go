//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Detach puts a process that is to be started into a group of its own: a
// terminal's Ctrl-C is for the process that starts it, which then takes it down in
// order.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Kill ends a process that was started with Detach, and those that it has started
// itself, as kill -9 does.
func Kill(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// Offspring says whether processes still run that one started which was started
// with Detach and is gone.
func Offspring(pid int) bool { return syscall.Kill(-pid, 0) == nil }

// Running says whether a process exists.
func Running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Resume lets a paused process go on.
func Resume(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// Pause stops a process and waits until all of it stands still. The signal only
// asks: on a busy machine a thread went on, and a server answered, for 30 ms.
func Pause(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); !stopped(pid); {
		if time.Now().After(end) {
			return errors.New("it does not stop")
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// stopped says whether every thread of a process has been stopped. Where the
// system does not tell of threads (only Linux does) the process is asked for.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if len(threads) == 0 {
		return State(pid) == 'T'
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		// The state stands behind the name, which may contain anything.
		after := text[bytes.LastIndexByte(text, ')')+1:]
		if fields := bytes.Fields(after); len(fields) == 0 ||
			fields[0][0] != 'T' {
			return false
		}
	}
	return true
}

// Time is the processor time that this process has used, 0 when unknown.
func Time() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// State is the letter that ps has for what a process does, 0 when there is no such
// process.
func State(pid int) byte {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	if text := strings.TrimSpace(string(out)); text != "" {
		return text[0]
	}
	return 0
}
