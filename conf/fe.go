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
	RPCPort       Int  `key:"rpc_port" default:"9020" range:"0..65535" doc:"port of gRPC between nodes"`
	EditLogPort   Int  `key:"edit_log_port" default:"9010" range:"0..65535" doc:"port of raft between frontends"`
	GossipPort    Int  `key:"fe_gossip_port" default:"9011" range:"0..65535" doc:"port of gossip, TCP and UDP"`

	_ struct{} `section:"Node and cluster"`

	MetaDir      Text `key:"meta_dir" default:"doris-meta" doc:"directory of the catalog: raft log, snapshots, identity"`
	GossipSeeds  Text `key:"gossip_seeds" default:"" doc:"host:gossip_port of some nodes, separated by commas, by which this one finds the others"`
	ClusterToken Text `key:"cluster_token" default:"" doc:"secret that nodes prove membership with; empty trusts the network"`
	Helper       Text `key:"helper" default:"" doc:"host:edit_log_port of frontends to join, separated by commas; empty starts a new cluster or the one of meta_dir"`
	LeaveOnStop  Bool `key:"leave_on_stop" default:"false" doc:"take this frontend out of the cluster when it stops"`
	Heartbeat    Int  `key:"heartbeat_interval_second" default:"1" range:"1..3600" mutable:"true" doc:"pause between heartbeats to a backend, in seconds"`
	HeartbeatTry Int  `key:"max_backend_heartbeat_failure_tolerance_count" default:"3" range:"1..1000" mutable:"true" doc:"missed heartbeats after which a backend counts as dead"`
	Snapshot     Int  `key:"edit_log_roll_num" default:"50000" range:"100..100000000" doc:"raft log entries between two snapshots of the catalog"`
	DropDecom    Bool `key:"drop_backend_after_decommission" default:"true" mutable:"true" doc:"drop a backend once it is drained"`

	_ struct{} `section:"Security"`

	TLSCert     Text `key:"tls_cert_file" default:"" doc:"PEM file of the node's certificate; set it and tls_key_file to offer TLS"`
	TLSKey      Text `key:"tls_key_file" default:"" doc:"PEM file of the certificate's key"`
	TLSCA       Text `key:"tls_ca_file" default:"" doc:"PEM file of the authorities that other nodes' certificates must come from; empty means no check"`
	MySQLTLS    Bool `key:"enable_ssl" default:"false" doc:"offer TLS to MySQL clients"`
	HTTPTLS     Bool `key:"enable_https" default:"false" doc:"serve HTTPS in place of HTTP"`
	AuthPlugin  Text `key:"mysql_auth_plugin" default:"mysql_native_password" choices:"mysql_native_password,caching_sha2_password" doc:"how MySQL clients are asked for their password first"`
	RootInitial Text `key:"initial_root_password" default:"" doc:"password of root in a new cluster: the text, or the hash that starts with *"`

	_ struct{} `section:"MySQL connections and queries"`

	MaxConnections Int `key:"qe_max_connection" default:"1024" range:"1..1000000" mutable:"true" doc:"MySQL connections at a time"`
	MaxPrepared    Int `key:"max_prepared_stmt_count" default:"1000000" range:"1..100000000" doc:"prepared statements of all connections at a time"`
	LowerCase      Int `key:"lower_case_table_names" default:"0" range:"0..0" doc:"0: names of tables keep their case and differ by it"`
	QueryRetry     Int `key:"max_query_retry_time" default:"3" range:"0..10" mutable:"true" doc:"times that a query is planned again after a backend failed"`
	FirstErrorLen  Int `key:"first_error_msg_max_length" default:"256" range:"1..65536" mutable:"true" doc:"length to which the first error of a load is cut, in characters"`

	_ struct{} `section:"Group commit"`

	IntervalMs    Int  `key:"group_commit_interval_ms_default_value" default:"10000" range:"1..2147483647" mutable:"true" doc:"group_commit_interval_ms of new tables that do not set it"`
	DataBytes     Int  `key:"group_commit_data_bytes_default_value" default:"67108864" range:"1..2147483647" mutable:"true" doc:"group_commit_data_bytes of new tables that do not set it"`
	WaitInternal  Bool `key:"wait_internal_group_commit_finish" default:"false" mutable:"true" doc:"let every group commit load wait until its group is visible"`
	TimeoutFactor Int  `key:"group_commit_timeout_multipler" default:"10" range:"1..1000" mutable:"true" doc:"time-out of a group, in its intervals; at least 600 s"`
	CheckWALMs    Int  `key:"check_wal_queue_timeout_threshold" default:"180000" range:"1000..86400000" mutable:"true" doc:"longest wait of a schema change for the groups of its table, in milliseconds; the change fails then"`
	BEForward     Bool `key:"enable_group_commit_streamload_be_forward" default:"false" mutable:"true" doc:"let a backend pass group commit loads on to the one that the table belongs to"`
	FollowerLoad  Bool `key:"enable_forward_group_commit_stream_load_to_follower" default:"false" mutable:"true" doc:"let followers plan group commit Stream Loads"`
	TokenWindow   Int  `key:"group_commit_token_window_second" default:"600" range:"1..86400" mutable:"true" doc:"how long a repeated group_commit_token is answered with the first answer, in seconds"`

	_ struct{} `section:"Loads and transactions"`

	LoadTimeout    Int  `key:"stream_load_default_timeout_second" default:"259200" range:"1..259200" mutable:"true" doc:"time-out of a Stream Load without a timeout header, in seconds"`
	LoadTimeoutMax Int  `key:"max_stream_load_timeout_second" default:"259200" range:"1..2147483647" mutable:"true" doc:"longest time-out that a Stream Load may ask for, in seconds"`
	LoadTimeoutMin Int  `key:"min_load_timeout_second" default:"1" range:"1..2147483647" mutable:"true" doc:"shortest time-out that a load may ask for, in seconds"`
	Precommit      Int  `key:"stream_load_default_precommit_timeout_second" default:"3600" range:"1..2147483647" mutable:"true" doc:"how long a two-phase load may stay precommitted, in seconds"`
	LabelKeep      Int  `key:"label_keep_max_second" default:"259200" range:"1..2147483647" mutable:"true" doc:"how long labels of finished jobs are remembered, in seconds"`
	StreamKeep     Int  `key:"streaming_label_keep_max_second" default:"43200" range:"1..2147483647" mutable:"true" doc:"how long labels of finished Stream Loads and INSERTs are remembered, in seconds; a group's label stays as long as its WAL"`
	LabelNum       Int  `key:"label_num_threshold" default:"2000" range:"1..10000000" mutable:"true" doc:"finished labels that a database remembers at most"`
	LabelClean     Int  `key:"label_clean_interval_second" default:"3600" range:"1..86400" doc:"pause between two removals of old labels of jobs, in seconds"`
	TxnClean       Int  `key:"transaction_clean_interval_second" default:"30" range:"1..86400" doc:"pause between two removals of old transactions, in seconds"`
	CommitTimeout  Int  `key:"commit_timeout_second" default:"30" range:"1..3600" mutable:"true" doc:"how long a commit may wait for replicas, in seconds"`
	PublishTimeout Int  `key:"publish_version_timeout_second" default:"30" range:"1..3600" mutable:"true" doc:"how long a publish waits before it goes on without slow replicas, in seconds"`
	MaxTxns        Int  `key:"max_running_txn_num_per_db" default:"10000" range:"1..1000000" mutable:"true" doc:"transactions of a database that may run at a time; groups with a WAL do not count"`
	LostHeartbeat  Int  `key:"abort_txn_after_lost_heartbeat_time_second" default:"300" range:"1..86400" mutable:"true" doc:"how long a backend may be lost before its plain transactions are aborted, in seconds"`
	DisableLoad    Bool `key:"disable_load_job" default:"false" mutable:"true" doc:"refuse every load"`
	NoMiniLoad     Bool `key:"disable_mini_load" default:"true" doc:"refuse the old /_load interface"`

	_ struct{} `section:"Tables"`

	Replicas      Int  `key:"default_replication_num" default:"0" range:"0..7" mutable:"true" doc:"replication_num of new tables that do not set it; 0 is the smaller of 3 and the number of backends"`
	ForceReplicas Int  `key:"force_olap_table_replication_num" default:"0" range:"0..7" mutable:"true" doc:"replication_num of all new tables, whatever they ask for; 0 is off"`
	MaxBuckets    Int  `key:"max_bucket_num_per_partition" default:"768" range:"1..65536" mutable:"true" doc:"buckets that a partition may have"`
	AutoMin       Int  `key:"autobucket_min_buckets" default:"1" range:"1..128" mutable:"true" doc:"buckets that BUCKETS AUTO gives at least"`
	AutoMax       Int  `key:"autobucket_max_buckets" default:"128" range:"1..65536" mutable:"true" doc:"buckets that BUCKETS AUTO gives at most"`
	TrashSeconds  Int  `key:"catalog_trash_expire_second" default:"86400" range:"0..2147483647" mutable:"true" doc:"how long dropped databases, tables and partitions can be recovered, in seconds"`
	CreateTimeout Int  `key:"tablet_create_timeout_second" default:"2" range:"1..3600" mutable:"true" doc:"time for the creation of one tablet, in seconds"`
	CreateMax     Int  `key:"max_create_table_timeout_second" default:"3600" range:"1..86400" mutable:"true" doc:"time for the creation of a table, in seconds"`
	MaxDeleteIn   Int  `key:"max_allowed_in_element_num_of_delete" default:"1024" range:"1..1000000" mutable:"true" doc:"values that an IN of DELETE may have"`
	UnicodeNames  Bool `key:"enable_unicode_names" default:"false" doc:"allow letters of every script in names"`
	NoKeysDefault Bool `key:"experimental_enable_duplicate_without_keys_by_default" default:"false" mutable:"true" doc:"make tables without a key clause DUPLICATE tables without keys"`

	_ struct{} `section:"Logs"`

	LogLevel  Text `key:"sys_log_level" default:"INFO" choices:"DEBUG,INFO,WARN,ERROR,FATAL" mutable:"true" doc:"lowest level that is logged"`
	LogFormat Text `key:"sys_log_format" default:"text" choices:"text,json" doc:"form of log lines"`
	LogFile   Text `key:"sys_log_file" default:"" doc:"file for the log; empty is standard error"`
	AuditFile Text `key:"audit_log_file" default:"" doc:"file for the audit log; empty turns it off"`
	SlowMs    Int  `key:"qe_slow_log_ms" default:"5000" range:"0..2147483647" mutable:"true" doc:"statements that take longer are logged, in milliseconds"`
}

// DefaultFE is the configuration of a frontend without a file.
func DefaultFE() *FE {
	c := &FE{}
	c.bind("FE", c)
	return c
}
