// Package mysql has the locks that one builds on a MySQL or MariaDB database,
// which many have before they have Redis. The survey of distributed locks
// ([survey]) names three.
//
//   - Record: a row is the lock, and a unique index lets one client insert it.
//     Whoever dies leaves it there, and whoever deletes it need not have
//     inserted it. Lease is what the survey's own cautions lead to: a row with an
//     owner, a count and an expiry, and a Sweeper that removes what has expired.
//   - Pessimistic: SELECT … FOR UPDATE locks a row for as long as a transaction
//     lasts. The database knows the owner, its connection, and frees the lock
//     when that ends.
//   - Optimistic: no lock at all. An update names the version that it has read
//     and changes nothing when that is no longer the row's.
//
// One server keeps what it has acknowledged. A replica is asynchronous unless
// set up otherwise, and may not know a lock when it is promoted, as with Redis.
package mysql
