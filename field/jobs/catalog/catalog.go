// Package catalog is the job of docs/catalog.md: a price list that many clients read and few
// change.
package catalog

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed read.lua
var readSource string
var readAll = redis.NewScript(readSource)

//go:embed change.lua
var changeSource string
var changeAll = redis.NewScript(changeSource)

// articles are how many a page has.
const articles = 10

// List is the list of prices at a key. Many clients read it, and now and then one of
// them changes all prices.
//
// The list has two pages, two keys of Redis, and takes two commands to read and three
// to change. All prices are the same number, so a reader that sees two numbers has
// seen half a change. With no lock that happens; with an exclusive lock the readers
// wait for each other, for nothing; with a read-write lock they read together. A
// script that reads or changes both pages in one step needs no lock at all.
type List struct {
	RDB redis.UniversalClient
	Key string
}

// pages are the keys of the two pages. The braces in Key keep both in one slot of a
// cluster.
func (l List) pages() []string {
	return []string{l.Key + ":page:1", l.Key + ":page:2"}
}

// Begin sets all prices to 0.
func (l List) Begin(ctx context.Context) error {
	for _, page := range l.pages() {
		if err := l.write(ctx, page, 0); err != nil {
			return fmt.Errorf("begin the list: %w", err)
		}
	}
	return nil
}

// Read reads one page after the other. Half says that it has seen half a change.
func (l List) Read(ctx context.Context) (price int, half bool, err error) {
	var all []string
	for _, page := range l.pages() {
		prices, err := l.RDB.HVals(ctx, page).Result()
		if err != nil {
			return 0, false, fmt.Errorf("read %s: %w", page, err)
		}
		all = append(all, prices...)
	}
	return judged(all)
}

// ReadAtOnce is Read in one step.
func (l List) ReadAtOnce(ctx context.Context) (price int, half bool, err error) {
	all, err := readAll.Run(ctx, l.RDB, l.pages()).StringSlice()
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", l.Key, err)
	}
	return judged(all)
}

// judged says whether prices are of one change.
func judged(prices []string) (price int, half bool, err error) {
	if len(prices) != 2*articles {
		return 0, false, fmt.Errorf("the list has %d prices, not %d", len(prices), 2*articles)
	}
	for _, other := range prices {
		half = half || other != prices[0]
	}
	price, err = strconv.Atoi(prices[0])
	return price, half, err
}

// Change reads a price, and then writes one more to all articles, one page after
// the other.
func (l List) Change(ctx context.Context) error {
	price, err := l.RDB.HGet(ctx, l.pages()[0], "0").Int()
	if err != nil {
		return fmt.Errorf("read a price of %s: %w", l.Key, err)
	}
	for _, page := range l.pages() {
		if err := l.write(ctx, page, price+1); err != nil {
			return fmt.Errorf("change %s: %w", page, err)
		}
	}
	return nil
}

// ChangeAtOnce is Change in one step.
func (l List) ChangeAtOnce(ctx context.Context) error {
	if err := changeAll.Run(ctx, l.RDB, l.pages()).Err(); err != nil {
		return fmt.Errorf("change %s: %w", l.Key, err)
	}
	return nil
}

func (l List) write(ctx context.Context, page string, price int) error {
	var fields []any
	for article := range articles {
		fields = append(fields, article, price)
	}
	return l.RDB.HSet(ctx, page, fields...).Err()
}
