package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/bench/nodes"
	"github.com/lockladder/lockladder/internal/servers/process"
	"github.com/lockladder/lockladder/lock"
)

// workerName is what a worker process is started as.
const workerName = "import-worker"

// readyWithin is how long a process may take until it works.
const readyWithin = 20 * time.Second

// Serve is where a worker process works, and in any other process it does nothing.
// A program that calls Launch calls it first. Find knows the locks by their names.
func Serve(find func(rung string) (lock.Build, error)) {
	process.Serve(workerName, func(parent *process.Parent) error {
		var o Orders
		if err := parent.Hear(&o); err != nil {
			return fmt.Errorf("read a worker's orders: %w", err)
		}
		build, err := find(o.Rung)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { // ends with the process
			<-parent.Gone()
			cancel()
		}()
		servers, err := nodes.Connect(ctx, o.Addresses,
			nodes.Config{Clients: 1, Password: o.Password})
		if err != nil {
			return err
		}
		var clients []redis.UniversalClient
		for node := range o.Nodes {
			clients = append(clients, servers.Client(node, 8))
		}
		if err := parent.Say(true); err != nil {
			return err
		}
		return o.worker(clients, build).Run(ctx)
	})
}

// Launch starts a worker as a process and returns when it works. The program's
// main calls Serve.
func Launch(o Orders) (Process, error) {
	p, err := process.Start[bool](workerName)
	if err != nil {
		return nil, err
	}
	_ = p.Tell(o) // a process that ends before it hears them says why
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case _, works := <-p.Answers:
		if works {
			return p, nil
		}
		err = p.Err()
	case <-late.C:
		err = errors.New("it does not answer")
	}
	p.Kill()
	return nil, err
}
