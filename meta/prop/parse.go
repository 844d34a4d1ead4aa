package prop

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dorisgo/meta"
	"dorisgo/value"
)

const (
	defaultTag         = "tag.location.default"
	defaultCompression = "LZ4F"
	sizeBased          = "size_based"
	timeSeries         = "time_series"
)

// oneOf accepts values that mean what we do anyway, without regard to case.
func oneOf(values ...string) func(*context, string, string) error {
	return func(_ *context, name, v string) error {
		for _, ok := range values {
			if strings.EqualFold(v, ok) {
				return nil
			}
		}
		return bad("Invalid %s: %s, must be %s", name, v, strings.Join(values, " or "))
	}
}

func parseBool(name, v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, bad("%s must be `true` or `false`", name)
}

func parseBloomFilter(c *context, _, v string) error {
	for col := range strings.SplitSeq(v, ",") {
		col = strings.TrimSpace(col)
		if col != "" && column(c, col) == nil {
			return bad("Bloom filter column does not exist in table. invalid column: %s", col)
		}
	}
	c.p.BloomFilterColumns = v
	return nil
}

func column(c *context, name string) *meta.Column {
	i := slices.IndexFunc(c.Columns, func(col meta.Column) bool { return strings.EqualFold(col.Name, name) })
	if i < 0 {
		return nil
	}
	return &c.Columns[i]
}

func parseInMemory(_ *context, name, v string) error {
	on, err := parseBool(name, v)
	if err == nil && on {
		return bad("Not support set 'in_memory'='true' now!")
	}
	return err
}

func parseStorageMedium(c *context, _, v string) error {
	v = strings.ToLower(v)
	if v != "hdd" && v != "ssd" {
		return bad("Invalid storage medium: %s", v)
	}
	c.p.StorageMedium = v
	return nil
}

func parseIndexFormat(c *context, name, v string) error {
	v = strings.ToUpper(v)
	if v == "DEFAULT" {
		v = "V3"
	}
	if v != "V1" && v != "V2" && v != "V3" {
		return bad("Invalid %s: %s, must be V1, V2 or V3", name, v)
	}
	c.p.InvertedIndexFormat = v
	return nil
}

func parseCompression(c *context, _, v string) error {
	v = strings.ToUpper(v)
	switch v {
	case "DEFAULT", "DEFAULT_COMPRESSION":
		v = defaultCompression
	case "NO_COMPRESSION", "LZ4", "LZ4F", "LZ4HC", "ZSTD", "ZLIB", "SNAPPY":
	default:
		return bad("unknown compression type: %s", v)
	}
	c.p.Compression = v
	return nil
}

func parseEstimate(c *context, _, v string) error {
	c.p.EstimatePartitionSize = v
	return nil
}

func parseMergeOnWrite(c *context, name, v string) error {
	if c.Keys != meta.UniqueKeys {
		return bad("%s property only support unique key table", name)
	}
	on, err := parseBool(name, v)
	if err != nil {
		return err
	}
	if !on {
		return bad("%s must be `true`: merge-on-read tables are not supported", name)
	}
	c.p.MergeOnWrite = on
	return nil
}

func parseLightSchemaChange(c *context, name, v string) error {
	on, err := parseBool(name, v)
	if err != nil {
		return bad("light_schema_change must be `true` or `false`")
	}
	if c.alter && !on {
		return bad("Can not alter light_schema_change from true to false currently")
	}
	c.p.LightSchemaChange = on
	return nil
}

func parseSequenceCol(c *context, _, v string) error {
	if c.Keys != meta.UniqueKeys {
		return bad("sequence column only support UNIQUE_KEYS")
	}
	col := column(c, v)
	if col == nil {
		return bad("The specified sequence column[%s] not exists", v)
	}
	switch col.Type.Kind {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt, value.LargeInt, value.Date, value.DateTime:
	default:
		return bad("Sequence type only support integer types and date types")
	}
	c.p.SequenceCol = col.Name
	return nil
}

func parseStoreRow(c *context, name, v string) error {
	on, err := parseBool(name, v)
	if err == nil && on && c.Keys == meta.AggregateKeys {
		err = bad("Aggregate table can't support row column now")
	}
	c.p.StoreRowColumn = on
	return err
}

func parsePolicy(c *context, _, v string) error {
	v = strings.ToLower(v)
	if v != sizeBased && v != timeSeries {
		return bad("compaction_policy must be %s or %s", timeSeries, sizeBased)
	}
	c.p.CompactionPolicy = v
	return nil
}

// parsePositive reads a whole number of at least min.
func parsePositive(name, v string, minimum int64) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return 0, bad("Invalid %s format: %s", name, v)
	}
	if n < minimum {
		return 0, bad("%s can not be less than %d:%d", name, minimum, n)
	}
	return n, nil
}

func parseGoalSize(c *context, name, v string) (err error) {
	c.p.TimeSeriesGoalSizeMB, err = parsePositive(name, v, 10)
	return err
}

func parseFileCount(c *context, name, v string) (err error) {
	c.p.TimeSeriesFileCount, err = parsePositive(name, v, 10)
	return err
}

func parseTimeThreshold(c *context, name, v string) (err error) {
	c.p.TimeSeriesTimeThresholdS, err = parsePositive(name, v, 60)
	return err
}

func parseDisableCompaction(c *context, name, v string) (err error) {
	c.p.DisableAutoCompaction, err = parseBool(name, v)
	return err
}

// parseGroupNumber reads one of the two numbers of group commit. CREATE names
// the interval in both its errors, as Doris does.
func parseGroupNumber(c *context, name, v string) (int32, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	switch {
	case (err != nil || n > math.MaxInt32 || n < math.MinInt32) && c.alter:
		return 0, bad("Invalid %s format: %s", name, v)
	case err != nil || n > math.MaxInt32 || n < math.MinInt32:
		return 0, bad("parse group_commit_interval_ms format error")
	case n <= 0:
		return 0, bad("%s must be greater than 0", name)
	}
	return int32(n), nil
}

func parseInterval(c *context, name, v string) error {
	n, err := parseGroupNumber(c, name, v)
	if err == nil {
		c.p.GroupCommitIntervalMs = n
	}
	return err
}

func parseDataBytes(c *context, name, v string) error {
	n, err := parseGroupNumber(c, name, v)
	if err == nil {
		c.p.GroupCommitDataBytes = n
	}
	return err
}

func parseMode(c *context, _, v string) error {
	mode := strings.ToLower(v)
	if mode != OffMode && mode != SyncMode && mode != AsyncMode {
		return bad("Invalid group_commit_mode: %s, must be off_mode, sync_mode or async_mode", v)
	}
	c.p.GroupCommitMode = mode
	return nil
}

func parseNoKeys(c *context, name, v string) error {
	on, err := parseBool(name, v)
	if err == nil {
		c.p.EnableDuplicateNoKeys = on && c.Keys == meta.DuplicateKeys
	}
	return err
}
