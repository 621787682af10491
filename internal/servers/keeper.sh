# keeper.sh: let a server live as long as standard input is open, then kill it and,
# unless it has read "stopped", remove its directory.
# $1 the server's directory
# $2... the server's program and its arguments
trap '' INT TERM HUP
dir=$1
shift
"$@" </dev/null &
server=$!
echo "$server" >"$dir/pid"
# Whoever started this holds the other end. It closes however that process ends.
word=$(cat)
kill -9 "$server" 2>/dev/null
wait "$server" 2>/dev/null
# What the server has started is in this shell's process group.
for one in $(ps -A -o pid= -o pgid= | awk -v group=$$ '$2 == group { print $1 }'); do
	test "$one" = $$ || kill -9 "$one" 2>/dev/null
done
# Who says so removes the directory itself, or uses it again.
test "$word" = stopped || rm -rf "$dir"
