package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Kind says what has happened.
type Kind string

// Kinds that workers write.
const (
	Start  Kind = "start"  // a worker process has begun
	Call   Kind = "call"   // an operation of a lock is called, with a deadline
	Return Kind = "return" // the call numbered N has returned
	Hold   Kind = "hold"   // a critical section begins: the owner believes
	Lost   Kind = "lost"   // the lock told the owner that the lease is gone
	Leave  Kind = "leave"  // the owner is about to unlock
	Pause  Kind = "pause"  // the process got no CPU for the duration For, until At
	Stuck  Kind = "stuck"  // the call N is overdue; Text names the stacks' file
	Rest   Kind = "rest"   // the process is idle: Base and Count goroutines
)

// Kinds that the soak's own process writes.
const (
	FaultBegin Kind = "fault"  // Op is the fault's name
	FaultEnd   Kind = "healed" // and it is over
	Stop       Kind = "SIGSTOP"
	Continue   Kind = "SIGCONT"
	Kill       Kind = "SIGKILL"
	Calm       Kind = "calm" // the nemesis has ended
	Left       Kind = "left" // something was left behind, Text says what
	Late       Kind = "late" // a server took For, until At, to answer a PING
)

// Kinds that the storage writes.
const (
	Read    Kind = "read"    // a section has read the value that another one wrote
	Write   Kind = "write"   // a section has written its name
	Refused Kind = "refused" // the storage has seen a higher fencing token
)

// Operations of a lock, as a Call's Op. A Probe is a Lock after the nemesis.
const (
	Lock    = "Lock"
	TryLock = "TryLock"
	Unlock  = "Unlock"
	Probe   = "Probe"
	Enter   = "Enter" // TryLock by an owner that is inside
	Exit    = "Exit"  // Unlock of the inner level
)

// everyone is the Worker of an event that is about all of them.
const everyone = -1

// Event is a line of what a soak writes down while it runs, and all that the judge knows of it:
// JSON, one file per process that writes. Fields that don't apply are zero.
type Event struct {
	At        int64         `json:"t"` // nanoseconds, see Now
	Kind      Kind          `json:"kind"`
	Worker    int           `json:"w"`
	Life      int           `json:"life,omitempty"` // how often it was restarted
	Goroutine int           `json:"g,omitempty"`
	N         int64         `json:"n,omitempty"` // a Call and its Return
	Op        string        `json:"op,omitempty"`
	Key       string        `json:"key,omitempty"`
	Deadline  int64         `json:"deadline,omitempty"` // of a Call, as At
	Granted   bool          `json:"granted,omitempty"`
	Error     string        `json:"error,omitempty"`
	Section   string        `json:"section,omitempty"`
	Token     uint64        `json:"token,omitempty"`
	Shared    bool          `json:"shared,omitempty"` // the section is a reader's
	Value     string        `json:"value,omitempty"`  // the section that was read
	Looked    int64         `json:"looked,omitempty"`
	For       time.Duration `json:"for,omitempty"`
	Base      int           `json:"base,omitempty"`
	Count     int           `json:"count,omitempty"`
	Text      string        `json:"text,omitempty"`
}

// eventLog is an open file of events. It may be used by several goroutines.
type eventLog struct{ *os.File }

// createLog makes a new file of events.
func createLog(path string) (*eventLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|
		os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create a file of events: %w", err)
	}
	return &eventLog{file}, nil
}

// Write appends an event in one write(2), without a buffer, so that kill -9 loses
// none. An event without a time gets the current one.
func (l *eventLog) Write(e Event) error {
	if e.At == 0 {
		e.At = clock()
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.File.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return nil
}

// terms are what everybody has to know of a run.
type terms struct {
	Rung    string        `json:"rung"`
	Seed    uint64        `json:"seed"`
	TTL     time.Duration `json:"ttl"`
	Poll    time.Duration `json:"poll"` // the longest pause between attempts
	Keys    []string      `json:"keys"`
	Drivers []driver      `json:"drivers"` // by worker
}

// setup is what the judge has to know of a run beside its events.
type setup struct {
	terms
	Again    string    `json:"again"` // the command that repeats the faults
	Fenced   bool      `json:"fenced"`
	Page     string    `json:"page"`  // documents the rung
	Flaws    []string  `json:"flaws"` // "scenario: invariant"
	Started  int64     `json:"started"`
	WallTime time.Time `json:"wall_time"` // of Started
}

// setupFile is the name of the file with the setup.
const setupFile = "run.json"

// saveSetup writes the setup of a run into its directory.
func saveSetup(dir string, s setup) error {
	text, err := json.MarshalIndent(s, "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, setupFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", setupFile, err)
	}
	return nil
}

// load reads a run: its setup and all its events in the order of time.
func load(dir string) (setup, []Event, error) {
	var s setup
	text, err := os.ReadFile(filepath.Join(dir, setupFile))
	if err != nil {
		return s, nil, fmt.Errorf("read a soak's directory: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, nil, fmt.Errorf("read %s: %w", setupFile, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return s, nil, fmt.Errorf("read a soak's directory: %w", err)
	}
	if len(files) == 0 {
		return s, nil, fmt.Errorf("%s holds no events (*.jsonl)", dir)
	}
	slices.Sort(files)
	var all []Event
	for _, file := range files {
		events, err := readEvents(file)
		if err != nil {
			return s, nil, err
		}
		all = append(all, events...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return s, all, nil
}

// readEvents reads a file of events. A last line without an end is the one that was
// being written when its process was killed.
func readEvents(file string) ([]Event, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	var all []Event
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s:%d: not an event: %w", filepath.Base(file), len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, nil
}

// String is the event as a line of an excerpt, without its time.
func (e Event) String() string {
	subject := "everyone"
	if e.Worker != everyone {
		subject = fmt.Sprintf("w%d", e.Worker)
		switch e.Kind {
		case Stop, Continue, FaultBegin, FaultEnd: // whichever life it has
		default:
			subject += fmt.Sprintf(".%d", e.Life)
		}
		if e.Goroutine > 0 {
			subject += fmt.Sprintf("/g%d", e.Goroutine)
		}
	}
	words := []string{fmt.Sprintf("%-10s %-8s", subject, e.Kind)}
	add := func(ok bool, format string, args ...any) {
		if ok {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.Op != "", "%s", e.Op)
	add(e.N != 0, "#%d", e.N)
	add(e.Key != "", "%s", e.Key)
	add(e.Kind == Return && e.Granted, "granted")
	add(e.Kind == Return && !e.Granted && e.Error == "", "ok")
	add(e.Error != "", "error: %s", e.Error)
	add(e.Section != "", "section %s", e.Section)
	add(e.Token != 0, "token %d", e.Token)
	add(e.Kind == Read, "saw %q", e.Value)
	add(e.For != 0, "for %v", e.For.Round(time.Millisecond))
	add(e.Text != "", "%s", e.Text)
	return strings.Join(words, " ")
}
