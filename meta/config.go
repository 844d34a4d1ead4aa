package meta

import (
	"strconv"

	"dorisgo/meta/txn"
)

// The configuration keys that Apply itself reads. They are cluster-wide
// (SetConfig), since Apply must see the same values on every FE. Values that
// are no numbers count as not set.
const (
	ConfigMaxRunningTxns = "max_running_txn_num_per_db"
	ConfigLabelKeepS     = "streaming_label_keep_max_second"
	ConfigLabelMax       = "label_num_threshold"
	ConfigDisableLoad    = "disable_load_job"
	ConfigTrashS         = "catalog_trash_expire_second"
	ConfigAbortDownS     = "abort_txn_after_lost_heartbeat_time_second"
	ConfigPrecommitS     = "stream_load_default_precommit_timeout_second"
	// ConfigPublishLogMax has no counterpart in Doris.
	ConfigPublishLogMax = "publish_log_max_versions_per_partition"
)

const (
	defaultTrashS     = 86400
	defaultAbortDownS = 300
	defaultPrecommitS = 3600
)

func limitsOf(config map[string]string) txn.Limits {
	l := txn.DefaultLimits()
	l.MaxRunningPerDB = int(configInt(config, ConfigMaxRunningTxns, int64(l.MaxRunningPerDB)))
	l.LabelKeepMs = configInt(config, ConfigLabelKeepS, l.LabelKeepMs/1000) * 1000
	l.LabelMax = int(configInt(config, ConfigLabelMax, int64(l.LabelMax)))
	l.PublishLogMax = int(configInt(config, ConfigPublishLogMax, int64(l.PublishLogMax)))
	return l
}

func configInt(config map[string]string, key string, def int64) int64 {
	v, err := strconv.ParseInt(config[key], 10, 64)
	if err != nil || v < 0 || v > 1<<40 {
		return def
	}
	return v
}
