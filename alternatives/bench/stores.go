package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockladder/lockladder/alternatives/etcd"
	"github.com/lockladder/lockladder/alternatives/mysql"
	"github.com/lockladder/lockladder/alternatives/zookeeper"
	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/lock"
	"github.com/lockladder/lockladder/internal/servers"
)

// askEvery is how long a refused client of a lock that polls waits.
const askEvery = 20 * time.Millisecond

// store is a lock that lives in another store than Redis. The stock stays where
// it is for all rows.
type store struct {
	name  string
	start func(context.Context) (lock.Build, func(), error)
}

var stores = []store{
	{"mysql/record", onMariaDB(func(db *sql.DB, env lock.Env) (lock.Lock,
		error) {
		return mysql.NewRecord(db, env.Key, askEvery)
	})},
	{"mysql/lease", onMariaDB(func(db *sql.DB, env lock.Env) (lock.Lock,
		error) {
		return mysql.NewLease(db, env.Key, env.TTL, askEvery)
	})},
	{"mysql/pessimistic", onMariaDB(func(db *sql.DB, env lock.Env) (lock.Lock,
		error) {
		return mysql.NewPessimistic(db, env.Key)
	})},
	{"zookeeper/basic", onZooKeeper(func(s *zookeeper.Session,
		env lock.Env) (lock.Lock, error) {
		return zookeeper.NewBasic(s, name(env))
	})},
	{"zookeeper/sequential", onZooKeeper(func(s *zookeeper.Session,
		env lock.Env) (lock.Lock, error) {
		return zookeeper.NewSequential(s, name(env))
	})},
	{"etcd", onEtcd},
}

// name is a lock's name without what no node's may have.
func name(env lock.Env) string { return strings.ReplaceAll(env.Key, "/", "-") }

// rows are the stores' subjects: each starts a server of its own for its round.
func (s store) row() benchmark.Subject {
	return benchmark.Subject{
		Name: s.name, Kind: benchmark.Alternative, OnlyReal: true,
		Share: func() (lock.Build, func()) {
			if os.Getenv(benchmark.ServiceVariable) != "" {
				return failing(errors.New("a store is started by one process:" +
					" it can't be measured in several")), func() {}
			}
			build, end, err := s.start(context.Background())
			if err != nil {
				return failing(fmt.Errorf("start %s: %w", s.name, err)), func() {}
			}
			return build, end
		},
	}
}

func failing(err error) lock.Build {
	return func(lock.Env) (lock.Lock, error) { return nil, err }
}

const database = "lockladder"

func onMariaDB(build func(*sql.DB, lock.Env) (lock.Lock, error)) func(
	context.Context) (lock.Build, func(), error) {
	return func(ctx context.Context) (lock.Build, func(), error) {
		server, err := servers.StartMariaDB(ctx)
		if err != nil {
			return nil, nil, err
		}
		db, err := openMariaDB(ctx, server.Addr())
		if err != nil {
			server.Stop()
			return nil, nil, err
		}
		return func(env lock.Env) (lock.Lock, error) { return build(db, env) },
			func() { db.Close(); server.Stop() }, nil
	}
}

// openMariaDB makes a database on a fresh server and connects to it.
func openMariaDB(ctx context.Context, addr string) (*sql.DB, error) {
	admin, err := sql.Open("mysql", "root@tcp("+addr+")/")
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	if _, err := admin.ExecContext(ctx,
		"CREATE DATABASE "+database); err != nil {
		return nil, err
	}
	db, err := mysql.Open(ctx, "root@tcp("+addr+")/"+database)
	if err == nil {
		db.SetMaxIdleConns(1000) // the clients' connections stay
	}
	return db, err
}

func onZooKeeper(build func(*zookeeper.Session, lock.Env) (lock.Lock,
	error)) func(context.Context) (lock.Build, func(), error) {
	return func(ctx context.Context) (lock.Build, func(), error) {
		server, err := servers.StartZooKeeper(ctx, time.Second)
		if err != nil {
			return nil, nil, err
		}
		session, err := zookeeper.Open([]string{server.Addr()},
			benchmark.DefaultTTL, nil)
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
