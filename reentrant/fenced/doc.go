// Package fenced is the lock of package reentrant with the fencing tokens of
// diamond/fenced: the one to import where functions that hold the lock call
// others that take it, and a storage can turn a late writer away.
//
// # What changed
//
// A counter stands beside the lock, and the script that grants the lock raises
// it with INCR and returns the new value. Token returns it. The documentation of
// diamond/fenced says what the holder and the storage do with it, and why the
// counter must never be removed.
//
// Entering once more keeps the token, for it is the same grant. So does asking
// again after a lost reply: the script finds its own owner id and reads the
// counter, which nobody can have raised meanwhile.
//
// If the counter is gone all the same, the owner that is inside stays the
// owner. It enters again with the token that it has. After a lost reply it
// finds itself, with the first token of a new counter.
//
// A user of the server needs these rights for a lock named stock, besides
// those of its driver (HELLO, CLIENT, PING). A name with one of *?[]\ needs a
// backslash before that character here. The
// counter of a lock that has a hash tag, such as {shop}:stock, is
// {shop}:stock::token.
//
//	ACL SETUSER worker on >secret +hello +client +ping +evalsha +eval \
//		+get +incr +del +exists +hexists +hset +pexpire ~stock \
//		~{stock}:token
//
// Whoever may write the keys can take the lock from its holder, and set the
// counter back, so all of its users must be trusted.
//
// # What still breaks
//
//   - failover, tokens_rise, node_restart, clock_jump: as in diamond/fenced.
//   - A server that evicts the lock or the counter, as there.
//   - hung_worker: the watchdog's price.
//   - A command in flight may outlast its caller's context, and one that was
//     not answered may arrive late, as in reentrant.
//   - A holder whose work uses up the client's pool loses its lease, as in
//     watchdog. A shared handle lets two jobs in, as in reentrant.
//
// A Redis Cluster whose slot is being moved answers TRYAGAIN, as diamond/fenced
// explains.
//
// # See it fail
//
//	go test ./reentrant/fenced -red=tokens_rise
package fenced
