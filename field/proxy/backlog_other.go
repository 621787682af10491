//go:build !unix

package proxy

import (
	"errors"
	"net"
)

func setBacklog(*net.TCPListener, int) error {
	return errors.New("a listener's queue can be changed on Unix systems only")
}
