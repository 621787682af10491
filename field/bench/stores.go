package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockladder/lockladder/field/etcd"
	"github.com/lockladder/lockladder/field/mysql"
	"github.com/lockladder/lockladder/field/zookeeper"
	"github.com/lockladder/lockladder/internal/bench"
	"github.com/lockladder/lockladder/internal/servers"
	"github.com/lockladder/lockladder/lock"
)

// askEvery is how long a refused client of a lock that polls waits, when -poll
// does not say.
const askEvery = 20 * time.Millisecond

// store is where rows live that are not in Redis: each row has a server of its
// own, which is started for it. The stock of a lock's row is in Redis all the
// same.
type store struct {
	installed func() error
	lease     func(time.Duration) time.Duration // see Subject
}

var (
	mariaDB   = store{installed: servers.HasMariaDB}
	zooKeeper = store{servers.HasZooKeeper, func(time.Duration) time.Duration {
		return bench.DefaultTTL // that of the session, which all share
	}}
	etcdStore = store{servers.HasEtcd, func(asked time.Duration) time.Duration {
		return (asked + time.Second - 1).Truncate(time.Second)
	}}
)

// stores are the rows.
var stores = []bench.Subject{
	polling(mariaDB.lock("mysql/record", onMariaDB(func(db *sql.DB,
		env lock.Env) (lock.Lock, error) {
		return mysql.NewRecord(db, env.Key, pause(env))
	}))),
	polling(mariaDB.lock("mysql/lease", onMariaDB(func(db *sql.DB,
		env lock.Env) (lock.Lock, error) {
		return mysql.NewLease(db, env.Key, env.TTL, pause(env))
	}))),
	mariaDB.lock("mysql/pessimistic", onMariaDB(func(db *sql.DB,
		env lock.Env) (lock.Lock, error) {
		return mysql.NewPessimistic(db, env.Key)
	})),
	zooKeeper.lock("zookeeper/basic", onZooKeeper(func(s *zookeeper.Session,
		env lock.Env) (lock.Lock, error) {
		return zookeeper.NewBasic(s, name(env))
	})),
	zooKeeper.lock("zookeeper/sequential", onZooKeeper(
		func(s *zookeeper.Session, env lock.Env) (lock.Lock, error) {
			return zookeeper.NewSequential(s, name(env))
		})),
	etcdStore.lock("etcd", onEtcd),
	optimistic("mysql/optimistic", func(db *sql.DB) *mysql.Optimistic {
		return mysql.NewOptimistic(db, stock, mysql.ByVersion)
	}),
	optimistic("mysql/optimistic-timestamp", func(db *sql.DB) *mysql.Optimistic {
		return mysql.NewOptimistic(db, stock, mysql.ByTimestamp)
	}),
}

// share is what starts a server and makes locks on it.
type share = func(context.Context) (lock.Build, func(), error)

// lock is the row of a lock in the store.
func (s store) lock(name string, start share) bench.Subject {
	row := s.row(name)
	row.Kind, row.Lease = bench.Alternative, s.lease
	row.Share = func(ctx context.Context) (lock.Build, func(), error) {
		build, end, err := start(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("start a server: %w", err)
		}
		return build, end, nil
	}
	return row
}

func (s store) row(name string) bench.Subject {
	return bench.Subject{Name: name, OnlyReal: true, OwnServer: true,
		Missing: s.installed}
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

// stock is the name of the stock that is sold without a lock.
const stock = "stock"

// optimistic is the row of a stock in MariaDB, without a lock.
func optimistic(name string, on func(*sql.DB) *mysql.Optimistic) (
	row bench.Subject) {
	row = mariaDB.row(name)
	row.Kind = bench.Baseline
	row.Open = func(ctx context.Context, amount int) (bench.Stock, error) {
		db, end, err := startMariaDB(ctx)
		if err != nil {
			return bench.Stock{}, fmt.Errorf("start a server: %w", err)
		}
		take := on(db)
		if err := take.Fill(ctx, amount); err != nil {
			end()
			return bench.Stock{}, err
		}
		return bench.Stock{
			Take: take.Attempt,
			Left: func(ctx context.Context) (int64, error) {
				left, err := take.Left(ctx)
				return int64(left), err
			},
			Close: end,
		}, nil
	}
	return row
}

// name is a lock's name without what no node's may have.
func name(env lock.Env) string { return strings.ReplaceAll(env.Key, "/", "-") }

const database = "lockladder"

func onMariaDB(build func(*sql.DB, lock.Env) (lock.Lock, error)) share {
	return func(ctx context.Context) (lock.Build, func(), error) {
		db, end, err := startMariaDB(ctx)
		return func(env lock.Env) (lock.Lock, error) {
			return build(db, env)
		}, end, err
	}
}

// startMariaDB starts a server with a database, which are both there until end.
func startMariaDB(ctx context.Context) (db *sql.DB, end func(), err error) {
	server, err := servers.StartMariaDB(ctx)
	if err != nil {
		return nil, nil, err
	}
	if db, err = openMariaDB(ctx, server); err != nil {
		server.Stop()
		return nil, nil, err
	}
	return db, func() { db.Close(); server.Stop() }, nil
}

// openMariaDB makes a database on a fresh server and connects to it.
func openMariaDB(ctx context.Context, server *servers.Store) (*sql.DB, error) {
	user, password := server.Auth()
	dsn := fmt.Sprintf("%s:%s@tcp(%s)/", user, password, server.Addr())
	admin, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if _, err := admin.ExecContext(ctx,
		"CREATE DATABASE "+database); err != nil {
		return nil, err
	}
	db, err := mysql.Open(ctx, dsn+database)
	if err == nil {
		db.SetMaxIdleConns(1000) // the clients' connections stay
	}
	return db, err
}

func onZooKeeper(build func(*zookeeper.Session, lock.Env) (lock.Lock,
	error)) share {
	return func(ctx context.Context) (lock.Build, func(), error) {
		server, err := servers.StartZooKeeper(ctx, time.Second)
		if err != nil {
			return nil, nil, err
		}
		session, err := zookeeper.Open([]string{server.Addr()},
			bench.DefaultTTL, nil)
		if err != nil {
			server.Stop()
			return nil, nil, err
		}
		return func(env lock.Env) (lock.Lock, error) {
			return build(session, env)
		}, func() { session.Close(); server.Stop() }, nil
	}
}

func onEtcd(ctx context.Context) (lock.Build, func(), error) {
	server, err := servers.StartEtcd(ctx)
	if err != nil {
		return nil, nil, err
	}
	client, err := etcd.Open(ctx, clientv3.Config{
		Endpoints: []string{"http://" + server.Addr()}})
	if err != nil {
		server.Stop()
		return nil, nil, err
	}
	return func(env lock.Env) (lock.Lock, error) {
		return etcd.New(client, env.Key, env.TTL)
	}, func() { client.Close(); server.Stop() }, nil
}
