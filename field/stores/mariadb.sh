# mariadb.sh: become a MariaDB server, after making its data directory where there
# is none. Both under one keeper, which ends either.
# $1 the server's directory
# $2 who runs it
# $3... the server's program and its arguments
dir=$1 user=$2
shift 2
test -e "$dir/installed" || {
	# A directory of its own for what is temporary: several would take each
	# other's tables.
	mariadb-install-db --no-defaults --datadir="$dir/data" --tmpdir="$dir" \
		--auth-root-authentication-method=normal --skip-test-db \
		--skip-name-resolve --user="$user" || exit 1
	touch "$dir/installed"
}
exec "$@"
