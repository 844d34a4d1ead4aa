package lint

// tiers lists the packages of each tier, lowest first. A package imports only
// from lower tiers and from its own folder (the path up to the entry).
var tiers = [][]string{
	0: {"doriserr", "value", "conf", "clock", "rpc/metapb", "rpc/fepb", "rpc/bepb", "internal/version"},
	1: {"meta", "block", "rpc/peer", "gossip"},
	2: {"duck", "sql", "raftfsm", "groupcommit/wal"},
	3: {"load", "groupcommit", "storage", "txnmgr", "tabletsched", "router", "query"},
	// query/exec stands above storage, whose snapshots it pins and reads, and load,
	// whose programs it makes.
	4: {"query/exec"},
	5: {"fe", "be", "client"},
	6: {"standalone", "bench"},
	7: {"cmd/dorisgo", "internal/testcluster", "internal/replicatest", "internal/lint", "e2e", "examples"},
}

// door is a third-party module that one package alone may import.
type door struct {
	module  string
	doors   []string
	because string
	instead string
}

var doors = []door{
	{"github.com/duckdb/duckdb-go", []string{"duck"},
		"its traps are handled in one place, and each test binary that links it costs seconds", "duck.DB"},
	{"github.com/hashicorp/raft", []string{"raftfsm"},
		"only one package may decide what an error of raft means", "raftfsm.Node"},
	{"go.etcd.io/bbolt", []string{"raftfsm"},
		"the raft store is raftfsm's", "raftfsm.Node"},
	{"github.com/hashicorp/memberlist", []string{"gossip"},
		"gossip gives hints and nothing else", "gossip.Events"},
	{"github.com/cockroachdb/pebble/v2", []string{"storage", "groupcommit", "groupcommit/wal", "be", "standalone", "cmd/dorisgo", "internal/testcluster"},
		"Pebble is storage's; the others may use its vfs alone", "storage.Engine"},
	{"vitess.io/vitess", []string{"sql/translate", "fe/exec"},
		"the SELECT grammar has one reader", "translate.Select"},
	{"github.com/go-mysql-org/go-mysql", []string{"fe/mysql"},
		"the wire protocol is spoken in one place", "mysql.Handler"},
	{"github.com/go-sql-driver/mysql", []string{"client", "bench", "e2e", "cmd/dorisgo", "examples"},
		"as a client only", "client"},
	{"github.com/spf13/cobra", []string{"cmd/dorisgo"},
		"flags are the command line's", "conf"},
	{"github.com/schollz/progressbar", []string{"cmd/dorisgo"},
		"a terminal is the command line's", "bulkload.Events"},
	{"golang.org/x/term", []string{"cmd/dorisgo"},
		"a terminal is the command line's", "bulkload.Events"},
	{"google.golang.org/grpc", []string{"doriserr", "rpc", "be", "fe", "txnmgr", "standalone", "internal/testcluster"},
		"nodes talk through rpc/peer", "rpc/peer"},
}
