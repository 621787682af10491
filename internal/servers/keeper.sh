# keeper.sh: let a server live as long as standard input is open, then kill it and
# remove its directory.
# $1 the server's directory
# $2... the server's program and its arguments
trap '' INT TERM HUP
dir=$1
shift
"$@" </dev/null &
server=$!
echo "$server" >"$dir/pid"
# Whoever started this holds the other end. It closes however that process ends.
cat >/dev/null
kill -9 "$server" 2>/dev/null
wait "$server" 2>/dev/null
# A process that is still there removes the directory itself, or uses it again.
owner=$(cat "$dir/owner" 2>/dev/null)
kill -0 "$owner" 2>/dev/null || rm -rf "$dir"
