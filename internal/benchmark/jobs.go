package benchmark

import "github.com/redis/go-redis/v9"

// What the jobs of other packages use of a run's servers.

// Client makes one more client of a node, counted from 0, with so many
// connections. What it sends is counted. The caller closes it.
func (s *Servers) Client(node, connections int) *redis.Client {
	o := *s.nodes[node].Options()
	o.PoolSize = connections
	o.PoolTimeout = warmWithin // who waits for a connection is in no hurry
	rdb := redis.NewClient(&o)
	rdb.AddHook(tap{s.traffic, node})
	return rdb
}

// Password is what the servers ask for, "" if they ask for none.
func (s *Servers) Password() string { return s.password }

// Nodes is how many servers there are.
func (s *Servers) Nodes() int { return len(s.nodes) }

// Begin empties embedded servers and returns the prefix for the keys of a row. A
// cluster keeps them in one slot, and Close removes them.
func (s *Servers) Begin(row string) string {
	s.clear()
	return s.prefix + "{" + row + "}:"
}

// Traffic is how many commands and round trips all clients have made so far.
func (s *Servers) Traffic() (commands, roundTrips int64) {
	return s.traffic.commands.Load(), s.traffic.roundTrips.Load()
}
