package conf

// FE is the configuration of a frontend. Make one with DefaultFE; it must not
// be copied.
type FE struct {
	Keys

	_ struct{} `section:"Addresses"`

	ListenHost    Text `key:"listen_host" default:"0.0.0.0" doc:"address that every port of the node is opened on"`
	AdvertiseHost Text `key:"advertise_host" default:"" doc:"name or address by which other nodes and clients reach this node; empty chooses by priority_networks"`
	Priority      Text `key:"priority_networks" default:"" doc:"networks in CIDR form, separated by semicolons, from which the node's own address is chosen"`
	QueryPort     Int  `key:"query_port" default:"9030" range:"0..65535" doc:"port of the MySQL protocol"`
	HTTPPort      Int  `key:"http_port" default:"8030" range:"0..65535" doc:"port of HTTP: Stream Load redirects, administration, metrics"`
	RPCPort       Int  `key:"rpc_port" default:"9020" range:"0..65535" doc:"port of gRPC and messages between nodes"`
	EditLogPort   Int  `key:"edit_log_port" default:"9010" range:"0..65535" doc:"port of raft between frontends"`
	GossipPort    Int  `key:"fe_gossip_port" default:"9011" range:"0..65535" doc:"port of gossip, TCP and UDP"`

	_ struct{} `section:"Node and cluster"`

	MetaDir      Text `key:"meta_dir" default:"doris-meta" doc:"directory of the catalog: raft log, snapshots, identity"`
	GossipSeeds  Text `key:"gossip_seeds" default:"" doc:"host:gossip_port of some nodes, separated by commas, by which this one finds the others"`
	ClusterToken Text `key:"cluster_token" default:"" doc:"secret that nodes prove membership with; empty trusts the network"`
	Heartbeat    Int  `key:"heartbeat_interval_second" default:"1" range:"1..3600" doc:"pause between heartbeats to a backend, in seconds"`
	HeartbeatTry Int  `key:"max_backend_heartbeat_failure_tolerance_count" default:"3" range:"1..1000" doc:"missed heartbeats after which a backend counts as dead"`
	Snapshot     Int  `key:"edit_log_roll_num" default:"50000" range:"100..100000000" doc:"raft log entries between two snapshots of the catalog"`

	_ struct{} `section:"Security"`

	AuthPlugin Text `key:"mysql_auth_plugin" default:"mysql_native_password" choices:"mysql_native_password,caching_sha2_password" doc:"how MySQL clients are asked for their password first"`

	_ struct{} `section:"MySQL connections and queries"`

	MaxConnections Int `key:"qe_max_connection" default:"1024" range:"1..1000000" mutable:"true" doc:"MySQL connections at a time"`
	MaxPrepared    Int `key:"max_prepared_stmt_count" default:"1000000" range:"1..100000000" doc:"prepared statements of all connections at a time"`

	Pollers Int `key:"mysql_pollers" default:"0" range:"-1..1024" doc:"goroutines that run all MySQL connections whose statements are short INSERTs into groups; 0 is one for every two processors, -1 is none: each connection has a goroutine of its own"`

	_ struct{} `section:"Group commit"`

	IntervalMs   Int  `key:"group_commit_interval_ms_default_value" default:"10000" range:"1..2147483647" mutable:"true" doc:"group_commit_interval_ms of new tables that do not set it"`
	DataBytes    Int  `key:"group_commit_data_bytes_default_value" default:"67108864" range:"1..2147483647" mutable:"true" doc:"group_commit_data_bytes of new tables that do not set it"`
	WaitInternal Bool `key:"wait_internal_group_commit_finish" default:"false" mutable:"true" doc:"let every group commit load wait until its group is visible"`

	_ struct{} `section:"Loads and transactions"`

	StreamKeep     Int  `key:"streaming_label_keep_max_second" default:"43200" range:"1..2147483647" mutable:"true" doc:"how long labels of finished Stream Loads and INSERTs are remembered, in seconds; a group's label stays as long as its WAL"`
	LabelNum       Int  `key:"label_num_threshold" default:"2000" range:"1..10000000" mutable:"true" doc:"finished labels that a database remembers at most"`
	MaxTxns        Int  `key:"max_running_txn_num_per_db" default:"10000" range:"1..1000000" mutable:"true" doc:"transactions of a database that may run at a time; groups with a WAL do not count"`
	Precommit      Int  `key:"stream_load_default_precommit_timeout_second" default:"3600" range:"1..2147483647" mutable:"true" doc:"how long a Stream Load that was pre-committed with two_phase_commit waits for its second phase before it is aborted, in seconds"`
	LostHeartbeat  Int  `key:"abort_txn_after_lost_heartbeat_time_second" default:"300" range:"1..86400" mutable:"true" doc:"how long a backend may be lost before its plain transactions are aborted, in seconds"`
	RedirectPolicy Text `key:"streamload_redirect_policy" default:"" choices:",direct,random-be,public,private,public-private" mutable:"true" doc:"address of the backend to which Stream Loads are redirected if they have no header redirect-policy: empty, direct, random-be, public, private or public-private (docs/operations.md)"`
	DrainBytes     Int  `key:"stream_load_redirect_bounded_drain_max_bytes" default:"1073741824" range:"0..1099511627776" mutable:"true" doc:"bytes of a body that a client sends without waiting for the redirect that are read and dropped, so that it sees the redirect; 0 turns that off, and a body that is announced as longer is not read at all"`
	DrainIdle      Int  `key:"stream_load_redirect_bounded_drain_max_idle_time_ms" default:"1000" range:"1..3600000" mutable:"true" doc:"pause of such a client after which nothing more is read, in milliseconds"`
	DisableLoad    Bool `key:"disable_load_job" default:"false" mutable:"true" doc:"refuse every load"`

	_ struct{} `section:"Tables"`

	Replicas     Int `key:"default_replication_num" default:"3" range:"1..7" mutable:"true" doc:"replication_num of new tables that do not set it; standalone has 1"`
	MaxBuckets   Int `key:"max_bucket_num_per_partition" default:"768" range:"1..65536" mutable:"true" doc:"buckets that a partition may have"`
	TrashSeconds Int `key:"catalog_trash_expire_second" default:"86400" range:"0..2147483647" mutable:"true" doc:"how long dropped databases, tables and partitions can be recovered, in seconds"`

	_ struct{} `section:"Replicas"`

	RepairDelay      Int  `key:"tablet_repair_delay_factor_second" default:"60" range:"1..86400" mutable:"true" doc:"how long a backend may be away before its replicas are made anew on others, in seconds"`
	CloneSlots       Int  `key:"schedule_slot_num_per_hdd_path" default:"4" range:"1..100" mutable:"true" doc:"replicas that are copied to a backend, or from one, at a time"`
	MaxBalancing     Int  `key:"max_balancing_tablets" default:"100" range:"1..100000" mutable:"true" doc:"tablets that are moved to even out the backends at a time"`
	HighWatermark    Int  `key:"storage_high_watermark_usage_percent" default:"85" range:"1..100" mutable:"true" doc:"share of a backend's disks above which it gets no further replicas, in percent"`
	DisableScheduler Bool `key:"disable_tablet_scheduler" default:"false" mutable:"true" doc:"neither repair nor move replicas"`
	DisableBalance   Bool `key:"disable_balance" default:"false" mutable:"true" doc:"do not move replicas to even out the backends"`
	CheckStart       Int  `key:"consistency_check_start_time" default:"23" range:"0..23" mutable:"true" doc:"hour of the day, by the frontend's clock, from which the replicas of tablets are compared with each other"`
	CheckEnd         Int  `key:"consistency_check_end_time" default:"4" range:"0..23" mutable:"true" doc:"hour of the day until which replicas are compared; the same as the start is never"`
	PublishLog       Int  `key:"publish_log_max_versions_per_partition" default:"10000" range:"100..10000000" mutable:"true" doc:"versions of a partition that are kept for a backend that is away; when it comes back after more of them its replicas are copied from others"`

	_ struct{} `section:"Logs"`

	LogLevel  Text `key:"sys_log_level" default:"INFO" choices:"DEBUG,INFO,WARN,ERROR,FATAL" mutable:"true" doc:"lowest level that is logged"`
	LogFormat Text `key:"sys_log_format" default:"text" choices:"text,json" doc:"form of log lines"`
	LogFile   Text `key:"sys_log_file" default:"" doc:"file for the log; empty is standard error"`
	Profiles  Bool `key:"enable_pprof" default:"false" doc:"serve profiles at /debug/pprof on the HTTP port, to everybody who reaches it; for measurements"`
	AuditFile Text `key:"audit_log_file" default:"" doc:"file for the audit log; empty turns it off"`
}

// DefaultFE is the configuration of a frontend without a file.
func DefaultFE() *FE {
	c := &FE{}
	c.bind("FE", c)
	return c
}
