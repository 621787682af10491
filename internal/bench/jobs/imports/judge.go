package imports

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Figures are what became of the tasks.
type Figures struct {
	Pushed int `json:"pushed"`
	Done   int `json:"done"` // tasks that have ended at least once
	Left   int `json:"left"` // not done; they stand in a queue or in a slot
	Lost   int `json:"lost"` // not done, and nowhere

	DoneTwice  int `json:"done_twice"`   // tasks that have ended more than once
	Overlapped int `json:"overlapped"`   // starts while the group was worked on
	OutOfOrder int `json:"out_of_order"` // ends after that of a later task

	// StartedAgain are starts of a task that had been started before;
	// AgainUnforced are those among them whose earlier worker had neither died,
	// nor failed, nor been told that the group is somebody else's.
	StartedAgain  int `json:"started_again"`
	AgainUnforced int `json:"started_again_unforced"`

	Refused int `json:"refused"` // ends that came too late and did not count
	Failed  int `json:"failed"`  // starts that ended with an error
	Deaths  int `json:"deaths"`  // workers that died
}

// Judge reads the log of a job. It knows nothing but what was logged, in the order
// in which Redis has logged it.
type Judge struct {
	figures Figures
	read    int            // entries of the log
	place   map[int]int    // task: its place among all that were pushed
	starts  map[int]*start // task: its newest start
	ends    map[int]int    // task: how often it has ended
	newest  map[string]int // group: the latest place that has ended
	running map[string]map[string]bool
	busy    map[string]*start // worker: what it works on
	dead    map[string]bool
}

// start is one start of a task.
type start struct {
	task   int
	group  string
	worker string
	over   bool // its worker has died, failed or been refused
}

// NewJudge makes a judge who has read nothing.
func NewJudge() *Judge {
	return &Judge{place: map[int]int{}, starts: map[int]*start{},
		ends: map[int]int{}, newest: map[string]int{},
		running: map[string]map[string]bool{}, busy: map[string]*start{},
		dead: map[string]bool{}}
}

// Follow reads what the log of a queue has got since it was read.
func (j *Judge) Follow(ctx context.Context, q Queue) error {
	entries, err := q.RDB.LRange(ctx, q.key(log), int64(j.read), -1).Result()
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return j.Read(entries)
}

// Read reads entries of the log, in order.
func (j *Judge) Read(entries []string) error {
	j.read += len(entries)
	for _, entry := range entries {
		words := strings.Fields(entry)
		if len(words) != 4 {
			return fmt.Errorf("the log says %q, which has no four words", entry)
		}
		kind, group, worker := words[0], words[2], words[3]
		if kind == died {
			j.died(worker)
			continue
		}
		task, err := strconv.Atoi(words[1])
		if err != nil {
			return fmt.Errorf("the log says %q: %w", entry, err)
		}
		switch kind {
		case pushed:
			j.figures.Pushed++
			j.place[task] = j.figures.Pushed
		case began:
			j.began(&start{task: task, group: group, worker: worker})
		case ended:
			j.stop(worker)
			j.ended(task, group)
		case refused:
			j.figures.Refused++
			j.abandoned(worker)
		case failed:
			j.figures.Failed++
			j.abandoned(worker)
		default:
			return fmt.Errorf("the log says %q, there is no %q", entry, kind)
		}
	}
	return nil
}

func (j *Judge) began(s *start) {
	if before := j.starts[s.task]; before != nil {
		j.figures.StartedAgain++
		if !before.over {
			j.figures.AgainUnforced++
		}
	}
	j.starts[s.task] = s
	if j.dead[s.worker] { // it was sent before the worker died
		s.over = true
		return
	}
	if len(j.running[s.group]) > 0 {
		j.figures.Overlapped++
	}
	if j.running[s.group] == nil {
		j.running[s.group] = map[string]bool{}
	}
	j.running[s.group][s.worker] = true
	j.busy[s.worker] = s
}

// stop says that a worker works on nothing any more.
func (j *Judge) stop(worker string) *start {
	s := j.busy[worker]
	if s != nil {
		delete(j.busy, worker)
		delete(j.running[s.group], worker)
	}
	return s
}

func (j *Judge) abandoned(worker string) {
	if s := j.stop(worker); s != nil {
		s.over = true
	}
}

func (j *Judge) died(worker string) {
	j.figures.Deaths++
	j.dead[worker] = true
	j.abandoned(worker)
}

func (j *Judge) ended(task int, group string) {
	j.ends[task]++
	switch j.ends[task] {
	case 1:
		j.figures.Done++
	case 2:
		j.figures.DoneTwice++
	}
	if j.place[task] < j.newest[group] {
		j.figures.OutOfOrder++
	}
	j.newest[group] = max(j.newest[group], j.place[task])
}

// Done is how many tasks have ended so far.
func (j *Judge) Done() int { return j.figures.Done }

// Verdict is what the log says, with the tasks that stand in a queue or in a slot
// at the end.
func (j *Judge) Verdict(left []Task) Figures {
	f := j.figures
	counted := map[int]bool{}
	for _, t := range left {
		if j.ends[t.ID] == 0 && !counted[t.ID] {
			counted[t.ID] = true
			f.Left++
		}
	}
	f.Lost = f.Pushed - f.Done - f.Left
	return f
}
