// Package transactions has conversations between clients and a Redis server: locks
// taken by hand, and MULTI, EXEC, DISCARD, WATCH and UNWATCH. It records commands
// and replies as redis-cli prints them. docs/transactions.md shows them, and so do
// pages 01 and 04 of the workshop.
package transactions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Session is a server, and a record of what its clients say.
type Session struct {
	rdb  *redis.Client
	out  io.Writer
	wait func(time.Duration) // lets the server's time pass; nil is time.Sleep
}

// NewSession writes down what is said to the server at an address. Its caller
// closes it.
func NewSession(address string, out io.Writer) *Session {
	return &Session{out: out, rdb: redis.NewClient(&redis.Options{
		Addr: address, Protocol: 2, DisableIdentity: true, MaxRetries: -1})}
}

// Close ends all connections.
func (s *Session) Close() error { return s.rdb.Close() }

// Wait lets time pass.
func (s *Session) Wait(d time.Duration) {
	fmt.Fprintf(s.out, "(%v later)\n", d)
	if s.wait != nil {
		s.wait(d)
		return
	}
	time.Sleep(d)
}

// Client is somebody with a connection of their own: a transaction belongs to
// a connection.
type Client struct {
	name string
	conn *redis.Conn
	out  io.Writer
}

// Client connects under a name.
func (s *Session) Client(name string) *Client {
	return &Client{name, s.rdb.Conn(), s.out}
}

// Say sends a command and writes down the answer.
func (c *Client) Say(command string) {
	words := strings.Fields(command)
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
	}
	reply, err := c.conn.Do(context.Background(), args...).Result()
	if err != nil {
		reply = err
	}
	fmt.Fprintf(c.out, "%s> %s\n%s", c.name, command, answer(reply))
}

// answer writes a reply as redis-cli does.
func answer(reply any) string {
	switch r := reply.(type) {
	case error:
		if errors.Is(r, redis.Nil) {
			return "(nil)\n"
		}
		return "(error) " + strings.TrimRight(r.Error(), " ") + "\n"
	case nil:
		return "(nil)\n"
	case int64:
		return fmt.Sprintf("(integer) %d\n", r)
	case []any:
		var b strings.Builder
		for i, element := range r {
			fmt.Fprintf(&b, "%d) %s", i+1, answer(element))
		}
		return b.String()
	}
	return fmt.Sprintf("%v\n", reply)
}
