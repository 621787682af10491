//go:build unix

package proxy

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// setBacklog changes how many connections may wait until they are accepted.
func setBacklog(l *net.TCPListener, n int) error {
	raw, err := l.SyscallConn()
	if err == nil {
		var listened error
		err = raw.Control(func(fd uintptr) {
			listened = unix.Listen(int(fd), n)
		})
		err = errors.Join(err, listened)
	}
	if err != nil {
		return fmt.Errorf("change a listener's queue: %w", err)
	}
	return nil
}
