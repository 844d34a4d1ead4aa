package prop

import (
	"strconv"

	"dorisgo/meta"
)

// entry is one property.
type entry struct {
	name string
	// mutable says that ALTER TABLE ... SET may change it.
	mutable bool
	// alterOnly says that CREATE TABLE does not know it.
	alterOnly bool
	// parse checks a value and stores it.
	parse func(c *context, name, value string) error
	// show is the value in SHOW CREATE TABLE; ok is false if it is left out.
	// nil: never shown.
	show func(t *meta.Table) (value string, ok bool)
}

// table is every property, in the order of SHOW CREATE TABLE.
var table = []entry{
	{name: replicationAllocation, mutable: true, parse: parseAllocation, show: showAllocation},
	{name: replicationNum, mutable: true, parse: parseReplicationNum},
	{name: "default." + replicationAllocation, alterOnly: true, mutable: true, parse: parseAllocation},
	{name: "default." + replicationNum, alterOnly: true, mutable: true, parse: parseReplicationNum},
	{name: "min_load_replica_num", parse: oneOf("-1"), show: always("-1")},
	{name: "bloom_filter_columns", parse: parseBloomFilter, show: nonEmpty(func(p *meta.Properties) string { return p.BloomFilterColumns })},
	{name: "is_being_synced", parse: oneOf("false"), show: always("false")},
	{name: "in_memory", parse: parseInMemory},
	{name: "storage_medium", parse: parseStorageMedium, show: shown(func(p *meta.Properties) string { return p.StorageMedium })},
	{name: "storage_format", parse: oneOf("V2", "V3", "DEFAULT"), show: always("V2")},
	{name: "inverted_index_storage_format", parse: parseIndexFormat, show: shown(func(p *meta.Properties) string { return p.InvertedIndexFormat })},
	{name: "compression", parse: parseCompression, show: showCompression},
	{name: "estimate_partition_size", parse: parseEstimate, show: nonEmpty(func(p *meta.Properties) string { return p.EstimatePartitionSize })},
	{name: "enable_unique_key_merge_on_write", parse: parseMergeOnWrite, show: showMergeOnWrite},
	{name: "light_schema_change", mutable: true, parse: parseLightSchemaChange, show: showLightSchemaChange},
	{name: "function_column.sequence_col", parse: parseSequenceCol, show: nonEmpty(func(p *meta.Properties) string { return p.SequenceCol })},
	{name: "store_row_column", parse: parseStoreRow, show: showStoreRow},
	{name: "row_store_page_size", parse: oneOf("16384")},
	{name: "storage_page_size", parse: oneOf("65536")},
	{name: "skip_write_index_on_load", parse: oneOf("false")},
	{name: "compaction_policy", mutable: true, parse: parsePolicy, show: showPolicy},
	{name: "time_series_compaction_goal_size_mbytes", mutable: true, parse: parseGoalSize, show: timeSeriesOnly(func(p *meta.Properties) int64 { return p.TimeSeriesGoalSizeMB })},
	{name: "time_series_compaction_file_count_threshold", mutable: true, parse: parseFileCount, show: timeSeriesOnly(func(p *meta.Properties) int64 { return p.TimeSeriesFileCount })},
	{name: "time_series_compaction_time_threshold_seconds", mutable: true, parse: parseTimeThreshold, show: timeSeriesOnly(func(p *meta.Properties) int64 { return p.TimeSeriesTimeThresholdS })},
	{name: "disable_auto_compaction", mutable: true, parse: parseDisableCompaction, show: boolShown(func(p *meta.Properties) bool { return p.DisableAutoCompaction })},
	{name: "enable_single_replica_compaction", parse: oneOf("false"), show: always("false")},
	{name: "group_commit_interval_ms", mutable: true, parse: parseInterval, show: intShown(func(p *meta.Properties) int32 { return p.GroupCommitIntervalMs })},
	{name: "group_commit_data_bytes", mutable: true, parse: parseDataBytes, show: intShown(func(p *meta.Properties) int32 { return p.GroupCommitDataBytes })},
	{name: "group_commit_mode", mutable: true, parse: parseMode, show: showMode},
	{name: "enable_mow_light_delete", parse: oneOf("false"), show: uniqueOnly("false")},
	{name: "enable_duplicate_without_keys_by_default", parse: parseNoKeys, show: showNoKeys},
}

// always shows a fixed value.
func always(v string) func(*meta.Table) (string, bool) {
	return func(*meta.Table) (string, bool) { return v, true }
}

// uniqueOnly shows a fixed value for UNIQUE tables.
func uniqueOnly(v string) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) { return v, t.Keys == meta.UniqueKeys }
}

func shown(get func(*meta.Properties) string) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) { return get(&t.Props), true }
}

func nonEmpty(get func(*meta.Properties) string) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) { return get(&t.Props), get(&t.Props) != "" }
}

func intShown(get func(*meta.Properties) int32) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) { return strconv.FormatInt(int64(get(&t.Props)), 10), true }
}

func boolShown(get func(*meta.Properties) bool) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) { return strconv.FormatBool(get(&t.Props)), true }
}

func timeSeriesOnly(get func(*meta.Properties) int64) func(*meta.Table) (string, bool) {
	return func(t *meta.Table) (string, bool) {
		return strconv.FormatInt(get(&t.Props), 10), t.Props.CompactionPolicy == timeSeries
	}
}

func showCompression(t *meta.Table) (string, bool) {
	return t.Props.Compression, t.Props.Compression != defaultCompression
}

func showMergeOnWrite(t *meta.Table) (string, bool) {
	return strconv.FormatBool(t.Props.MergeOnWrite), t.Keys == meta.UniqueKeys
}

func showLightSchemaChange(t *meta.Table) (string, bool) {
	return "true", t.Props.LightSchemaChange
}

func showStoreRow(t *meta.Table) (string, bool) { return "true", t.Props.StoreRowColumn }

func showPolicy(t *meta.Table) (string, bool) {
	return t.Props.CompactionPolicy, t.Props.CompactionPolicy != sizeBased
}

func showMode(t *meta.Table) (string, bool) {
	return t.Props.GroupCommitMode, t.Props.GroupCommitMode != OffMode
}

func showNoKeys(t *meta.Table) (string, bool) { return "true", t.Props.EnableDuplicateNoKeys }
