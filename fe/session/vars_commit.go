package session

// The modes of group commit, as the variable and the table property spell them.
const (
	OffMode   = "off_mode"
	SyncMode  = "sync_mode"
	AsyncMode = "async_mode"
)

// commitVars are the variables that loads, prepared statements and queries
// obey: docs/compatibility.md, Part B, "Session and FE configuration", and
// dorisgo's own.
var commitVars = []*Variable{
	choice("group_commit", OffMode, SyncMode, AsyncMode),
	boolean("enable_server_side_prepared_statement", true),
	boolean("enable_group_commit_full_prepare", true),
	boolean("enable_prepared_stmt_audit_log", false),
	ranged("max_prepared_stmt_count", 100000, 0, 1<<20),
	boolean("enable_insert_strict", true),
	number("insert_max_filter_ratio", 1, 0, 1),
	ranged("insert_timeout", 14400, 1, 1<<31-1),
	ranged("query_timeout", 900, 1, 1<<31-1),
	ranged("insert_visible_timeout_ms", 60000, 1000, 1<<31-1),
	boolean("enable_unique_key_partial_update", false),
	choice("partial_update_new_key_behavior", "APPEND", "ERROR"),
	boolean("require_sequence_in_insert", true),
	boolean("show_hidden_columns", false),
	boolean("enable_short_circuit_query", true),
	ranged("dml_plan_retry_times", 3, 0, 100),
	boolean("enable_strong_consistency_read", false),
	boolean("enable_memtable_on_sink_node", false),
	boolean("enable_strict_cast", true),
	boolean("delete_without_partition", false),
	ranged("send_batch_parallelism", 1, 1, 1024),
	ranged("load_stream_per_node", 2, 1, 1024),
	ranged("load_parallelism", 0, 0, 1024),
	boolean("skip_bad_tablet", false),
	boolean("skip_delete_predicate", false),
	boolean("skip_delete_sign", false),
	boolean("skip_delete_bitmap", false),
	boolean("skip_missing_version", false),
	boolean("skip_storage_engine_merge", false),
	integer("use_fix_replica", -1),
}
