package imports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/lock"
)

const (
	producers = 2
	batch     = 100 // tasks that a producer pushes under one queue lock

	// look is how often the run looks into the log.
	look = 10 * time.Millisecond

	// again is the pause before a worker that has failed is started again.
	again = 50 * time.Millisecond

	// endWithin is how long a worker may take to end by itself.
	endWithin = 5 * time.Second

	// judgeWithin bounds the last look into the log.
	judgeWithin = 10 * time.Second
)

// Runner runs import jobs, one after the other on the same servers. Its fields
// are set before the first Measure.
type Runner struct {
	bench.Common // its lease is that of the claims too
	Form         Form
	Workers      int           // that work at the same time, at least 1
	Tasks        int           // at least 1
	Ungrouped    int           // how many of a hundred tasks have no group
	Work         time.Duration // of one task
	Poll         time.Duration // the pause of a worker, and of a refused owner

	Kill    int // workers to kill, spread over the run; only processes can be
	Fail    int // tasks whose first start fails, spread over all
	Overrun int // tasks whose first start takes two leases, spread over all

	// Launch starts a worker as a process of its own; nil: as a goroutine.
	Launch func(Orders) (Process, error)

	Seed uint64 // decides who is killed

	done atomic.Int64 // of the row under way
}

// Progress is how many tasks of the row under way are done, of how many.
func (r *Runner) Progress() (done, of int) { return int(r.done.Load()), r.Tasks }

// Check returns what is wrong with the settings, if anything.
func (r *Runner) Check() error {
	switch {
	case r.Form != Article && r.Form != Improved:
		return fmt.Errorf("there is no form %q, %w", r.Form, ErrForm)
	case r.Workers < 1:
		return fmt.Errorf("there are %d workers, at least 1 is needed", r.Workers)
	case r.Workers > 1000:
		return fmt.Errorf("there are %d workers, at most 1000 are started",
			r.Workers)
	case r.Tasks < 1:
		return fmt.Errorf("there are %d tasks, at least 1 is needed", r.Tasks)
	case r.Ungrouped < 0 || r.Ungrouped > 100:
		return fmt.Errorf("%d of a hundred tasks have no group, it must be 0"+
			" to 100", r.Ungrouped)
	case r.Work < 0:
		return fmt.Errorf("the work takes %v, it must not be negative", r.Work)
	case r.TTL < 10*time.Millisecond:
		return fmt.Errorf("the ttl is %v, a claim needs at least 10ms", r.TTL)
	case r.Poll <= 0:
		return fmt.Errorf("the poll interval is %v, it must be positive", r.Poll)
	case r.Kill < 0 || r.Fail < 0 || r.Overrun < 0:
		return errors.New("faults are counted, they must not be negative")
	case max(r.Kill, r.Fail, r.Overrun) > r.Tasks:
		return fmt.Errorf("there are more faults of a kind than the %d tasks",
			r.Tasks)
	case r.Kill > 0 && r.Launch == nil:
		return errors.New("only workers that are processes can be killed")
	}
	return r.Common.Check()
}

// Orders are what a worker is told when it is started.
type Orders struct {
	Rung      string
	Form      Form
	Slot      int
	Name      string
	Addresses []string // of the servers
	Password  string   // of all of them, "" for none
	Nodes     int      // how many of them the lock uses
	Prefix    string
	TTL       time.Duration
	Poll      time.Duration
	Load      Load
}

// Load is the work of a run's tasks.
type Load struct {
	Work          time.Duration
	Overlong      time.Duration // of an overrun
	Tasks         int
	Fail, Overrun int
}

// errMade is the failure that a run asks for.
var errMade = errors.New("made to fail")

// do is the Work of a benchmark: it takes its time.
func (l Load) do(ctx context.Context, t Task, start int) error {
	d := l.Work
	if start == 1 && chosen(t.ID, l.Tasks, l.Overrun) {
		d = l.Overlong
	}
	if err := lock.Sleep(ctx, d); err != nil {
		return err
	}
	if start == 1 && chosen(t.ID, l.Tasks, l.Fail) {
		return errMade
	}
	return nil
}

// chosen says whether the id-th of n is among k that are spread evenly.
func chosen(id, n, k int) bool { return id*k/n != (id-1)*k/n }

// worker makes a worker of a run from clients for the nodes.
func (o Orders) worker(nodes []redis.UniversalClient,
	build lock.Build) Worker {
	return Worker{
		Queue: Queue{RDB: nodes[0], Prefix: o.Prefix},
		Form:  o.Form,
		Slot:  o.Slot,
		Name:  o.Name,
		TTL:   o.TTL,
		Poll:  o.Poll,
		Work:  o.Load.do,
		Build: build,
		Env: lock.Env{Nodes: nodes, TTL: o.TTL,
			Options: []lock.Option{lock.PollEvery(o.Poll)}},
	}
}

// Process is a worker under way.
type Process interface {
	// Kill ends it as kill -9 does.
	Kill()
	// End asks it to end.
	End()
	// Done is closed when it has ended and does nothing more; Err is then why.
	Done() <-chan struct{}
	Err() error
}

// Row is what became of one job.
type Row struct {
	Rung      string     `json:"rung"`
	Kind      bench.Kind `json:"kind"`
	Form      Form       `json:"form"`
	Nodes     int        `json:"nodes"`
	Workers   int        `json:"workers"`
	Processes bool       `json:"processes"` // of the workers' own
	Groups    int        `json:"groups"`
	Tasks     int        `json:"tasks"`
	Ungrouped int        `json:"ungrouped"` // tasks without a group
	WorkMs    float64    `json:"work_ms"`
	TTLms     float64    `json:"ttl_ms"`
	PollMs    float64    `json:"poll_ms"`
	Killed    int        `json:"killed"`

	Figures

	Finished       bool    `json:"finished"` // every task has ended
	Seconds        float64 `json:"seconds"`  // from the first push
	TasksPerSecond float64 `json:"tasks_per_second"`

	// Failures are workers that ended by themselves.
	Failures     int     `json:"failures"`
	FirstFailure *string `json:"first_failure"`

	Interrupted bool `json:"interrupted"`
}

// job is one row under way.
type job struct {
	*Runner
	subject bench.Subject
	queue   Queue
	orders  Orders // but for the slot and the name
	build   lock.Build

	workers sync.WaitGroup
	ended   context.Context // the workers are to end
	end     context.CancelFunc

	mu       sync.Mutex // guards what follows; never held while Redis is asked
	running  map[int]Process
	failures int
	first    error
}

// Measure runs one job behind one lock until every task has ended, the timeout is
// over or ctx ends. All workers have ended when it returns. It returns an error
// when the job could not begin.
func (r *Runner) Measure(ctx context.Context, subject bench.Subject,
	groups int) (Row, error) {
	if subject.Build == nil {
		return Row{}, fmt.Errorf("%w: it is no lock", lock.ErrInvalid)
	}
	if groups < 1 {
		return Row{}, fmt.Errorf("%w: there are %d groups", lock.ErrInvalid,
			groups)
	}
	own := r.Servers.Client(0, 4)
	defer own.Close()
	nodes := min(max(subject.Nodes, 1), r.Servers.Nodes())
	r.Servers.Clear()
	prefix := r.Servers.Prefix(fmt.Sprintf("import:%s:%d", subject.Name, groups))
	j := &job{Runner: r, subject: subject, build: subject.Build,
		queue: Queue{RDB: own, Prefix: prefix}, running: map[int]Process{},
		orders: Orders{Rung: subject.Name, Form: r.Form, Nodes: nodes,
			Addresses: r.Servers.Addresses, Password: r.Servers.Password(),
			Prefix: prefix, TTL: r.TTL, Poll: r.Poll, Load: Load{
				Work: r.Work, Overlong: 2 * r.TTL, Tasks: r.Tasks,
				Fail: r.Fail, Overrun: r.Overrun}}}
	if err := j.queue.Load(ctx); err != nil {
		return Row{}, err
	}
	tasks := Tasks(r.Tasks, groups, r.Ungrouped)
	row := Row{Rung: subject.Name, Kind: subject.Kind, Form: r.Form,
		Nodes: nodes, Workers: r.Workers, Processes: r.Launch != nil,
		Groups: groups, Tasks: r.Tasks, WorkMs: bench.Milliseconds(r.Work),
		TTLms: bench.Milliseconds(r.TTL), PollMs: bench.Milliseconds(r.Poll)}
	for _, t := range tasks {
		if !t.Grouped {
			row.Ungrouped++
		}
	}

	j.ended, j.end = context.WithCancel(ctx)
	defer j.stop()
	if err := j.start(); err != nil {
		return Row{}, err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	pushing, err := j.produce(ctx, tasks)
	if err != nil {
		return Row{}, err
	}
	judge, killed, err := j.watch(ctx)
	took := time.Since(began)
	row.Interrupted = errors.Is(context.Cause(ctx), context.Canceled)
	cancel()
	pushed := <-pushing
	j.stop()
	if err != nil {
		return Row{}, err
	}

	last, done := context.WithTimeout(context.WithoutCancel(ctx), judgeWithin)
	defer done()
	if err := judge.Follow(last, j.queue); err != nil {
		return Row{}, err
	}
	left, err := j.queue.Left(last)
	if err != nil {
		return Row{}, err
	}
	row.Figures = judge.Verdict(left)
	row.Killed = killed
	row.Finished = row.Done == r.Tasks
	row.Seconds = bench.Rounded(took.Seconds(), 3)
	row.TasksPerSecond = bench.Rounded(float64(row.Done)/took.Seconds(), 3)
	row.Failures = j.failures
	if !row.Interrupted && !row.Finished && j.first == nil {
		j.first = pushed
	}
	if j.first != nil {
		text := j.first.Error()
		row.FirstFailure = &text
	}
	return row, nil
}

// produce starts the producers. The channel tells when all are through, with the
// first error.
func (j *job) produce(ctx context.Context, tasks []Task) (<-chan error, error) {
	var owners []Producer
	var clients []*redis.Client
	for range producers {
		env := lock.Env{Key: j.queue.key(QueueLock), TTL: j.TTL,
			Options: []lock.Option{lock.PollEvery(j.Poll)}}
		for node := range j.orders.Nodes {
			rdb := j.Servers.Client(node, 4)
			clients = append(clients, rdb)
			env.Nodes = append(env.Nodes, rdb)
		}
		l, err := j.build(env)
		if err != nil {
			return nil, fmt.Errorf("build the lock: %w", err)
		}
		owners = append(owners, Producer{Queue: j.queue, Lock: l})
	}
	pushed := make(chan error, producers)
	for i, p := range owners {
		go func() {
			var err error
			for at := i * batch; at < len(tasks) && err == nil; at +=
				producers * batch {
				err = p.Push(ctx, tasks[at:min(at+batch, len(tasks))]...)
			}
			pushed <- err
		}()
	}
	all := make(chan error, 1)
	go func() { // joined by whoever reads the channel
		var err error
		for range owners {
			err = errors.Join(err, <-pushed)
		}
		for _, rdb := range clients {
			rdb.Close()
		}
		all <- err
	}()
	return all, nil
}

// watch reads the log, kills workers, and returns when every task has ended and
// nothing is left, or when ctx ends.
func (j *job) watch(ctx context.Context) (*Judge, int, error) {
	judge := NewJudge()
	random := rand.New(rand.NewPCG(j.Seed, j.Seed))
	tick := time.NewTicker(look)
	defer tick.Stop()
	for killed := 0; ; {
		if err := judge.Follow(ctx, j.queue); err != nil && lock.ContextErr(ctx) == nil {
			return judge, killed, err
		}
		j.done.Store(int64(judge.Done()))
		if killed < j.Kill && judge.Done() >= j.Tasks*(killed+1)/(j.Kill+1) &&
			j.kill(random.IntN(j.Workers)+1) {
			killed++
		}
		if judge.Done() == j.Tasks && killed == j.Kill {
			left, err := j.queue.Left(ctx)
			if err == nil && len(left) == 0 {
				return judge, killed, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return judge, killed, nil
		}
	}
}
