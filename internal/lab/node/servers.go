package node

import (
	"crypto/tls"
	"net"
	"time"
)

// Server is a real Redis server.
type Server interface {
	Addr() string
	Auth() (user, password string) // empty: none is needed
}

// host is a server that may be killed and stopped.
type host interface {
	Kill()          // as kill -9 does
	Restart() error // after Kill, on the same address
	Pause() error   // it accepts connections and never answers
	Resume() error
}

// OwnServer is a server that was started for the scenarios, which may do to it
// what they must not do to somebody's. It comes back without its data.
type OwnServer interface {
	Server
	host
	Replicate() error // starts a replica and holds replication back from then on
	Promote() error   // kills the server; Addr is the replica's from then on
	Restore() error   // takes a replica away and brings the server back
}

// ClusterServer is a Redis Cluster, and one node to a lock: its masters know
// which of them has a key.
type ClusterServer interface {
	Server
	Masters() []string // addresses
}

// SentinelServer is a server that Sentinels watch, and know where it is. Auth is
// theirs, too.
type SentinelServer interface {
	Server
	MasterName() string
	Sentinels() []string // addresses
}

// GuardedServer is a server that is reached through TLS, and whose scenarios' clients are
// another user than the operator, who is Auth.
type GuardedServer interface {
	Server
	TLS() *tls.Config
	Worker() (user, password string)
}

// dial connects to a server at one of its addresses.
func dial(s Server, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: time.Second}
	if guarded, ok := s.(GuardedServer); ok {
		return tls.DialWithDialer(d, "tcp", addr, guarded.TLS())
	}
	return d.Dial("tcp", addr)
}

// worker is the user that a scenario's clients are.
func worker(s Server) (user, password string) {
	if guarded, ok := s.(GuardedServer); ok {
		return guarded.Worker()
	}
	return s.Auth()
}
