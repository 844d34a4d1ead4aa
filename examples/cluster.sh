# Starts one frontend and some backends as processes on this machine; sourced by
# clients.sh, whose functions start and port it uses.

# free_ports N: N ports that nothing listens on now.
free_ports() {
  python3 - "$1" 2>/dev/null <<'PY' || perl -MIO::Socket::INET -e 'my @s; for (1..$ARGV[0]) { push @s, IO::Socket::INET->new(Listen=>1, LocalAddr=>"127.0.0.1"); print $s[-1]->sockport, "\n" }' "$1"
import socket, sys
held = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in held:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])
PY
}

# cluster_start DIR N: one FE and N BEs. Sets CLUSTER_MYSQL_PORT,
# CLUSTER_HTTP_PORT and the arrays be_pids and be_hosts.
cluster_start() {
  local dir=$1 n=$2 i p
  mapfile -t p < <(free_ports $((5 + 4 * n)))
  CLUSTER_MYSQL_PORT=${p[0]} CLUSTER_HTTP_PORT=${p[1]}
  mkdir -p "$dir/fe"
  cat >"$dir/fe/fe.conf" <<CONF
listen_host = 127.0.0.1
advertise_host = 127.0.0.1
query_port = ${p[0]}
http_port = ${p[1]}
rpc_port = ${p[2]}
edit_log_port = ${p[3]}
fe_gossip_port = ${p[4]}
meta_dir = $dir/fe/meta
cluster_token = an-example-token
CONF
  start fe "$bin" fe start --conf "$dir/fe/fe.conf"
  be_pids=()
  for ((i = 0; i < n; i++)); do
    mkdir -p "$dir/be$i"
    cat >"$dir/be$i/be.conf" <<CONF
listen_host = 127.0.0.1
advertise_host = 127.0.0.1
webserver_port = ${p[5 + 4 * i]}
be_port = ${p[6 + 4 * i]}
be_gossip_port = ${p[7 + 4 * i]}
heartbeat_service_port = ${p[8 + 4 * i]}
# The frontend is found by gossip.
gossip_seeds = 127.0.0.1:${p[4]}
storage_root_path = $dir/be$i/storage
cluster_token = an-example-token
CONF
    start "be$i" "$bin" be start --conf "$dir/be$i/be.conf"
    be_pids+=("${pids[-1]}")
  done
}

# cluster_check: tablets of dt lie on every BE, queries read all of them, and a
# query names the tablet that cannot be read when a BE is down.
cluster_check() {
  local client out i
  client=$(command -v mariadb || command -v mysql)
  q() { "$client" -h 127.0.0.1 -P "$CLUSTER_MYSQL_PORT" -u root -N -B db -e "$1"; }
  out=$(q "SHOW TABLETS FROM dt" | cut -f3 | sort | uniq -c | awk '{print $1}' | tr '\n' ' ')
  echo "tablets of dt on each backend: $out"
  [ "$out" = "2 2 2 " ] || { echo "FAILED: six buckets should lie on three backends, two each" >&2; exit 1; }
  q "DROP TABLE IF EXISTS spread"
  q "CREATE TABLE spread (id INT, g INT, s VARCHAR(20)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 6 PROPERTIES (\"replication_num\" = \"1\", \"group_commit_interval_ms\" = \"200\")"
  q "SET group_commit = sync_mode; INSERT INTO spread VALUES $(for ((i = 0; i < 600; i++)); do printf '%s(%d,%d,"s%d")' "$([ $i = 0 ] || echo ,)" $i $((i % 3)) $i; done)"
  out=$(q "SELECT g, COUNT(*), MIN(id), MAX(id) FROM spread GROUP BY g ORDER BY g")
  [ "$out" = "0	200	0	597
1	200	1	598
2	200	2	599" ] || { echo "FAILED: GROUP BY over all backends gave:
$out" >&2; exit 1; }
  echo "GROUP BY reads the tablets of all backends"
  kill "${be_pids[2]}" && wait "${be_pids[2]}" 2>/dev/null || true
  for ((i = 0; i < 150; i++)); do
    if out=$(q "SELECT COUNT(*) FROM spread" 2>&1); then
      echo "FAILED: a query read all tablets although a backend is down: $out" >&2
      exit 1
    fi
    grep -Eq 'tablet [0-9]+ of table spread' <<<"$out" && break
    sleep 0.1
  done
  grep -Eq 'tablet [0-9]+' <<<"$out" || { echo "FAILED: the error should name a tablet: $out" >&2; exit 1; }
  echo "with a backend down: $out"
}
