//go:build unix

package servers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Detach puts a server into a process group of its own: Ctrl-C is for the
// process that started it, which then takes it down in order.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// running says whether a process exists.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// ours says whether this user owns a file.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// readOurs reads a short file of this user's. It refuses links and whatever is
// no regular file. A FIFO without a writer would block the opening, too.
func readOurs(path string) (string, error) {
	f, err := os.OpenFile(path,
		os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || !ours(info) {
		return "", fmt.Errorf("%s is not a regular file of this user's", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 64))
	return string(text), err
}

func killProcess(pid int) error   { return syscall.Kill(pid, syscall.SIGKILL) }
func resumeProcess(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// pauseProcess stops a process and waits until all of it stands still. The signal
// only asks: on a busy machine a thread went on, and answered, for 30 ms.
func pauseProcess(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(patience); !stopped(pid); {
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
		return state(pid) == 'T'
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
