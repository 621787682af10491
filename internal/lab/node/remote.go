package node

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"github.com/lockladder/lockladder/internal/lab/history"
)

// remote is a node on real Redis servers.
type remote struct {
	*borrowed
	observer redis.UniversalClient // for what belongs to no client
	full     atomic.Bool           // see Fill
}

// newObserver is a client for what belongs to no client of the scenario.
func newObserver(s Server) redis.UniversalClient {
	cluster, isCluster := s.(ClusterServer)
	o := quiet(func(_ context.Context, _, addr string) (net.Conn, error) {
		if !isCluster {
			addr = s.Addr() // as it is now
		}
		return dial(s, addr)
	})
	o.Username, o.Password = s.Auth()
	o.ReadTimeout = time.Second
	if isCluster {
		o.Addrs = cluster.Masters()
		return redis.NewClusterClient(o.Cluster())
	}
	o.MaxRetries = 3
	return redis.NewClient(o.Simple())
}

// look reads a key's value, or a hash's fields, and what is left of its lease.
const look = `
local kind = redis.call('TYPE', KEYS[1]).ok
local value = kind
if kind == 'string' then
  value = redis.call('GET', KEYS[1])
elseif kind == 'hash' then
  local fields = redis.call('HKEYS', KEYS[1])
  table.sort(fields)
  value = table.concat(fields, ' ')
end
local now = redis.call('TIME')
return {kind, value, redis.call('PTTL', KEYS[1]),
  now[1] * 1000 + math.floor(now[2] / 1000)}`

func (n *remote) Observe(key string) history.State {
	if n.away() {
		return history.State{}
	}
	asked := time.Now()
	reply, err := n.observer.Eval(n.setting.Context, look, []string{key}).Slice()
	n.setting.Took(time.Since(asked))
	if err != nil {
		return history.State{}
	}
	reading := &history.Reading{Now: reply[3].(int64)}
	if reply[0] == "none" {
		return history.State{Reading: reading}
	}
	s := history.State{Exists: true, Value: reply[1].(string), Reading: reading}
	if ttl := reply[2].(int64); ttl >= 0 {
		s.Ends = time.Now().Add(time.Duration(ttl) * time.Millisecond)
		reading.Ends = reading.Now + ttl
	}
	return s
}

func (n *remote) Way() Way {
	switch s := n.server.(type) {
	case ClusterServer:
		return Way{Masters: s.Masters()}
	case SentinelServer:
		_, password := s.Auth()
		return Way{Name: s.MasterName(), Sentinels: s.Sentinels(),
			Password: password}
	}
	return Way{}
}

func (n *remote) NewClient(dial Dial) redis.UniversalClient {
	return n.Way().NewClient(dial)
}

func (n *remote) Accept(addr string) (Conn, error) {
	if way := n.Way(); len(way.Masters)+len(way.Sentinels) == 0 || addr == "" {
		addr = n.server.Addr()
	}
	c, err := dial(n.server, addr)
	if err != nil {
		return nil, err
	}
	u := &upstream{conn: c, replies: make(chan string, 16), inbox: newInbox()}
	user, password := worker(n.server)
	if password != "" {
		args := []string{"AUTH", user, password}
		if user == "" {
			args = []string{"AUTH", password}
		}
		if err := proto.Write(c, args); err != nil {
			c.Close()
			return nil, err
		}
	}
	go u.read(password != "")
	return u, nil
}

func (n *remote) Operate(args ...string) error {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = arg
	}
	return failed("send "+args[0], n.observer.Do(n.setting.Context, words...).Err())
}

func (n *remote) Delete(keys ...string) error {
	return n.Operate(append([]string{"DEL"}, keys...)...)
}

// Fill is Node's: a server without data has more than a byte.
func (n *remote) Fill() error {
	n.full.Store(true)
	return n.Operate("CONFIG", "SET", "maxmemory", "1")
}

func (n *remote) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	defer n.observer.Close()
	woken := n.wake()
	var restored error
	if n.full.Load() {
		restored = failed("free the memory",
			n.observer.ConfigSet(ctx, "maxmemory", "0").Err())
	}
	if own, ok := n.server.(OwnServer); ok {
		restored = errors.Join(restored, failed("restore", own.Restore()))
	}
	return errors.Join(woken, restored, failed("remove the scenario's keys",
		n.each(ctx, func(ctx context.Context, rdb *redis.Client) error {
			keys := rdb.Scan(ctx, 0, "*"+n.setting.Key+"*", 1000).Iterator()
			for keys.Next(ctx) {
				if err := rdb.Del(ctx, keys.Val()).Err(); err != nil {
					return err
				}
			}
			return keys.Err()
		})))
}

// each does something on every server of the node.
func (n *remote) each(ctx context.Context,
	do func(context.Context, *redis.Client) error) error {
	if cluster, ok := n.observer.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, do)
	}
	return do(ctx, n.observer.(*redis.Client))
}
