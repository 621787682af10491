package imports

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed *.lua
var sources embed.FS

var (
	record   = script("record.lua")
	take     = script("take.lua")
	finish   = script("finish.lua")
	giveBack = script("giveback.lua")
	renew    = script("renew.lua")
)

func script(file string) *redis.Script {
	source, err := sources.ReadFile(file)
	if err != nil {
		panic(err) // it was there when this program was compiled
	}
	return redis.NewScript(string(source))
}

// Task is one import.
type Task struct {
	ID     int    `json:"id"`
	Entity string `json:"entity"`
	Tenant int    `json:"tenant"`
}

// Group is whose tasks must not overlap.
func (t Task) Group() string { return fmt.Sprintf("%s:%d", t.Entity, t.Tenant) }

// text is how a task stands in the queue.
func (t Task) text() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // numbers and a string: there is no such error
	}
	return string(text)
}

func parse(text string) (Task, error) {
	var t Task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return t, fmt.Errorf("read the task %q: %w", text, err)
	}
	return t, nil
}

// Queue is where the data of one import job is.
type Queue struct {
	RDB redis.UniversalClient

	// Prefix begins all keys. With a hash tag, "{import}:", a cluster keeps
	// them together.
	Prefix string
}

// The keys below the prefix.
const (
	waiting = "queue"  // a list: tasks, the oldest at the tail
	slots   = "slots"  // a hash: slot, the task that its worker has
	claims  = "claims" // a hash: group, its claim: "slot worker token end"
	log     = "log"    // a list: what has happened
	starts  = "starts" // a hash: task, how often it was started
	highest = "fence"  // the highest fencing token that was seen
	wake    = "wake"   // a channel: there may be something to do

	// QueueLock is the lock of the queue; locks of groups begin with GroupLock.
	QueueLock = "lock:queue"
	GroupLock = "lock:group:"
)

func (q Queue) key(name string) string { return q.Prefix + name }

// Load makes the scripts known to the server, so that no task pays for it.
func (q Queue) Load(ctx context.Context) error {
	for _, s := range []*redis.Script{record, take, finish, giveBack, renew} {
		if err := s.Load(ctx, q.RDB).Err(); err != nil {
			return fmt.Errorf("load the scripts: %w", err)
		}
	}
	return nil
}

// Push puts tasks at the head of the queue and tells the workers. A producer holds
// the queue lock meanwhile: a push moves what the article's worker counts with LINDEX.
func (q Queue) Push(ctx context.Context, tasks ...Task) error {
	p := q.RDB.Pipeline()
	for _, t := range tasks {
		p.LPush(ctx, q.key(waiting), t.text())
	}
	p.Publish(ctx, q.key(wake), "push")
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("push tasks: %w", err)
	}
	return nil
}

// The kinds of entries in the log. The scripts of the improved form write two more:
// that is "refused" whose work is over when somebody else has the group.
const (
	began  = "begin" // the task's work has begun
	ended  = "end"   // its work is over, and counts
	failed = "fail"  // its work has failed
)

// note logs what happens to a task, and returns how often it was started when that is
// one more start.
func (q Queue) note(ctx context.Context, kind string, t Task, worker string) (int, error) {
	id := strconv.Itoa(t.ID)
	n, err := record.Run(ctx, q.RDB, []string{q.key(log), q.key(starts)},
		kind, id, t.Group(), worker).Int()
	if err != nil {
		return 0, fmt.Errorf("log the %s of task %s: %w", kind, id, err)
	}
	return n, nil
}
