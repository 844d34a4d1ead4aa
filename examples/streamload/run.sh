#!/usr/bin/env bash
# Loads a body of 20 MB through the frontend's redirect with each client of this
# directory, as a user whose password is full of signs that mean something
# elsewhere, and compares the table with the file.
#
#   MYSQL_PORT=… HTTP_PORT=… [HOST=…] [BUCKETS=…] [STREAMLOADER=…] examples/streamload/run.sh
#
# A client whose runtime is missing is named and left out. STREAMLOADER is the path
# of doris-streamloader, if it is not on PATH.
set -euo pipefail
cd "$(dirname "$0")"
host=${HOST:-127.0.0.1} mysql_port=${MYSQL_PORT:-9030} http_port=${HTTP_PORT:-8030} buckets=${BUCKETS:-1}
mysql=$(command -v mariadb || command -v mysql) || { echo "needs the mariadb or mysql client" >&2; exit 1; }
sql() { "$mysql" -h "$host" -P "$mysql_port" -u root -N -B -e "$1"; }
url=http://$host:$http_port
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

rows=420000
file=$dir/rows.csv
awk -v n=$rows 'BEGIN { for (i = 0; i < n; i++) printf "%d,row number %d,%d,xxxxxxxxxxxxxxxxxxx\n", i, i, i % 1000 }' >"$file"
size=$(wc -c <"$file")
[ "$size" -ge 20000000 ] || { echo "the file has only $size bytes" >&2; exit 1; }
want="$rows	$((rows * (rows - 1) / 2))	$(awk -F, '{ s += $3 } END { printf "%d", s }' "$file")"

export USER=loader PASSWORD='p@:/%25#é?&"\'
sql "CREATE DATABASE IF NOT EXISTS clients"
sql "DROP USER IF EXISTS loader"
sql "CREATE USER loader IDENTIFIED BY 'p@:/%25#é?&\"\\\\'"
sql "GRANT LOAD_PRIV ON *.*.* TO loader"

ran=() missing=()
# client NAME WHAT COMMAND…: run it if WHAT is there.
client() {
  local name=$1 what=$2 table=sl_${1//[^a-z]/_}
  shift 2
  if ! eval "$what" >/dev/null 2>&1; then
    missing+=("$name")
    return 0
  fi
  printf '\n== %s\n' "$name"
  sql "DROP TABLE IF EXISTS clients.$table; CREATE TABLE clients.$table (id INT, name VARCHAR(50), score INT, filler VARCHAR(50)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS $buckets"
  local began=$SECONDS out
  if ! out=$("$@" "$url" clients "$table" "$file" 2>&1); then
    printf '%s\nFAILED: %s\n' "$out" "$name" >&2
    exit 1
  fi
  grep -Ev '"(Comment|TwoPhaseCommit|.*TimeMs)"' <<<"$out" | tail -20
  local have
  have=$(sql "SELECT count(*), sum(id), sum(score) FROM clients.$table")
  [ "$have" = "$want" ] || { printf 'FAILED: %s: the table has %s, the file %s\n' "$name" "$have" "$want" >&2; exit 1; }
  echo "$name: $rows rows, $size bytes, in $((SECONDS - began)) s"
  ran+=("$name")
}

golang() { "$dir/golang" "$@"; }
java_load() { java -cp "$dir/classes" Load "$@"; }
dorisgo_load() {
  DORISGO_PASSWORD=$PASSWORD "${DORISGO:-../../bin/dorisgo}" load --url "$1" --db "$2" --table "$3" --u "$USER" --header 'column_separator:,' --label "clients_$$" "$4"
}
streamloader() {
  local out
  out=$("$loader" --source_file="$4" --url="$1" --db="$2" --table="$3" --u="$USER" --p="$PASSWORD" --header='column_separator:,' --workers=2)
  echo "$out"
  grep -Eq '"Status": *"Success"' <<<"$out"
}
loader=${STREAMLOADER:-$(command -v doris-streamloader || command -v doris_streamloader || true)}

if command -v go >/dev/null; then go build -o "$dir/golang" ./golang; fi
if command -v javac >/dev/null; then javac -d "$dir/classes" Load.java; fi

client curl "command -v curl" ./load_curl.sh
client "Python http.client" "command -v python3" python3 load.py
client "Python requests" "python3 -c 'import requests'" python3 load_requests.py
client "Node fetch" "node -e 'process.exit(typeof fetch === \"function\" ? 0 : 1)'" node load.mjs
client "Java HttpClient" "command -v javac" java_load
client "Go net/http" "command -v go" golang
client "dorisgo load" "test -x '${DORISGO:-../../bin/dorisgo}'" dorisgo_load
client doris-streamloader "test -x '$loader'" streamloader

printf '\nstreamload: %s loaded %s bytes through the redirect\n' "$(IFS=,; echo "${ran[*]}" | sed 's/,/, /g')" "$size"
for m in "${missing[@]}"; do echo "streamload: NOT RUN, not on this machine: $m"; done
