package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts what is written in the place of the file at path, or beside it until that
// is complete: after an error the file is what it was. Without a write it only finds out
// whether it could.
func Replace(path string, write func(io.Writer) error) error {
	err := replaceAt(path, write)
	// The user has named that file, not the one that stands in for it.
	if named, is := errors.AsType[*fs.PathError](err); is {
		err = named.Err
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceAt(path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a symbolic link stays one
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return errors.New("it is not a regular file")
		}
		// A file that may not be written must not be replaced either.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		file.Close()
	}
	part, err := os.OpenFile(fmt.Sprintf("%s.%d.part", path, os.Getpid()),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if write != nil {
		err = write(part)
	}
	err = errors.Join(err, part.Close())
	if write != nil && err == nil {
		err = os.Rename(part.Name(), path)
	}
	if write == nil || err != nil {
		os.Remove(part.Name())
	}
	return err
}
