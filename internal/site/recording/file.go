package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The format of a File. A change that a program of before can't read gets another
// version.
const (
	format  = "lock ladder recording"
	version = 3
)

// File is a run or a graph of any lock, with the code that it names. One of Run and
// Graph is set.
type File struct {
	Sources map[string]string `json:"sources"` // by name: "gold/lock.go"
	Run     *Run              `json:"run,omitempty"`
	Graph   *Graph            `json:"graph,omitempty"`
}

// envelope is what is written of a File. The sum tells what was changed since, which
// would stop the browser's script in the middle.
type envelope struct {
	Format  string          `json:"format"`
	Version int             `json:"version"`
	Sum     string          `json:"sum"`
	File    json.RawMessage `json:"file"`
}

func sum(file []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(file)) }

// The errors of Read.
var (
	ErrFormat    = errors.New("it is no recording: scenarios.Record and explore.Record write them")
	ErrVersion   = errors.New("it is a recording of another version")
	ErrTruncated = errors.New("it ends in the middle: record it again")
	ErrChanged   = errors.New("it was changed after it was recorded: record it again")
)

// Read reads a recording. Its error is one line.
func Read(r io.Reader) (*File, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	// The format comes first, so that it is known of what is incomplete, too.
	head, _ := json.Marshal(format)
	if !bytes.HasPrefix(text, append([]byte(`{"format":`), head...)) {
		return nil, ErrFormat
	}
	var e envelope
	err = json.Unmarshal(text, &e)
	syntax, is := errors.AsType[*json.SyntaxError](err)
	switch {
	case is && syntax.Offset >= int64(len(text)):
		return nil, ErrTruncated
	case err != nil:
		return nil, fmt.Errorf("it can't be read: %w", err)
	case e.Version != version:
		return nil, fmt.Errorf("%w: %d, and this program reads %d; record it again",
			ErrVersion, e.Version, version)
	case e.Sum != sum(e.File):
		return nil, ErrChanged
	}
	var f File
	return &f, json.Unmarshal(e.File, &f)
}

// Write writes the recording as the file of a name, in directories that are made. A
// failure may leave a part of the file, which Read refuses.
func (f *File) Write(name string) error {
	file, err := json.Marshal(f)
	if err != nil {
		return err
	}
	text, err := json.Marshal(envelope{format, version, sum(file), file})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// Writable makes a directory where there is none, and says why no file can be written
// there. What takes long asks it first.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, "*.json")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// Code is the code that some lines name, such as "gold/lock.go:45", and the scripts
// that are in the same directories. Of finds a file's path on this machine. Code that
// isn't there is left out.
func Code(lines []string, of func(name string) (file string, ok bool)) map[string]string {
	sources := map[string]string{}
	add := func(name, file string) {
		if _, known := sources[name]; known {
			return
		}
		if text, err := os.ReadFile(file); err == nil {
			sources[name] = string(text)
		}
	}
	for _, line := range lines {
		name := line[:max(strings.LastIndexByte(line, ':'), 0)]
		file, ok := of(name)
		if !ok {
			continue
		}
		add(name, file)
		scripts, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.lua"))
		for _, script := range scripts {
			add(path.Join(path.Dir(name), filepath.Base(script)), script)
		}
	}
	return sources
}

// Goal is what the explorer found out about an invariant.
type Goal struct {
	Invariant string `json:"invariant"`
	Schedule  string `json:"schedule"` // the cheapest; "": none breaks it
	Adversary int    `json:"adversary"`
	Steps     int    `json:"steps"`
	Failing   string `json:"failing"` // how many schedules break it
}

// Graph is a lock's state graph as the site reads it: the reader is the scheduler in
// it.
type Graph struct {
	Lock      string   `json:"lock"`
	Program   string   `json:"program"`
	Bounds    string   `json:"bounds"`
	Stopped   bool     `json:"stopped,omitempty"` // before every schedule was seen
	Schedules string   `json:"schedules"`         // how many there are
	Clients   []string `json:"clients"`
	Nodes     int      `json:"nodes"`
	Goals     []Goal   `json:"goals"`
	Texts     []string `json:"texts"` // the first is empty
	Worlds    []State  `json:"worlds"`

	// States have the clock in milliseconds, the index of the world, that of what
	// each client does, and six numbers for each thing under way: client, node, and
	// the indices of the sign, the text, the reply and the line.
	States [][]int `json:"states"`

	// Edges have, for each state, three numbers for each action: the index of its
	// text, the state that it leads to, and a bit for each goal that it breaks. Three
	// more bits are of a request to the storage: it reads, it writes, it was refused.
	Edges [][]int `json:"edges"`
}
