//go:build !unix

package servers

import (
	"errors"
	"os"
)

func ours(os.FileInfo) bool           { return false }
func readOurs(string) (string, error) { return "", errors.ErrUnsupported }
