package benchmark

import (
	"context"
	"errors"
)

// Crew are the processes that the clients of a run live in.
type Crew struct{}

func (c *Crew) size() int { return 0 }

func (c *Crew) run(ctx context.Context, r *Runner, subject Subject) (part, usage, error) {
	return part{}, usage{}, errors.New("not yet")
}
