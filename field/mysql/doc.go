// Package mysql has the locks that one builds on a MySQL or MariaDB database,
// which many have before they have Redis. The survey of distributed locks
// ([survey]) names three.
//
//   - Record: a row is the lock, and a unique index lets one client insert it.
//     A client that dies leaves the row there, and a client that deletes it
//     need not have inserted it. Lease follows the survey's own cautions: a row
//     with an owner, a count and an expiry, and a Sweeper that removes expired
//     rows.
//   - Pessimistic: SELECT … FOR UPDATE locks a row for as long as a transaction
//     lasts. The database knows the owner, its connection, and frees the lock
//     when that ends.
//   - Optimistic: no lock at all. An update names the version that it has read
//     and changes nothing when that is no longer the row's.
//
// One server keeps what it has acknowledged. A replica is asynchronous unless
// set up otherwise, and may not know a lock when it is promoted, as with Redis.
package mysql
