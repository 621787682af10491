package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writable fails if the file at path could not be replaced at the end of a run. It
// leaves everything as it is.
func writable(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("write %s: it is not a regular file", path)
		}
		// A file that may not be written must not be replaced either.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return failedToWrite(path, err)
		}
		file.Close()
	}
	_, part, err := begin(path)
	if err != nil {
		return failedToWrite(path, err)
	}
	part.Close()
	return os.Remove(part.Name())
}

// begin opens a file beside the one that path leads to: a symbolic link stays one.
func begin(path string) (target string, part *os.File, err error) {
	target = path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		target = resolved
	}
	part, err = os.OpenFile(fmt.Sprintf("%s.%d.part", target, os.Getpid()),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return target, part, err
}

// replace puts what is written in the place of the file at path. After an error the
// file is what it was.
func replace(path string, write func(io.Writer) error) error {
	target, part, err := begin(path)
	if err != nil {
		return failedToWrite(path, err)
	}
	if err = errors.Join(write(part), part.Close()); err == nil {
		err = os.Rename(part.Name(), target)
	}
	if err != nil {
		os.Remove(part.Name())
		return failedToWrite(path, err)
	}
	return nil
}

// failedToWrite names the file that the user named, not the one that stands in
// for it until it is complete.
func failedToWrite(path string, err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}
