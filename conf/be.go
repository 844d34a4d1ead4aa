package conf

// BE is the configuration of a backend. Make one with DefaultBE; it must not
// be copied.
type BE struct {
	Keys

	_ struct{} `section:"Addresses"`

	ListenHost    Text `key:"listen_host" default:"0.0.0.0" doc:"address that every port of the node is opened on"`
	AdvertiseHost Text `key:"advertise_host" default:"" doc:"name or address by which other nodes reach this node; empty chooses by priority_networks"`
	Priority      Text `key:"priority_networks" default:"" doc:"networks in CIDR form, separated by semicolons, from which the node's own address is chosen"`
	WebPort       Int  `key:"webserver_port" default:"8040" range:"0..65535" doc:"port of HTTP: Stream Load, administration, metrics"`
	Port          Int  `key:"be_port" default:"9060" range:"0..65535" doc:"port of gRPC and messages between nodes"`
	GossipPort    Int  `key:"be_gossip_port" default:"9061" range:"0..65535" doc:"port of gossip, TCP and UDP"`
	HeartbeatPort Int  `key:"heartbeat_service_port" default:"9050" range:"0..65535" doc:"number that names the backend in ALTER SYSTEM, as in Doris; nothing listens there"`

	_ struct{} `section:"Node and cluster"`

	Frontends    Text `key:"frontends" default:"" doc:"host:rpc_port of frontends, separated by commas; gossip finds the others"`
	GossipSeeds  Text `key:"gossip_seeds" default:"" doc:"host:gossip_port of some nodes, separated by commas, by which this one finds the others"`
	ClusterToken Text `key:"cluster_token" default:"" doc:"secret that nodes prove membership with; empty trusts the network"`

	_ struct{} `section:"Storage"`

	Roots        Text `key:"storage_root_path" default:"storage" doc:"storage directories, separated by semicolons"`
	InlineLimit  Int  `key:"inline_rowset_max_bytes" default:"1048576" range:"0..67108864" doc:"rowsets up to this size are kept in the row store until a flush, in bytes; larger ones become Parquet files at once"`
	FlushBytes   Int  `key:"tablet_flush_bytes" default:"33554432" range:"65536..4294967296" doc:"inline rowsets of a tablet that start its flush, in bytes"`
	FlushRowsets Int  `key:"tablet_flush_rowsets" default:"256" range:"2..100000" doc:"inline rowsets of a tablet that start its flush"`
	CompactFiles Int  `key:"compaction_min_files" default:"5" range:"2..64" doc:"neighbouring files of about one size in a tablet that start their compaction"`
	CompactBytes Int  `key:"compaction_max_bytes" default:"268435456" range:"1048576..17179869184" doc:"rows that one compaction makes a file of, in bytes; files of more than half of it are left alone"`
	MaxVersions  Int  `key:"max_tablet_version_num" default:"2000" range:"10..1000000" doc:"rowsets of a tablet above which loads into it are refused"`
	TrashSeconds Int  `key:"trash_file_expire_time_sec" default:"86400" range:"0..2147483647" doc:"how long deleted files stay in the trash directory, in seconds"`
	FloodLeft    Int  `key:"storage_flood_stage_left_capacity_bytes" default:"1073741824" range:"0..1099511627776" doc:"free space of a disk at which loads are refused, in bytes"`
	Ballast      Int  `key:"storage_ballast_bytes" default:"0" range:"-1..1099511627776" doc:"space that each disk keeps for its last need, in bytes; 0 is 1 GiB and at most a hundredth of the disk, -1 is none"`
	FloodPercent Int  `key:"storage_flood_stage_usage_percent" default:"90" range:"1..100" doc:"share of a disk, in percent, above which a backend makes no tablets there while another of its disks has room"`
	StringLimit  Int  `key:"string_type_length_soft_limit_bytes" default:"10485760" range:"1..2147483647" mutable:"true" doc:"longest value of a STRING column, in bytes"`

	_ struct{} `section:"Group commit"`

	WALPath        Text `key:"group_commit_wal_path" default:"" doc:"WAL directories, separated by semicolons, absolute; empty is wal in each storage directory"`
	WALSync        Bool `key:"group_commit_wal_sync" default:"true" doc:"sync a load's WAL record to disk before it is acknowledged; false trusts the page cache, as Doris does"`
	WALDisk        Size `key:"group_commit_wal_max_disk_limit" default:"10%" doc:"space that WALs may take in each directory, in bytes or in percent of the free space"`
	WALNum         Int  `key:"group_commit_max_wal_num_per_table" default:"10" range:"0..1000000" mutable:"true" doc:"WALs of a table waiting for replay above which its async loads are refused; 0 is no limit"`
	QueueMem       Int  `key:"group_commit_queue_mem_limit" default:"67108864" range:"1048576..1099511627776" mutable:"true" doc:"memory of all queues, in bytes; a queue that has half of it is sealed; above it the largest is sealed and loads wait"`
	BodyMem        Int  `key:"group_commit_body_mem_limit" default:"268435456" range:"1048576..1099511627776" doc:"memory of all bodies that are still arriving, in bytes; above it senders are slowed, then refused"`
	FilterRows     Int  `key:"group_commit_memory_rows_for_max_filter_ratio" default:"10000" range:"0..2147483647" mutable:"true" doc:"rows of a load above which max_filter_ratio is not enforced in group commit"`
	ReplayThreads  Int  `key:"group_commit_relay_wal_threads" default:"10" range:"1..1024" doc:"WALs that are replayed at a time"`
	ReplayRetries  Int  `key:"group_commit_replay_wal_retry_num" default:"10" range:"1..1000" doc:"replay attempts whose pauses grow; later ones come at the longest pause"`
	ReplayPause    Int  `key:"group_commit_replay_wal_retry_interval_seconds" default:"5" range:"1..86400" doc:"first pause between replay attempts, in seconds"`
	ReplayPauseMax Int  `key:"group_commit_replay_wal_retry_interval_max_seconds" default:"1800" range:"1..86400" doc:"longest pause between replay attempts, in seconds"`
	WaitInternal   Bool `key:"wait_internal_group_commit_finish" default:"false" mutable:"true" doc:"let every group commit load wait until its group is visible"`

	_ struct{} `section:"Stream Load"`

	MaxMB         Int  `key:"streaming_load_max_mb" default:"102400" range:"1..1048576" mutable:"true" doc:"largest body of a Stream Load, in MiB"`
	MaxJSONMB     Int  `key:"streaming_load_json_max_mb" default:"100" range:"1..1048576" mutable:"true" doc:"largest body of a Stream Load of JSON that is read as one value, in MiB"`
	LoadTimeout   Int  `key:"stream_load_default_timeout_second" default:"259200" range:"1..2147483647" mutable:"true" doc:"time for a Stream Load without header timeout, in seconds"`
	MaxTimeout    Int  `key:"max_stream_load_timeout_second" default:"259200" range:"1..2147483647" mutable:"true" doc:"longest header timeout of a Stream Load, in seconds"`
	MinTimeout    Int  `key:"min_load_timeout_second" default:"1" range:"1..2147483647" mutable:"true" doc:"shortest header timeout of a Stream Load, in seconds"`
	ErrorLogHours Int  `key:"load_error_log_reserve_hours" default:"48" range:"1..8760" doc:"how long error logs are kept, in hours"`
	ErrorLogBytes Int  `key:"load_error_log_limit_bytes" default:"209715200" range:"1024..1099511627776" doc:"size of one error log, in bytes"`
	CommitRPC     Int  `key:"txn_commit_rpc_timeout_ms" default:"180000" range:"1000..3600000" doc:"time for one question to a frontend about a commit, in milliseconds"`
	RecordLoads   Bool `key:"enable_stream_load_record" default:"true" mutable:"true" doc:"remember finished Stream Loads for SHOW STREAM LOAD"`
	RecordNum     Int  `key:"max_stream_load_record_size" default:"5000" range:"1..1000000" doc:"finished Stream Loads that are remembered, in memory, the newest ones"`
	LineBytes     Int  `key:"csv_max_line_bytes" default:"104857600" range:"1024..1073741824" mutable:"true" doc:"longest line of a CSV body, in bytes"`

	_ struct{} `section:"Queries"`

	QueryMemory  Size `key:"query_memory_limit" default:"40%" doc:"memory of all queries, in bytes or in percent of the machine's"`
	SpoolBytes   Int  `key:"load_spool_limit" default:"10737418240" range:"1048576..1099511627776000" mutable:"true" doc:"bytes of all Parquet bodies that loads keep in files at a time; a body above it is refused"`
	LoadMemory   Size `key:"load_memory_limit" default:"10%" doc:"memory of expressions and of Parquet in loads, in bytes or in percent of the machine's"`
	FlushMemory  Size `key:"flush_memory_limit" default:"15%" doc:"memory of flushes and compactions, in bytes or in percent of the machine's"`
	QueryThreads Int  `key:"query_threads" default:"0" range:"0..1024" doc:"threads of one query; 0 is the number of processors"`
	QueryNum     Int  `key:"query_max_concurrency" default:"16" range:"1..1024" doc:"queries at a time; more wait"`
	SpillPath    Text `key:"spill_storage_root_path" default:"" doc:"directory for what does not fit into memory; empty is spill in the first storage directory"`

	_ struct{} `section:"Logs"`

	LogLevel  Text `key:"sys_log_level" default:"INFO" choices:"DEBUG,INFO,WARN,ERROR,FATAL" mutable:"true" doc:"lowest level that is logged"`
	LogFormat Text `key:"sys_log_format" default:"text" choices:"text,json" doc:"form of log lines"`
	Profiles  Bool `key:"enable_pprof" default:"false" doc:"serve profiles at /debug/pprof on the HTTP port, to everybody who reaches it; for measurements"`
	LogFile   Text `key:"sys_log_file" default:"" doc:"file for the log; empty is standard error"`
}

// DefaultBE is the configuration of a backend without a file.
func DefaultBE() *BE {
	c := &BE{}
	c.bind("BE", c)
	return c
}
