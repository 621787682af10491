// Package timetable is a job that several services have to do once between them, which a
// lock alone does not see to: docs/scheduled.md has what becomes of the job behind each rung.
package timetable

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/lock"
)

//go:embed done.lua
var source string
var writeDone = redis.NewScript(source)

// Service is one of several that have the same timetable, every entry of which
// is to be done once ([survey]). It is used by one goroutine at a time.
//
// A lock alone does not do that. The services' clocks differ, and a job may take
// less time than they differ by: the second service comes when the first one has
// done the job and released the lock. So a service writes a record of the job it
// has done, and every service that gets the lock reads the record first. The lock
// keeps two from doing the job at one time, its lease lets another one do it when
// the first has died, and the record is what makes it once.
//
// A job whose service dies in the middle is begun again by another one. The effects
// that it had by then remain. An effect that must not happen twice belongs in the
// step that writes the record, done.lua, or must be checked where it happens.
type Service struct {
	RDB   redis.UniversalClient
	Key   string        // of the record of what was done last
	Every time.Duration // the job is due at its multiples: each minute, say
	Lock  lock.Lock     // this service's owner of the lock that all share

	// Job does what is due at that time.
	Job func(ctx context.Context, due time.Time) error

	// Failed is told of jobs that failed, and of locks; nil: nobody is. Another
	// service may still do what is due, or this one when it is due again.
	Failed func(due time.Time, err error)
}

// Run does the job whenever it is due and nobody else has done it, until ctx ends,
// and returns the error of ctx. When it begins, it also does the job that was due
// last, if nobody has: services may all have been down. A job may take longer than
// Every. The service then tells Failed of those that it has missed meanwhile, and
// nobody does them later.
func (s *Service) Run(ctx context.Context) error {
	for due := time.Now().Truncate(s.Every); ; due = due.Add(s.Every) {
		if err := lock.Sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		// A service stops waiting once the next run is due. The job may take longer.
		waiting, cancel := context.WithDeadline(ctx, due.Add(s.Every))
		err := s.once(ctx, waiting, due)
		cancel()
		interrupted := ctx.Err() != nil && errors.Is(err, ctx.Err())
		if err != nil && !interrupted && s.Failed != nil {
			s.Failed(due, err)
		}
	}
}

// once does what is due at a time unless it was done before. It waits for the lock until
// waiting ends. After an error it may be done by another service.
func (s *Service) once(ctx, waiting context.Context, due time.Time) (err error) {
	if err := s.Lock.Lock(waiting); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := finishing(ctx)
		defer cancel()
		// A lease that has ended meanwhile has cost nothing: see done.lua.
		if e := s.Lock.Unlock(ctx); !errors.Is(e, lock.ErrNotHeld) {
			err = errors.Join(err, e)
		}
	}()
	last, err := s.RDB.Get(ctx, s.Key).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("read what was done last: %w", err)
	}
	if err == nil && last >= due.UnixMilli() {
		return nil
	}
	if err := s.Job(ctx, due); err != nil {
		return fmt.Errorf("the job of %v: %w", due, err)
	}
	ctx, end := finishing(ctx)
	defer end()
	if err := writeDone.Run(ctx, s.RDB, []string{s.Key}, due.UnixMilli()).Err(); err != nil {
		return fmt.Errorf("write down the job of %v: %w", due, err)
	}
	return nil
}

// finishWithin bounds what follows a job that is done.
const finishWithin = 5 * time.Second

// finishing is a context for that: the service may have been told to end while it
// worked, and a job that nobody writes down is done again.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
}
