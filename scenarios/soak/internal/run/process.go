package run

import (
	"fmt"
	"time"

	"github.com/lockladder/lockladder/internal/process"
	"github.com/lockladder/lockladder/scenarios/soak/internal/worker"
)

// workerProcess is the soak's end of a worker.
type workerProcess struct {
	*process.Process[string]
}

// patience is how long a worker may take to answer.
const patience = time.Minute

// start starts this program once more, as a worker, and waits until it is ready.
func start(o worker.Orders) (*workerProcess, error) {
	p, err := process.Start[string](worker.Name)
	if err != nil {
		return nil, err
	}
	w := &workerProcess{p}
	if err = w.Tell(o); err == nil {
		err = w.hear(worker.Ready)
	}
	if err != nil {
		w.Kill()
		return nil, err
	}
	return w, nil
}

// hear waits until the worker says a word.
func (w *workerProcess) hear(word string) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case said, ok := <-w.Answers:
		if !ok {
			return fmt.Errorf("a worker has ended: %w", w.Err())
		}
		if said != word {
			return fmt.Errorf("a worker says %q instead of %q", said, word)
		}
		return nil
	case <-timer.C:
		return fmt.Errorf("a worker doesn't say %q", word)
	}
}
