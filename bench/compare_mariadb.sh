#!/usr/bin/env bash
# Measures dorisgo beside MariaDB on this machine: the same client, the same
# rows, in alternation, durable on both sides. MariaDB (Debian's mariadb-server)
# is started by hand in a temporary directory on a free port, with one fsync of
# the redo log and one of the binary log for each group of commits:
# innodb_flush_log_at_trx_commit=1, sync_binlog=1, log_bin.
#
#   bench/compare_mariadb.sh [flags of `dorisgo bench ingest`]
#
# Without flags: a standalone and one FE and one BE as two processes, 32
# connections, 1 and 100 rows for each INSERT, 5 rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${DORISGO:-$PWD/bin/dorisgo}
[ -x "$bin" ] || { echo "$bin is missing: run make build" >&2; exit 1; }
server=$(PATH=$PATH:/usr/sbin:/usr/local/sbin command -v mariadbd || true)
if [ -z "$server" ] || ! command -v mariadb-install-db >/dev/null; then
  echo "mariadbd is not installed (Debian: apt-get install mariadb-server): no comparison" >&2
  exit 0
fi

dir=$(mktemp -d)
pid=
stop() {
  if [ -n "$pid" ]; then
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    pid=
  fi
  rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

account=()
if [ "$(id -u)" = 0 ]; then
  account=(--user=mysql) # MariaDB does not run as root
  chown mysql "$dir"
fi
mariadb-install-db --no-defaults "${account[@]}" --datadir="$dir/data" --auth-root-authentication-method=normal \
  --skip-test-db >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; exit 1; }

# A free port; another process may take it before the server does, so try again.
ready=
for _ in 1 2 3; do
  port=$((20000 + RANDOM % 12000))
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
  "$server" --no-defaults "${account[@]}" --datadir="$dir/data" --socket="$dir/s" --pid-file="$dir/pid" \
    --bind-address=127.0.0.1 --port="$port" --skip-name-resolve --max-connections=1000 --back-log=1000 \
    --innodb-flush-log-at-trx-commit=1 --log-bin="$dir/data/binlog" --sync-binlog=1 --server-id=1 \
    --innodb-buffer-pool-size=1G --innodb-log-file-size=1G >"$dir/server.log" 2>&1 &
  pid=$!
  for _ in $(seq 300); do
    if [ -S "$dir/s" ] && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then ready=1; break 2; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  pid=
done
[ -n "$ready" ] || { echo "MariaDB did not get ready" >&2; tail -20 "$dir/server.log" >&2; exit 1; }
"$server" --version

if [ $# -eq 0 ]; then
  set -- --standalone --cluster --connections 32 --rows-per-insert 1,100 --rounds 5
fi
"$bin" bench ingest "$@" --compare-mysql "127.0.0.1:$port" --compare-name MariaDB --compare-pid "$pid"
