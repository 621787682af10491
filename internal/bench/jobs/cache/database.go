package cache

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/lockladder/lockladder/lock"
)

// Database has a stock of 100. Somebody buys one right after the first load has
// read it: later loads read 99.
type Database struct {
	// Takes is how long the n-th load takes, counted from 1.
	Takes func(n int) time.Duration

	mu    sync.Mutex // never held while a load lasts
	loads int
}

// The values that loads read: 100 and 99 in [wukong].
const (
	before = 100
	after  = 99
)

// Load reads the stock. It takes its time, and returns the value from when it
// began.
func (d *Database) Load(ctx context.Context) (string, error) {
	d.mu.Lock()
	d.loads++
	n, value := d.loads, before
	if n > 1 {
		value = after
	}
	d.mu.Unlock()
	if err := lock.Sleep(ctx, d.Takes(n)); err != nil {
		return "", err
	}
	return strconv.Itoa(value), nil
}

// Loads is how many loads have begun.
func (d *Database) Loads() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loads
}
