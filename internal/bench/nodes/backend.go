package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockladder/lockladder/lock"
)

// backend is where the servers are: in this process, in a world whose time is not the
// real one, or real ones.
type backend interface {
	// configure completes the options of a node's client.
	configure(o *redis.Options, node int)

	// dial connects to a node.
	dial(ctx context.Context, node int) (net.Conn, error)

	// warm opens all of a client's connections where that takes time.
	warm(ctx context.Context, rdb *redis.Client, connections int) error

	// usage is what the servers say that they have done.
	usage(ctx context.Context, nodes []*redis.Client) Usage

	// clear removes all keys from servers that nobody else uses.
	clear()

	// sweep removes the keys with a prefix from servers that stay.
	sweep(ctx context.Context, nodes []*redis.Client, prefix string) error

	// close ends servers that were started for the run.
	close() error
}

// common is what most backends have in common: connections are opened in time, the
// servers say nothing of themselves, and nothing of a run stays.
type common struct{}

func (common) configure(*redis.Options, int) {}

func (common) warm(ctx context.Context, rdb *redis.Client, n int) error {
	return warm(ctx, rdb, n)
}

func (common) usage(context.Context, []*redis.Client) Usage         { return Usage{} }
func (common) clear()                                               {}
func (common) sweep(context.Context, []*redis.Client, string) error { return nil }
func (common) close() error                                         { return nil }

// embedded servers are part of this process.
type embedded struct {
	common
	servers []*miniredis.Miniredis
	collect func() // as before the servers
}

func (*embedded) configure(o *redis.Options, _ int) {
	o.ReadTimeout, o.WriteTimeout = embeddedWithin, embeddedWithin
}

func (e *embedded) dial(_ context.Context, node int) (net.Conn, error) {
	return e.servers[node].Dial()
}

func (e *embedded) clear() {
	for _, server := range e.servers {
		server.FlushAll()
	}
}

func (e *embedded) close() error {
	for _, server := range e.servers {
		server.Close()
	}
	e.collect()
	return nil
}

// virtual servers belong to a world, and end with it.
type virtual struct {
	common
	connect func(node int) (net.Conn, error)
	calls   func() int64
}

func (v virtual) dial(_ context.Context, node int) (net.Conn, error) {
	return v.connect(node)
}

func (virtual) warm(context.Context, *redis.Client, int) error { return nil }

func (v virtual) usage(context.Context, []*redis.Client) Usage {
	return Usage{Calls: v.calls(), Known: true}
}

// remote are servers that the user named, or that were started for the run.
type remote struct {
	common
	addresses []string
	password  string
}

func (e *remote) configure(o *redis.Options, node int) { o.Addr = e.addresses[node] }

func (e *remote) dial(ctx context.Context, node int) (net.Conn, error) {
	d := net.Dialer{Timeout: replyWithin}
	conn, err := d.DialContext(ctx, "tcp", e.addresses[node])
	if err != nil || e.password == "" {
		return conn, err
	}
	if err := authenticate(ctx, conn, e.password); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (*remote) usage(ctx context.Context, nodes []*redis.Client) Usage {
	return usage(ctx, nodes)
}

// sweep looks for the prefix anywhere in a key: a lock may put a word of its own
// in front.
func (*remote) sweep(ctx context.Context, nodes []*redis.Client,
	prefix string) error {
	var errs []error
	for _, rdb := range nodes {
		found := rdb.Scan(ctx, 0, "*"+prefix+"*", 1000).Iterator()
		err := found.Err()
		for err == nil && found.Next(ctx) {
			err = rdb.Del(ctx, found.Val()).Err()
		}
		if err == nil {
			err = found.Err()
		}
		if err != nil {
			errs = append(errs, lock.Failed(ctx, "remove the keys *"+prefix+
				"* from", rdb.Options().Addr, err))
		}
	}
	return errors.Join(errs...)
}

// authenticate shows a server the password. It is done for every driver alike: a
// lock may bring its own, which is given nothing but a connection. It ends with
// the context, and leaves no deadline behind.
func authenticate(ctx context.Context, conn net.Conn, password string) error {
	if err := conn.SetDeadline(time.Now().Add(replyWithin)); err != nil {
		return fmt.Errorf("authenticate: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	err := proto.Write(conn, []string{"AUTH", password})
	var answer string
	if err == nil {
		// Nothing follows the answer, so nothing is lost in the buffer.
		answer, err = proto.Read(bufio.NewReader(conn))
	}
	if !stop() {
		err = ctx.Err() // it has ended the exchange, or its deadline would stay
	}
	switch {
	case err != nil:
		return fmt.Errorf("authenticate: %w", err)
	case !strings.HasPrefix(answer, "+OK"):
		return fmt.Errorf("authenticate: %s",
			strings.TrimSpace(strings.TrimPrefix(answer, "-")))
	}
	return conn.SetDeadline(time.Time{})
}

// warm takes every connection of the pool and then returns them all. Those
// that are open already cost one round trip.
func warm(ctx context.Context, rdb *redis.Client, connections int) error {
	ctx, cancel := context.WithTimeout(ctx, warmWithin)
	defer cancel()
	taken := make([]*redis.Conn, connections)
	// The first failure ends the others, which would fail as well, one by one.
	dialling, ctx := errgroup.WithContext(ctx)
	dialling.SetLimit(32) // a server's backlog may be as short as 128
	for i := range taken {
		dialling.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			taken[i] = rdb.Conn()
			if err := taken[i].Ping(ctx).Err(); err != nil {
				return lock.Failed(ctx, fmt.Sprintf("open %d connections to",
					connections), rdb.Options().Addr, err)
			}
			return nil
		})
	}
	err := dialling.Wait()
	for _, conn := range taken {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}
	return err
}
