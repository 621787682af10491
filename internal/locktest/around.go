package locktest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Around is a client's hook that is called with each command, and sends it with
// send. Pipelines pass it by.
type Around func(cmd redis.Cmder, send func() error) error

// DialHook leaves dialing alone.
func (Around) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook calls the function.
func (a Around) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return a(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook leaves pipelines alone.
func (Around) ProcessPipelineHook(
	next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
