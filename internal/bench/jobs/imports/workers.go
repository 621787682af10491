package imports

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

// kill kills the worker that has a slot, if there is one now.
func (j *job) kill(slot int) bool {
	j.mu.Lock()
	p := j.running[slot]
	delete(j.running, slot)
	j.mu.Unlock()
	if p == nil {
		return false
	}
	p.Kill()
	return true
}

// start starts all workers and returns when they are ready.
func (j *job) start() error {
	for slot := 1; slot <= j.Workers; slot++ {
		p, name, err := j.launch(slot, 1)
		if err != nil {
			return err
		}
		j.workers.Add(1)
		go func() {
			defer j.workers.Done()
			j.supervise(p, slot, name)
		}()
	}
	return nil
}

// stop ends all workers and waits until they have ended.
func (j *job) stop() {
	j.end()
	j.workers.Wait()
}

func (j *job) launch(slot, incarnation int) (Process, string, error) {
	o := j.orders
	o.Slot = slot
	o.Name = fmt.Sprintf("%d.%d", slot, incarnation)
	var p Process
	var err error
	if j.Launch != nil {
		p, err = j.Launch(o)
	} else {
		p, err = j.goroutine(o)
	}
	if err != nil {
		return nil, "", fmt.Errorf("start worker %s: %w", o.Name, err)
	}
	j.mu.Lock()
	j.running[slot] = p
	j.mu.Unlock()
	return p, o.Name, nil
}

// supervise starts a worker again, with the same slot, whenever it has ended.
func (j *job) supervise(p Process, slot int, name string) {
	for incarnation := 2; ; incarnation++ {
		select {
		case <-p.Done():
		case <-j.ended.Done():
			p.End()
			select {
			case <-p.Done():
			case <-time.After(endWithin):
				p.Kill()
				<-p.Done()
			}
			if !j.runs(slot) { // it was killed just before
				if err := j.died(name); err != nil {
					j.fail(err)
				}
			}
			return
		}
		p.End() // a process that has ended by itself leaves a pipe
		err := j.died(name)
		j.mu.Lock()
		_, byItself := j.running[slot]
		if byItself {
			j.failures++
			if j.first == nil {
				j.first = p.Err()
			}
		}
		delete(j.running, slot)
		j.mu.Unlock()
		if byItself && lock.Sleep(j.ended, again) != nil {
			return
		}
		if err == nil {
			p, name, err = j.launch(slot, incarnation)
		}
		if err != nil {
			j.fail(err)
			return
		}
	}
}

// fail keeps the first failure.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.first == nil {
		j.first = err
	}
}

// runs says whether the worker that has a slot was left alone.
func (j *job) runs(slot int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.running[slot] != nil
}

// died logs a worker's death.
func (j *job) died(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), judgeWithin)
	defer cancel()
	return j.queue.Died(ctx, name)
}

// goroutine starts a worker inside this process.
func (j *job) goroutine(o Orders) (Process, error) {
	var nodes []redis.UniversalClient
	for node := range o.Nodes {
		nodes = append(nodes, j.Servers.Client(node, 8))
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &goroutine{end: cancel, done: make(chan struct{})}
	w := o.worker(nodes, j.build)
	go func() {
		defer close(g.done)
		g.err = w.Run(ctx)
		for _, rdb := range nodes {
			rdb.Close()
		}
	}()
	return g, nil
}

// goroutine is a worker that is no process. It can't be killed.
type goroutine struct {
	end  context.CancelFunc
	done chan struct{}
	err  error
}

func (g *goroutine) Kill()                 { g.end() }
func (g *goroutine) End()                  { g.end() }
func (g *goroutine) Done() <-chan struct{} { return g.done }
func (g *goroutine) Err() error            { return g.err }
