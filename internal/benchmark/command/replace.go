package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// replacement is a file that takes another one's place only when it is complete.
type replacement struct {
	path   string // as the user named it
	target string
	part   *os.File
}

// replace begins the replacement of the file at path, and fails if it could not
// be completed later. The file itself is not touched.
func replace(path string) (*replacement, error) {
	target := path
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("write %s: it is not a regular file", path)
		}
		// A file that may not be written must not be replaced either.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, failedToWrite(path, err)
		}
		file.Close()
		// A symbolic link stays one.
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return nil, failedToWrite(path, err)
		}
	}
	name := fmt.Sprintf("%s.%d.part", target, os.Getpid())
	part, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, failedToWrite(path, err)
	}
	return &replacement{path, target, part}, nil
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

// commit writes the content and puts it in the file's place. After an error the
// file is what it was.
func (r *replacement) commit(write func(io.Writer) error) error {
	if err := write(r.part); err != nil {
		return failedToWrite(r.path, err)
	}
	part := r.part
	r.part = nil
	err := part.Close()
	if err == nil {
		err = os.Rename(part.Name(), r.target)
	}
	if err != nil {
		os.Remove(part.Name())
		return fmt.Errorf("write %s: %w", r.path, err)
	}
	return nil
}

// close removes what was not committed.
func (r *replacement) close() error {
	if r.part == nil {
		return nil
	}
	r.part.Close()
	if err := os.Remove(r.part.Name()); err != nil {
		return fmt.Errorf("remove what was begun: %w", err)
	}
	return nil
}
