package prop

import (
	"fmt"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

var columns = []meta.Column{
	{Name: "k", Type: value.Type{Kind: value.Int}, Key: true},
	{Name: "Seq", Type: value.Type{Kind: value.BigInt}},
	{Name: "s", Type: value.Type{Kind: value.VarChar, Length: 10}},
}

func TestDefaults(t *testing.T) {
	p, err := Create(&Target{Keys: meta.DuplicateKeys}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.ReplicationNum != 3 || p.GroupCommitIntervalMs != 10000 || p.GroupCommitDataBytes != 67108864 || p.GroupCommitMode != OffMode || !p.LightSchemaChange {
		t.Errorf("defaults %+v", p)
	}
}

func TestTexts(t *testing.T) {
	tests := []struct {
		keys       meta.KeysType
		alter      bool
		key, value string
		want       string
	}{
		{meta.DuplicateKeys, false, "group_commit_interval_ms", "x", "parse group_commit_interval_ms format error"},
		{meta.DuplicateKeys, false, "group_commit_data_bytes", "2147483648", "parse group_commit_interval_ms format error"},
		{meta.DuplicateKeys, false, "group_commit_interval_ms", "0", "group_commit_interval_ms must be greater than 0"},
		{meta.DuplicateKeys, true, "group_commit_data_bytes", "-1", "group_commit_data_bytes must be greater than 0"},
		{meta.DuplicateKeys, true, "group_commit_interval_ms", "1.5", "Invalid group_commit_interval_ms format: 1.5"},
		{meta.DuplicateKeys, false, "group_commit_mode", "Fast", "Invalid group_commit_mode: Fast, must be off_mode, sync_mode or async_mode"},
		{meta.DuplicateKeys, true, "group_commit_mode", "", "Invalid group_commit_mode: , must be off_mode, sync_mode or async_mode"},
		{meta.DuplicateKeys, false, "light_schema_change", "yes", "light_schema_change must be `true` or `false`"},
		{meta.DuplicateKeys, false, "nope", "1", "Unknown properties: {nope=1}"},
		{meta.DuplicateKeys, true, "nope", "1", "Unknown table property: [nope]"},
		{meta.DuplicateKeys, true, "replication_num", "0", "Replication num should be greater than 0, not 0"},
		{meta.DuplicateKeys, true, "storage_medium", "ssd", "Unknown table property: [storage_medium]"},
		{meta.DuplicateKeys, false, "default.replication_num", "1", "Unknown properties: {default.replication_num=1}"},
		{meta.DuplicateKeys, false, "replication_allocation", "3", "Invalid replication allocation property: 3"},
		{meta.DuplicateKeys, false, "replication_allocation", "tag.rack.a:3", "Invalid replication allocation tag property: tag.rack.a:3"},
		{meta.DuplicateKeys, false, "replication_allocation", "tag.location.: 3", "Invalid replication allocation location tag property: tag.location.:3"},
		{meta.DuplicateKeys, false, "enable_unique_key_merge_on_write", "true", "enable_unique_key_merge_on_write property only support unique key table"},
		{meta.UniqueKeys, false, "function_column.sequence_col", "x", "The specified sequence column[x] not exists"},
		{meta.UniqueKeys, false, "function_column.sequence_col", "s", "Sequence type only support integer types and date types"},
		{meta.UniqueKeys, false, "compaction_policy", "time_series", "Time series compaction policy is not supported for unique key table"},
		{meta.DuplicateKeys, false, "in_memory", "true", "Not support set 'in_memory'='true' now!"},
		{meta.DuplicateKeys, false, "replication_allocation", "tag.location.x: 1", "Invalid replication_allocation: tag.location.x: 1, only tag.location.default is supported"},
		{meta.AggregateKeys, false, "store_row_column", "true", "Aggregate table can't support row column now"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s=%s", tt.key, tt.value), func(t *testing.T) {
			target := &Target{Keys: tt.keys, Columns: columns}
			var err error
			if tt.alter {
				_, err = Alter(target, Defaults(target), []Property{{tt.key, tt.value}})
			} else {
				_, err = Create(target, []Property{{tt.key, tt.value}})
			}
			if !doriserr.Is(err, doriserr.BadProperty) || err.Error() != tt.want {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
}

func TestAlterTakesOneProperty(t *testing.T) {
	target := &Target{Keys: meta.DuplicateKeys}
	if _, err := Alter(target, meta.Properties{}, nil); err == nil || err.Error() != "Properties is not set" {
		t.Errorf("none: %v", err)
	}
	two := []Property{{"group_commit_mode", "sync_mode"}, {"group_commit_interval_ms", "1"}}
	if _, err := Alter(target, meta.Properties{}, two); err == nil || err.Error() != "Can only set one table property(without dynamic partition && binlog) at a time" {
		t.Errorf("two: %v", err)
	}
	p, err := Alter(target, Defaults(target), []Property{{"GROUP_COMMIT_MODE", "ASYNC_MODE"}})
	if err != nil || p.GroupCommitMode != AsyncMode {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestReplicationNum(t *testing.T) {
	target := &Target{Keys: meta.DuplicateKeys}
	for _, kv := range []Property{{"replication_num", "2"}, {"Replication_Allocation", "tag.location.default: 2"}} {
		p, err := Create(target, []Property{kv})
		if err != nil || p.ReplicationNum != 2 {
			t.Errorf("CREATE TABLE with %v: %d, %v", kv, p.ReplicationNum, err)
		}
	}
	for _, key := range []string{"replication_num", "default.replication_num", "replication_allocation", "default.replication_allocation"} {
		value := "5"
		if strings.HasSuffix(key, "allocation") {
			value = "tag.location.default:5"
		}
		p, err := Alter(target, Defaults(target), []Property{{key, value}})
		if err != nil || p.ReplicationNum != 5 {
			t.Errorf("ALTER TABLE with %s: %d, %v", key, p.ReplicationNum, err)
		}
	}
	both := []Property{{"replication_allocation", "tag.location.default: 3"}, {"replication_num", "2"}}
	if _, err := Create(target, both); err == nil || err.Error() != "Unknown properties: {replication_allocation=tag.location.default: 3}" {
		t.Errorf("both: %v", err)
	}
}

func TestShow(t *testing.T) {
	target := &Target{Keys: meta.UniqueKeys, Columns: columns}
	p, err := Create(target, []Property{
		{"replication_num", "1"}, {"function_column.sequence_col", "seq"}, {"group_commit_mode", "sync_mode"}, {"group_commit_interval_ms", "200"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `replication_allocation=tag.location.default: 1
min_load_replica_num=-1
is_being_synced=false
storage_medium=hdd
storage_format=V2
inverted_index_storage_format=V3
enable_unique_key_merge_on_write=true
light_schema_change=true
function_column.sequence_col=Seq
disable_auto_compaction=false
enable_single_replica_compaction=false
group_commit_interval_ms=200
group_commit_data_bytes=67108864
group_commit_mode=sync_mode
enable_mow_light_delete=false
`
	got := ""
	for _, kv := range Show(&meta.Table{Keys: meta.UniqueKeys, Props: p}) {
		got += kv.Key + "=" + kv.Value + "\n"
	}
	if got != want {
		t.Errorf("SHOW CREATE TABLE prints\n%swant\n%s", got, want)
	}
}

// What SHOW CREATE TABLE prints is accepted by CREATE TABLE and means the same.
func TestShowIsReadAgain(t *testing.T) {
	for _, keys := range []meta.KeysType{meta.DuplicateKeys, meta.UniqueKeys} {
		target := &Target{Keys: keys, Columns: columns}
		p, err := Create(target, []Property{{"compression", "zstd"}, {"store_row_column", "true"}, {"bloom_filter_columns", "k, s"}})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Create(target, Show(&meta.Table{Keys: keys, Props: p}))
		if err != nil || again != p {
			t.Errorf("read again: %+v, %v, want %+v", again, err, p)
		}
	}
}
