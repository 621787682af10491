package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/stores"
	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// askEvery is how long a refused client of a lock that polls waits, when -poll
// does not say.
const askEvery = 20 * time.Millisecond

// storeRows are the rows. Each has a server of its own, which is started for it. The stock
// of a lock's row is in Redis all the same.
var storeRows = []bench.Subject{
	polling(onMariaDB("mysql/record", func(db *sql.DB, env lock.Env) (lock.Lock, error) {
		return mysql.NewRecord(db, env.Key, pause(env))
	})),
	polling(onMariaDB("mysql/lease", func(db *sql.DB, env lock.Env) (lock.Lock, error) {
		return mysql.NewLease(db, env.Key, env.TTL, pause(env))
	})),
	onMariaDB("mysql/pessimistic", func(db *sql.DB, env lock.Env) (lock.Lock, error) {
		return mysql.NewPessimistic(db, env.Key)
	}),
	onZooKeeper("zookeeper/basic", func(s *zookeeper.Session, env lock.Env) (lock.Lock, error) {
		return zookeeper.NewBasic(s, name(env))
	}),
	onZooKeeper("zookeeper/sequential", func(s *zookeeper.Session,
		env lock.Env) (lock.Lock, error) {
		return zookeeper.NewSequential(s, name(env))
	}),
	onEtcd("etcd", func(client *clientv3.Client, env lock.Env) (lock.Lock, error) {
		return etcd.New(client, env.Key, env.TTL)
	}),
	optimistic("mysql/optimistic", mysql.ByVersion),
	optimistic("mysql/optimistic-timestamp", mysql.ByTimestamp),
}

// on is the row of a lock that is built on what all clients have in common, which start
// makes with a server, until end.
func on[T any](name string, installed func() error,
	start func(context.Context) (common T, end func(), err error),
	build func(T, lock.Env) (lock.Lock, error)) bench.Subject {
	return bench.Subject{Name: name, Kind: bench.Alternative, OnlyReal: true,
		Missing: installed,
		Share: func(ctx context.Context) (lock.Build, func(), error) {
			common, end, err := start(ctx)
			if err != nil {
				return nil, nil, err
			}
			return func(env lock.Env) (lock.Lock, error) {
				return build(common, env)
			}, end, nil
		}}
}

func onMariaDB(name string, build func(*sql.DB, lock.Env) (lock.Lock, error)) bench.Subject {
	return on(name, stores.HasMariaDB, startMariaDB, build)
}

func onZooKeeper(name string, build func(*zookeeper.Session, lock.Env) (lock.Lock,
	error)) bench.Subject {
	row := on(name, stores.HasZooKeeper, startZooKeeper, build)
	row.Lease = func(time.Duration) time.Duration {
		return bench.DefaultTTL // that of the session, which all share
	}
	return row
}

func onEtcd(name string, build func(*clientv3.Client, lock.Env) (lock.Lock,
	error)) bench.Subject {
	row := on(name, stores.HasEtcd, startEtcd, build)
	row.Lease = func(asked time.Duration) time.Duration {
		return (asked + time.Second - 1).Truncate(time.Second)
	}
	return row
}

// polling is the row of a lock whose refused clients ask again.
func polling(row bench.Subject) bench.Subject {
	row.Poll = askEvery
	return row
}

// pause is how long they wait.
func pause(env lock.Env) time.Duration {
	var o lock.Options
	for _, set := range env.Options {
		set(&o)
	}
	return o.LongestPause()
}

// optimistic is the row of a stock in MariaDB, without a lock.
func optimistic(name string, by mysql.Column) bench.Subject {
	return bench.Subject{Name: name, Kind: bench.Baseline, OnlyReal: true,
		Missing: stores.HasMariaDB,
		Open: func(ctx context.Context, amount int) (bench.Stock, error) {
			db, end, err := startMariaDB(ctx)
			if err != nil {
				return bench.Stock{}, err
			}
			stock := mysql.NewOptimistic(db, "stock", by)
			if err := stock.Fill(ctx, amount); err != nil {
				end()
				return bench.Stock{}, err
			}
			return bench.Stock{Take: stock.Attempt, Close: end,
				Left: func(ctx context.Context) (int64, error) {
					left, err := stock.Left(ctx)
					return int64(left), err
				}}, nil
		}}
}

// name is a lock's name without what no node's may have.
func name(env lock.Env) string { return strings.ReplaceAll(env.Key, "/", "-") }

// started opens the one server that was started. Both are there until end.
func started[T any](one []*servers.Server, err error, open func(*servers.Server) (T, error),
	closes func(T)) (common T, end func(), failed error) {
	if err == nil {
		if common, err = open(one[0]); err == nil {
			return common, func() { closes(common); one[0].Stop() }, nil
		}
		one[0].Stop()
	}
	return common, nil, fmt.Errorf("start a server: %w", err)
}

func startMariaDB(ctx context.Context) (*sql.DB, func(), error) {
	server, err := stores.StartMariaDB(ctx)
	return started([]*servers.Server{server}, err, func(s *servers.Server) (*sql.DB, error) {
		db, err := mysql.Open(ctx, stores.DSN(s))
		if err == nil {
			db.SetMaxIdleConns(1000) // the clients' connections stay
		}
		return db, err
	}, func(db *sql.DB) { db.Close() })
}

func startZooKeeper(ctx context.Context) (*zookeeper.Session, func(), error) {
	one, err := stores.StartZooKeeper(ctx, time.Second, 1)
	return started(one, err, func(s *servers.Server) (*zookeeper.Session, error) {
		return zookeeper.Open([]string{s.Addr()}, bench.DefaultTTL, nil)
	}, func(session *zookeeper.Session) { session.Close() })
}

func startEtcd(ctx context.Context) (*clientv3.Client, func(), error) {
	one, err := stores.StartEtcd(ctx, 1)
	return started(one, err, func(s *servers.Server) (*clientv3.Client, error) {
		return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + s.Addr()},
			Logger: zap.NewNop()})
	}, func(client *clientv3.Client) { client.Close() })
}
