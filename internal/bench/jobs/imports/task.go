package imports

import (
	"encoding/json"
	"fmt"
)

// Task is one import.
type Task struct {
	ID     int    `json:"id"`
	Entity string `json:"entity"`
	Tenant int    `json:"tenant"`

	// Grouped says that the tenant wants the tasks of one entity one after the
	// other.
	Grouped bool `json:"grouped"`
}

// Group is whose tasks must not overlap. A task without a group is alone in one.
func (t Task) Group() string {
	if !t.Grouped {
		return fmt.Sprintf("task:%d", t.ID)
	}
	return fmt.Sprintf("%s:%d", t.Entity, t.Tenant)
}

// text is how a task stands in the queue.
func (t Task) text() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // numbers, a string and a bool: there is no such error
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
