//go:build !unix

package servers

import (
	"errors"
	"os"
	"os/exec"
)

var errUnix = errors.New("servers can be started on Unix systems only")

// Detach does nothing here.
func Detach(*exec.Cmd) {}

func ours(os.FileInfo) bool           { return false }
func readOurs(string) (string, error) { return "", errUnix }

func running(pid int) bool        { return true }
func killProcess(pid int) error   { return errUnix }
func pauseProcess(pid int) error  { return errUnix }
func resumeProcess(pid int) error { return errUnix }
