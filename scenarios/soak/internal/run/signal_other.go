//go:build !unix

package run

import "errors"

var errUnix = errors.New("processes can be stopped on Unix systems only")

func signalStop(int) error     { return errUnix }
func signalContinue(int) error { return errUnix }
func signalKill(int) error     { return errUnix }
func alive(int) bool           { return false }
