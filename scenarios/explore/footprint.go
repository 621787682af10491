package explore

// footprint is what an action has read and written: a bit for each client's process,
// for each node, for the set of clients that believe they hold the lock, for the
// storage, for the connections that listen, and for the number of strays. Two actions that do not touch
// what the other one writes come to the same in either order. The request to the
// storage plays no part in that.
type footprint struct {
	reads, writes uint64
	asked         asked
}

// asked is a request to the storage, and whether the storage refused its token.
type asked struct{ reads, writes, refused bool }

const (
	beliefs    uint64 = 1 << 62
	storages   uint64 = 1 << 61
	strayed    uint64 = 1 << 60 // what of a client's commands still arrives
	listening  uint64 = 1 << 59 // which connections have subscribed to something
	allNodes   uint64 = 1<<59 - 1<<30
	everything        = ^uint64(0)
)

func mine(client int) uint64 { return 1 << client }

func onNode(n int) uint64 { return 1 << (30 + n) }

// apart says whether two actions come to the same in either order.
func (f footprint) apart(g footprint) bool {
	return f.writes&(g.reads|g.writes) == 0 && g.writes&f.reads == 0
}
