#!/usr/bin/env bash
# The documented examples with stock clients, against a standalone that this
# script starts, and against one FE and three BEs as processes.
# It needs mariadb, curl and Java with MariaDB's JDBC driver; as root on Debian
# it installs what is missing, elsewhere it names it. Python, Node and
# doris-streamloader load too if they are there; if not, they are named.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin/dorisgo
[ -x "$bin" ] || { echo "bin/dorisgo is missing: run make build" >&2; exit 1; }

need=()
command -v mariadb >/dev/null || command -v mysql >/dev/null || need+=(mariadb-client)
command -v curl >/dev/null || need+=(curl)
command -v javac >/dev/null || need+=(default-jdk-headless)
jar=/usr/share/java/mariadb-java-client.jar
[ -e "$jar" ] || need+=(libmariadb-java)
if [ ${#need[@]} -gt 0 ]; then
  if [ -f /etc/debian_version ] && [ "$(id -u)" = 0 ]; then
    echo "installing ${need[*]}"
    apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -q "${need[@]}" >/dev/null
  else
    echo "missing: ${need[*]} (names of Debian packages)" >&2
    exit 1
  fi
fi

dir=$(mktemp -d)
pids=()
stop() {
  local p
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for p in "${pids[@]}"; do wait "$p" 2>/dev/null || true; done
  pids=()
}
trap 'stop; rm -rf "$dir"' EXIT

# start NAME COMMAND…: run in the background until it prints a line `ready`.
start() {
  local name=$1
  shift
  "$@" >"$dir/$name.out" 2>"$dir/$name.err" &
  pids+=($!)
  for _ in $(seq 300); do
    grep -q '^ready' "$dir/$name.out" && return 0
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "$name did not get ready" >&2
  cat "$dir/$name.out" "$dir/$name.err" >&2
  exit 1
}
port() { sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" "$1"; }

mkdir -p "$dir/classes"
javac -d "$dir/classes" examples/jdbc/GroupCommit.java
export GOFLAGS="${GOFLAGS:--trimpath -tags=netgo,osusergo,duckdb_arrow,grpcnotrace}"
go build -o "$dir/golang" ./examples/golang

examples() { # mysql_port http_port buckets
  MYSQL_PORT=$1 HTTP_PORT=$2 BUCKETS=$3 examples/walkthrough.sh
  "$dir/golang" -addr "127.0.0.1:$1" -seconds 3 -buckets "$3"
  java -cp "$dir/classes:$jar" GroupCommit 127.0.0.1 "$1"
  DORISGO=$bin MYSQL_PORT=$1 HTTP_PORT=$2 BUCKETS=$3 examples/streamload/run.sh
}

echo "#### standalone"
start standalone "$bin" standalone --data-dir "$dir/standalone" --mysql-port 0 --fe-http-port 0 --be-http-port 0
examples "$(port "$dir/standalone/ports.json" mysql)" "$(port "$dir/standalone/ports.json" fe_http)" 1
stop

echo "#### one FE, three BEs"
. examples/cluster.sh
cluster_start "$dir" 3
examples "$CLUSTER_MYSQL_PORT" "$CLUSTER_HTTP_PORT" 6
cluster_check
stop
echo "clients: all examples passed"
