package meta

// The Command methods. A command without a stored answer is harmless when it
// is repeated: its own rules make it a compare-and-set.

func (*InitCluster) name() string { return "init_cluster" }

func (*InitCluster) request() [16]byte { return [16]byte{} }

func (*InitCluster) stamp(int64) {}

func (*CreateDatabase) name() string { return "create_database" }

func (c *CreateDatabase) request() [16]byte { return c.RequestID }

func (*CreateDatabase) stamp(int64) {}

func (*DropDatabase) name() string { return "drop_database" }

func (c *DropDatabase) request() [16]byte { return c.RequestID }

func (c *DropDatabase) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*CreateTable) name() string { return "create_table" }

func (c *CreateTable) request() [16]byte { return c.RequestID }

func (*CreateTable) stamp(int64) {}

func (*DropTable) name() string { return "drop_table" }

func (c *DropTable) request() [16]byte { return c.RequestID }

func (c *DropTable) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*RecoverTable) name() string { return "recover_table" }

func (c *RecoverTable) request() [16]byte { return c.RequestID }

func (*RecoverTable) stamp(int64) {}

func (*AlterTableProps) name() string { return "alter_table_props" }

func (c *AlterTableProps) request() [16]byte { return c.RequestID }

func (*AlterTableProps) stamp(int64) {}

func (*RaiseTableEpoch) name() string { return "raise_table_epoch" }

func (c *RaiseTableEpoch) request() [16]byte { return c.RequestID }

func (*RaiseTableEpoch) stamp(int64) {}

func (*TruncateTable) name() string { return "truncate_table" }

func (c *TruncateTable) request() [16]byte { return c.RequestID }

func (c *TruncateTable) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*SetGlobalVar) name() string { return "set_global_var" }

func (*SetGlobalVar) request() [16]byte { return [16]byte{} }

func (*SetGlobalVar) stamp(int64) {}

func (*SetConfig) name() string { return "set_config" }

func (*SetConfig) request() [16]byte { return [16]byte{} }

func (*SetConfig) stamp(int64) {}

func (*CreateUser) name() string { return "create_user" }

func (c *CreateUser) request() [16]byte { return c.RequestID }

func (*CreateUser) stamp(int64) {}

func (*DropUser) name() string { return "drop_user" }

func (c *DropUser) request() [16]byte { return c.RequestID }

func (*DropUser) stamp(int64) {}

func (*SetPassword) name() string { return "set_password" }

func (*SetPassword) request() [16]byte { return [16]byte{} }

func (*SetPassword) stamp(int64) {}

func (*SetGrants) name() string { return "set_grants" }

func (*SetGrants) request() [16]byte { return [16]byte{} }

func (*SetGrants) stamp(int64) {}

func (*RegisterBackend) name() string { return "register_backend" }

func (c *RegisterBackend) request() [16]byte { return c.RequestID }

func (c *RegisterBackend) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*SetBackendAlive) name() string { return "set_backend_alive" }

func (*SetBackendAlive) request() [16]byte { return [16]byte{} }

func (*SetBackendAlive) stamp(int64) {}

func (*DecommissionBackend) name() string { return "decommission_backend" }

func (*DecommissionBackend) request() [16]byte { return [16]byte{} }

func (*DecommissionBackend) stamp(int64) {}

func (*ModifyBackend) name() string { return "modify_backend" }

func (*ModifyBackend) request() [16]byte { return [16]byte{} }

func (*ModifyBackend) stamp(int64) {}

func (*DropBackend) name() string { return "drop_backend" }

func (*DropBackend) request() [16]byte { return [16]byte{} }

func (c *DropBackend) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*RegisterFrontend) name() string { return "register_frontend" }

func (*RegisterFrontend) request() [16]byte { return [16]byte{} }

func (*RegisterFrontend) stamp(int64) {}

func (*DropFrontend) name() string { return "drop_frontend" }

func (*DropFrontend) request() [16]byte { return [16]byte{} }

func (*DropFrontend) stamp(int64) {}

func (*RaiseFeatureLevel) name() string { return "raise_feature_level" }

func (*RaiseFeatureLevel) request() [16]byte { return [16]byte{} }

func (*RaiseFeatureLevel) stamp(int64) {}

func (*BeginTxn) name() string { return "begin_txn" }

func (*BeginTxn) request() [16]byte { return [16]byte{} }

func (c *BeginTxn) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*CommitTxn) name() string { return "commit_txn" }

func (*CommitTxn) request() [16]byte { return [16]byte{} }

func (c *CommitTxn) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*FinishTwoPhase) name() string { return "finish_two_phase" }

func (c *FinishTwoPhase) request() [16]byte { return c.RequestID }

func (c *FinishTwoPhase) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*AbortTxn) name() string { return "abort_txn" }

func (*AbortTxn) request() [16]byte { return [16]byte{} }

func (c *AbortTxn) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*TakeOver) name() string { return "take_over" }

func (*TakeOver) request() [16]byte { return [16]byte{} }

func (*TakeOver) stamp(int64) {}

func (*PublishDone) name() string { return "publish_done" }

func (*PublishDone) request() [16]byte { return [16]byte{} }

func (c *PublishDone) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*ReleaseGroups) name() string { return "release_groups" }

func (*ReleaseGroups) request() [16]byte { return [16]byte{} }

func (*ReleaseGroups) stamp(int64) {}

func (*ReleaseLost) name() string { return "release_lost" }

func (*ReleaseLost) request() [16]byte { return [16]byte{} }

func (c *ReleaseLost) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*ReportDurable) name() string { return "report_durable" }

func (*ReportDurable) request() [16]byte { return [16]byte{} }

func (*ReportDurable) stamp(int64) {}

func (*ReportReplica) name() string { return "report_replica" }

func (*ReportReplica) request() [16]byte { return [16]byte{} }

func (c *ReportReplica) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*AddReplica) name() string { return "add_replica" }

func (c *AddReplica) request() [16]byte { return c.RequestID }

func (*AddReplica) stamp(int64) {}

func (*DropReplica) name() string { return "drop_replica" }

func (*DropReplica) request() [16]byte { return [16]byte{} }

func (c *DropReplica) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*Tick) name() string { return "tick" }

func (*Tick) request() [16]byte { return [16]byte{} }

func (c *Tick) stamp(ms int64) { setWall(&c.WallMs, ms) }

func (*CleanLabel) name() string { return "clean_label" }

func (*CleanLabel) request() [16]byte { return [16]byte{} }

func (*CleanLabel) stamp(int64) {}

func setWall(field *int64, ms int64) {
	if *field == 0 {
		*field = ms
	}
}
