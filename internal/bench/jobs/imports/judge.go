package imports

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Figures are what became of the tasks.
type Figures struct {
	Pushed int
	Done   int // tasks that have ended at least once
	Left   int // not done; they stand in a queue or in a slot
	Lost   int // not done, and nowhere

	DoneTwice  int // tasks that have ended more than once
	Overlapped int // starts while the group was worked on
	OutOfOrder int // ends after that of a later task

	StartedAgain int // starts of a task that had been started before

	Refused int // ends that came too late and did not count
	Failed  int // starts that ended with an error
	Deaths  int // workers that died
}

// judge follows the log of a job.
type judge struct {
	figures Figures
	place   map[int]int    // task: its place among all that were pushed
	started map[int]bool   // tasks
	ends    map[int]int    // task: how often it has ended
	newest  map[string]int // group: the latest place that has ended
	running map[string]map[string]bool
	busy    map[string]string // worker: the group that it works on
	dead    map[string]bool
}

// Judge reads the log of a queue, and says what became of its tasks.
func (q Queue) Judge(ctx context.Context) (Figures, error) {
	entries, err := q.RDB.LRange(ctx, q.key(log), 0, -1).Result()
	if err != nil {
		return Figures{}, fmt.Errorf("read the log: %w", err)
	}
	left, err := q.Left(ctx)
	if err != nil {
		return Figures{}, err
	}
	return Judge(entries, left)
}

// Judge says what became of the tasks of a log, whose entries are in the order in which
// Redis has logged them, when these tasks stand in a queue or in a slot at the end. It
// knows nothing else.
func Judge(entries []string, left []Task) (Figures, error) {
	j := &judge{place: map[int]int{}, started: map[int]bool{},
		ends: map[int]int{}, newest: map[string]int{},
		running: map[string]map[string]bool{}, busy: map[string]string{},
		dead: map[string]bool{}}
	for _, entry := range entries {
		if err := j.read(entry); err != nil {
			return Figures{}, fmt.Errorf("the log says %q: %w", entry, err)
		}
	}
	counted := map[int]bool{}
	for _, t := range left {
		if j.ends[t.ID] == 0 && !counted[t.ID] {
			counted[t.ID] = true
			j.figures.Left++
		}
	}
	j.figures.Lost = j.figures.Pushed - j.figures.Done - j.figures.Left
	return j.figures, nil
}

func (j *judge) read(entry string) error {
	words := strings.Fields(entry)
	if len(words) != 4 {
		return errors.New("it has no four words")
	}
	kind, group, worker := words[0], words[2], words[3]
	if kind == died {
		j.figures.Deaths++
		j.dead[worker] = true
		j.stop(worker)
		return nil
	}
	task, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	switch kind {
	case pushed:
		j.figures.Pushed++
		j.place[task] = j.figures.Pushed
	case began:
		j.began(task, group, worker)
	case ended:
		j.stop(worker)
		j.ended(task, group)
	case refused:
		j.figures.Refused++
		j.stop(worker)
	case failed:
		j.figures.Failed++
		j.stop(worker)
	default:
		return fmt.Errorf("there is no %q", kind)
	}
	return nil
}

func (j *judge) began(task int, group, worker string) {
	if j.started[task] {
		j.figures.StartedAgain++
	}
	j.started[task] = true
	if j.dead[worker] { // it was sent before the worker died
		return
	}
	if len(j.running[group]) > 0 {
		j.figures.Overlapped++
	}
	if j.running[group] == nil {
		j.running[group] = map[string]bool{}
	}
	j.running[group][worker] = true
	j.busy[worker] = group
}

// stop says that a worker works on nothing any more.
func (j *judge) stop(worker string) {
	delete(j.running[j.busy[worker]], worker)
	delete(j.busy, worker)
}

func (j *judge) ended(task int, group string) {
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
