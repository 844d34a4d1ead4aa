#!/usr/bin/env bash
# Every documented example of Group Commit with stock clients, each checked:
# CREATE TABLE, async, sync and off INSERTs, Stream Load, table properties.
#
#   examples/walkthrough.sh            against a dorisgo on the default ports
#   MYSQL_PORT=… HTTP_PORT=… HOST=… examples/walkthrough.sh
set -euo pipefail
host=${HOST:-127.0.0.1} mysql_port=${MYSQL_PORT:-9030} http_port=${HTTP_PORT:-8030} buckets=${BUCKETS:-1}
here=$(cd "$(dirname "$0")" && pwd)
client=$(command -v mariadb || command -v mysql) || { echo "needs the mariadb or mysql client (Debian: apt-get install mariadb-client)" >&2; exit 1; }
command -v curl >/dev/null || { echo "needs curl (Debian: apt-get install curl)" >&2; exit 1; }

sql() { "$client" -h "$host" -P "$mysql_port" -u root "$@"; }
rows() { sql -N -B db -e "$1"; }
fail() { echo "FAILED: $1" >&2; [ $# -lt 2 ] || printf '%s\n' "$2" >&2; exit 1; }
step() { printf '\n== %s\n' "$1"; }
want() { # text pattern what
  grep -Eq -- "$2" <<<"$1" || fail "$3: expected /$2/ in" "$1"
}
eventually() { # seconds sql expected
  local end=$((SECONDS + $1)) got=
  while [ "$SECONDS" -le "$end" ]; do
    got=$(rows "$2")
    [ "$got" != "$3" ] || return 0
    sleep 0.2
  done
  fail "after $1 s: $2" "got:
$got
want:
$3"
}

step "the table"
sql -e "CREATE DATABASE IF NOT EXISTS db"
sql db -e "DROP TABLE IF EXISTS dt"
sql db -e "CREATE TABLE \`dt\` (
    \`id\` int(11) NOT NULL,
    \`name\` varchar(50) NULL,
    \`score\` int(11) NULL
) ENGINE=OLAP
DUPLICATE KEY(\`id\`)
DISTRIBUTED BY HASH(\`id\`) BUCKETS $buckets
PROPERTIES (
    \"replication_num\" = \"1\"
);"

step "async_mode: two INSERTs share a group; the rows come with the interval of 10 s"
out=$(sql db -vvv -e "set group_commit = async_mode;
insert into dt values(1, 'Bob', 90), (2, 'Alice', 99);
insert into dt(id, name) values(3, 'John');
select count(*) as rows_at_once from dt;")
echo "$out"
want "$out" "Query OK, 2 rows affected" "the first INSERT"
want "$out" "\{'label':'group_commit_[0-9a-f]{16}_[0-9a-f]{16}', 'status':'PREPARE', 'txnId':'[0-9]+'" "the label in the OK packet"
labels=$(grep -o "'label':'[^']*'" <<<"$out" | sort -u | wc -l)
[ "$labels" = 1 ] || fail "the two INSERTs should share one label" "$out"
want "$out" "^\|? *0 *\|?$" "no row is visible at once"
eventually 20 "select * from dt order by id" "1	Bob	90
2	Alice	99
3	John	NULL"

step "the interval becomes 2 s"
sql db -e 'ALTER TABLE dt SET ("group_commit_interval_ms" = "2000");'

step "sync_mode: the rows are there when the INSERT returns"
out=$(sql db -vvv -e "set group_commit = sync_mode;
insert into dt values(4, 'Bob', 90), (5, 'Alice', 99);
select * from dt;")
echo "$out"
want "$out" "'label':'group_commit_[0-9a-f]+_[0-9a-f]+', 'status':'PREPARE', 'txnId':'[0-9]+'" "the label"
want "$out" "\| *5 *\| Alice *\| *99 *\|" "the row of this INSERT"

step "off_mode: a transaction of its own"
out=$(sql db -vvv -e "set group_commit = off_mode;
insert into dt values(8, 'Eve', 70);
select * from dt where id = 8;")
echo "$out"
want "$out" "'label':'label_[0-9a-f]+_[0-9a-f]+', 'status':'VISIBLE', 'txnId':'[0-9]+'" "the label"
want "$out" "\| *8 *\| Eve *\| *70 *\|" "the row"

step "Stream Load, async_mode"
load() { curl -sS --location-trusted -u root: -T "$here/data.csv" "$@" -H "column_separator:," "http://$host:$http_port/api/db/dt/_stream_load"; }
out=$(load -H "group_commit:async_mode")
echo "$out"
want "$out" '"Label": "group_commit_[0-9a-f]{16}_[0-9a-f]{16}"' "the label"
want "$out" '"GroupCommit": true' "group commit"
want "$out" '"Status": "Success"' "the status"
want "$out" '"NumberLoadedRows": 2' "the rows"
eventually 15 "select count(*) from dt where id in (6, 7)" 2

step "Stream Load, sync_mode"
out=$(load -H "group_commit:sync_mode")
echo "$out"
want "$out" '"GroupCommit": true' "group commit"
want "$out" '"Status": "Success"' "the status"
[ "$(rows 'select count(*) from dt where id in (6, 7)')" = 4 ] || fail "rows of a sync load are visible at once"

step "Stream Load with a label: a load of its own"
label="walkthrough-$$-$RANDOM"
out=$(load -H "group_commit:async_mode" -H "label:$label")
echo "$out"
want "$out" "\"Label\": \"$label\"" "the label"
want "$out" '"Status": "Success"' "the status"
out=$(load -H "label:$label")
want "$out" '"Status": "Label Already Exists"' "the same label again"

step "table properties"
sql db -e 'ALTER TABLE dt SET ("group_commit_data_bytes" = "134217728");'
sql db -e 'ALTER TABLE dt SET ("group_commit_mode" = "async_mode");'
out=$(sql db -N -B --raw -e "SHOW CREATE TABLE dt")
echo "$out"
want "$out" '"group_commit_interval_ms" = "2000"' "SHOW CREATE TABLE"
want "$out" '"group_commit_data_bytes" = "134217728"' "SHOW CREATE TABLE"
want "$out" '"group_commit_mode" = "async_mode"' "SHOW CREATE TABLE"
out=$(load)
want "$out" '"GroupCommit": true' "a load without a header follows the table"
out=$(sql db -vvv -e "insert into dt values(9, 'Joe', 1)")
want "$out" "'label':'group_commit_" "an INSERT follows the table"
sql db -e 'ALTER TABLE dt SET ("group_commit_mode" = "off_mode");'
out=$(sql db -N -B --raw -e "SHOW CREATE TABLE dt")
grep -q group_commit_mode <<<"$out" && fail "off_mode is not shown" "$out"
eventually 15 "select count(*) from dt" 15

step "errors"
bad() { # sql pattern
  local out
  if out=$(sql db -e "$1" 2>&1); then fail "should have failed: $1" "$out"; fi
  echo "$out"
  want "$out" "$2" "the error of: $1"
}
bad "insert into dt values(1, 'x')" "Column count doesn't match value count"
bad "insert into dt(id, names) values(1, 'x')" "Unknown column 'names'"
bad "insert into nosuch values(1)" "nosuch"
bad "use nosuch" "ERROR 1049 .*Unknown database 'nosuch'"
bad "set group_commit = sometimes" "ERROR 1231 .*Variable 'group_commit' can't be set to the value of 'sometimes'"
bad 'ALTER TABLE dt SET ("group_commit_mode" = "sometimes")' "Invalid group_commit_mode: sometimes, must be off_mode, sync_mode or async_mode"

printf '\nwalkthrough: all examples gave the documented answers\n'
