package prop

import (
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// Property is a "key" = "value" pair as written.
type Property = struct{ Key, Value string }

// The values of group_commit_mode.
const (
	OffMode   = "off_mode"
	SyncMode  = "sync_mode"
	AsyncMode = "async_mode"
)

// DefaultReplicationNum is Doris' default of replication_num.
const DefaultReplicationNum = 3

// Target is the table that the properties are for.
type Target struct {
	Keys    meta.KeysType
	Columns []meta.Column
	// ReplicationNum is the default of replication_num, 0 for Doris' own.
	ReplicationNum int32
	// IntervalMs and DataBytes are the defaults of group_commit_interval_ms and
	// group_commit_data_bytes, 0 for Doris' own.
	IntervalMs, DataBytes int32
}

// context is what an entry's parser sees.
type context struct {
	*Target
	p *meta.Properties
	// alter is set for ALTER TABLE, whose texts differ.
	alter bool
}

// Defaults are the properties of a table that names none.
func Defaults(t *Target) meta.Properties {
	p := meta.Properties{
		ReplicationNum: t.ReplicationNum, GroupCommitIntervalMs: 10000, GroupCommitDataBytes: 64 << 20, GroupCommitMode: OffMode,
		LightSchemaChange: true, MergeOnWrite: t.Keys == meta.UniqueKeys, Compression: defaultCompression, StorageMedium: "hdd",
		InvertedIndexFormat: "V3", CompactionPolicy: sizeBased,
		TimeSeriesGoalSizeMB: 1024, TimeSeriesFileCount: 2000, TimeSeriesTimeThresholdS: 3600,
	}
	if p.ReplicationNum == 0 {
		p.ReplicationNum = DefaultReplicationNum
	}
	if t.IntervalMs > 0 {
		p.GroupCommitIntervalMs = t.IntervalMs
	}
	if t.DataBytes > 0 {
		p.GroupCommitDataBytes = t.DataBytes
	}
	return p
}

// Create reads the PROPERTIES of CREATE TABLE. Keys are not case-sensitive;
// the last of a repeated key counts.
func Create(t *Target, props []Property) (meta.Properties, error) {
	p := Defaults(t)
	c := &context{Target: t, p: &p}
	props, unknown := oneAllocation(props)
	for _, kv := range props {
		e := find(kv.Key)
		if e == nil || e.alterOnly {
			unknown = append(unknown, kv)
			continue
		}
		if err := e.parse(c, e.name, strings.TrimSpace(kv.Value)); err != nil {
			return p, err
		}
	}
	if len(unknown) > 0 {
		return p, doriserr.New(doriserr.BadProperty, "Unknown properties: %s", javaMap(unknown))
	}
	return p, check(c)
}

// Alter reads the property of ALTER TABLE ... SET over a table's present ones.
func Alter(t *Target, old meta.Properties, props []Property) (meta.Properties, error) {
	switch {
	case len(props) == 0:
		return old, doriserr.New(doriserr.BadProperty, "Properties is not set")
	case len(props) > 1:
		return old, doriserr.New(doriserr.BadProperty, "Can only set one table property(without dynamic partition && binlog) at a time")
	}
	e := find(props[0].Key)
	if e == nil || !e.mutable {
		return old, doriserr.New(doriserr.BadProperty, "Unknown table property: [%s]", props[0].Key)
	}
	next := old
	c := &context{Target: t, p: &next, alter: true}
	if err := e.parse(c, e.name, strings.TrimSpace(props[0].Value)); err != nil {
		return old, err
	}
	if err := check(c); err != nil {
		return old, err
	}
	return next, nil
}

// Show are a table's properties in the order of SHOW CREATE TABLE.
func Show(t *meta.Table) []Property {
	var out []Property
	for i := range table {
		e := &table[i]
		if e.show == nil {
			continue
		}
		if v, ok := e.show(t); ok {
			out = append(out, Property{e.name, v})
		}
	}
	return out
}

// find is the entry of a name, nil if there is none.
func find(name string) *entry {
	name = strings.ToLower(strings.TrimSpace(name))
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return nil
}

// check are the rules over several properties.
func check(c *context) error {
	if c.p.CompactionPolicy == timeSeries && c.Keys == meta.UniqueKeys {
		return bad("Time series compaction policy is not supported for unique key table")
	}
	return nil
}

// javaMap prints pairs as Doris does.
func javaMap(props []Property) string {
	parts := make([]string, len(props))
	for i, p := range props {
		parts[i] = p.Key + "=" + p.Value
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func bad(format string, args ...any) error {
	return doriserr.New(doriserr.BadProperty, format, args...)
}
