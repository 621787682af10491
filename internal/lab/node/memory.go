package node

import (
	"strings"
	"sync/atomic"
)

// memory is that of an embedded server, which may be full: maxmemory is reached, and the
// policy is noeviction.
type memory struct {
	full  atomic.Bool
	wrote atomic.Bool // the command under way is a script, and has changed something
}

// outOfMemory is what Redis answers when it is full.
const outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."

// begins says that a client's command begins.
func (m *memory) begins() { m.wrote.Store(false) }

// refuses says whether a command is refused, which may be one of a script. A script that
// has written before can't be stopped in the middle, and so all of it is executed.
func (m *memory) refuses(command string) bool {
	grows := contains(growing, command)
	if grows && m.full.Load() && !m.wrote.Load() {
		return true
	}
	if grows || contains(shrinking, command) {
		m.wrote.Store(true)
	}
	return false
}

func contains(list, command string) bool {
	return strings.Contains(list, " "+strings.ToUpper(command)+" ")
}

// growing are the commands that Redis 7 calls denyoom, and shrinking are its other
// writes.
const (
	growing = " APPEND BITFIELD BITOP BLMOVE BRPOPLPUSH COPY DECR DECRBY GEOADD" +
		" GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE GETSET HINCRBY HINCRBYFLOAT" +
		" HMSET HSET HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET" +
		" MSET MSETNX PFADD PFMERGE PSETEX RESTORE RPOPLPUSH RPUSH RPUSHX SADD" +
		" SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SORT SUNIONSTORE" +
		" XADD XSETID ZADD ZDIFFSTORE ZINCRBY ZINTERSTORE ZRANGESTORE ZUNIONSTORE "
	shrinking = " BLMPOP BLPOP BRPOP BZMPOP BZPOPMAX BZPOPMIN DEL EXPIRE EXPIREAT" +
		" FLUSHALL FLUSHDB GETDEL GETEX HDEL LMPOP LPOP LREM LTRIM MIGRATE MOVE" +
		" PERSIST PEXPIRE PEXPIREAT RENAME RENAMENX RPOP SMOVE SPOP SREM SWAPDB" +
		" UNLINK XACK XAUTOCLAIM XCLAIM XDEL XREADGROUP XTRIM ZMPOP ZPOPMAX ZPOPMIN" +
		" ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE "
)
