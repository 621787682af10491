// Package script is gold with a script in place of the command.
//
// This is the third scheme of [survey] (docs/sources.md).
//
// # What changed
//
// Redis runs a Lua script as one command: no other client's command comes
// between two of its lines. So SETNX and PEXPIRE, the two commands of silver,
// are safe inside a script. Redis has had scripts since 2.6.0, and the options
// of SET since 2.6.12: for the versions in between, this is the lock in one
// step. The rungs from diamond on use scripts for what no single command of an
// older Redis does.
//
// A script gets its arguments in two lists. KEYS are the names of keys, so
// that a cluster knows which node to ask. ARGV is everything else. Nothing is
// pasted into the text of the script: it is the same for every lock, and the
// server compiles it once.
//
// The client sends the SHA1 of the text with EVALSHA. A server that does not
// know the script answers NOSCRIPT, after a restart for example, and the
// client sends the whole text with EVAL. The first lock on a new server
// therefore costs two commands.
//
// Every path of the script returns something. The first script in [survey]
// returns nothing when it has taken the lock: its caller sees a nil reply and
// must take that for a refusal, or for an error.
//
// A script is not a transaction that is rolled back. If its second command
// fails, what the first one did stays done.
//
// # What still breaks
//
// Exactly what breaks gold. The step of taking the lock was atomic before and
// is atomic now; nothing else has changed. The value still names no owner, and
// DEL still deletes any client's lock: A's lease of 10 s ends, B gets the lock,
// A is done at 15 s and deletes it.
//
// # See it fail
//
//	go test ./gold/script -red=overrun_release
package script
