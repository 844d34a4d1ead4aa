package behttp

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/json"
	"dorisgo/sql/httpstream"
)

// head is what a Stream Load's headers ask for, checked as far as that needs no
// table.
type head struct {
	label   string
	mode    string // group_commit, lower case; empty without the header
	comment string
	timeout time.Duration

	json    bool
	parquet bool
	columns []string
	derived []load.Derived
	where   string
	// statement is that of an HTTP stream, which says the mapping then.
	statement *httpstream.Statement
	compress  string
	csv       csv.Options
	// namesLines are the lines of names and types at the start.
	namesLines int
	jsonForm   json.Options
	byLineSet  bool
	stripSet   bool

	ratio       float64
	strict      bool
	location    *time.Location
	partitions  []string
	sequenceCol string
	twoPhase    bool

	// What only tables of other kinds take (tablekind.go): merge and update are
	// in upper case, empty for the default.
	merge, deleteOn, update string
	negative                bool
	hiddenColumns           string
	fuzzy                   bool
}

// headerRule checks one header that is there with a value.
type headerRule struct {
	name  string
	check func(h *head, name, v string, l Limits) error
}

// headerRules are all known headers in the order in which they are checked.
// Unknown headers are ignored; a bad value of a known one is refused with the
// header's name and the value.
var headerRules = []headerRule{
	{"group_commit", setMode},
	{"label", setLabel},
	{"format", setFormat},
	{"timeout", setTimeout},
	{"comment", func(h *head, _, v string, _ Limits) error { h.comment = v; return nil }},
	{"columns", func(h *head, _, v string, _ Limits) (err error) {
		h.columns, h.derived, err = load.ParseColumns(v)
		return err
	}},
	{"column_separator", func(h *head, _, v string, _ Limits) (err error) { h.csv.Separator, err = csv.Separator(v); return err }},
	{"line_delimiter", func(h *head, _, v string, _ Limits) (err error) { h.csv.Delimiter, err = csv.Separator(v); return err }},
	{"enclose", oneByte(func(h *head) *byte { return &h.csv.Enclose })},
	{"escape", oneByte(func(h *head) *byte { return &h.csv.Escape })},
	{"trim_double_quotes", flag(func(h *head) *bool { return &h.csv.TrimDoubleQuotes })},
	{"skip_lines", setSkipLines},
	{"empty_field_as_null", flag(func(h *head) *bool { return &h.csv.EmptyFieldAsNull })},
	{"compress_type", func(h *head, _, v string, _ Limits) error { h.compress = v; return load.CheckCompression(v) }},
	{"Content-Encoding", setEncoding},
	{"max_filter_ratio", setRatio},
	{"strict_mode", setStrict},
	{"timezone", setZone},
	{"time_zone", setZone},
	{"exec_mem_limit", setMemLimit},
	{"read_json_by_line", setByLine},
	{"strip_outer_array", setStrip},
	{"jsonpaths", func(h *head, _, v string, _ Limits) (err error) {
		h.jsonForm.Paths, err = json.ParsePaths(v)
		return err
	}},
	{"json_root", func(h *head, _, v string, _ Limits) (err error) { h.jsonForm.Root, err = json.ParsePath(v); return err }},
	{"num_as_string", ignoredFlag}, // numbers are always read digit by digit
	{"fuzzy_parse", flag(func(h *head) *bool { return &h.fuzzy })},
	{"load_to_single_tablet", ignoredFlag},
	{"partitions", setPartitions},
	{"temporary_partitions", refused},
	{"function_column.sequence_col", func(h *head, _, v string, _ Limits) error { h.sequenceCol = v; return nil }},
	{"two_phase_commit", flag(func(h *head) *bool { return &h.twoPhase })},
	{"negative", flag(func(h *head) *bool { return &h.negative })},
	{"partial_columns", setPartial},
	{"unique_key_update_mode", setUpdateMode},
	{"partial_update_new_key_behavior", oneOf("APPEND", "ERROR")},
	{"merge_type", setMergeType},
	{"delete", func(h *head, _, v string, _ Limits) error { h.deleteOn = v; return nil }},
	{"where", func(h *head, _, v string, _ Limits) error { h.where = v; return nil }},
	{"hidden_columns", func(h *head, _, v string, _ Limits) error { h.hiddenColumns = v; return nil }},
}

// parseHead checks the headers. Headers with an empty value count as missing:
// an HTTP server drops blanks and tabs round values, so that a raw tab as a
// separator arrives empty. An empty label alone is refused: whoever sends one
// counts on it for a safe retry.
func parseHead(header http.Header, l Limits) (*head, error) {
	h := &head{timeout: l.Timeout}
	for _, r := range headerRules {
		v := header.Get(r.name)
		if v == "" {
			if r.name == "label" && len(header.Values(r.name)) > 0 {
				return h, errEmptyLabel
			}
			continue
		}
		if err := r.check(h, r.name, v, l); err != nil {
			return h, err
		}
	}
	if h.jsonForm.Paths != nil && h.columns != nil && len(h.columns) != len(h.jsonForm.Paths) {
		return h, invalid("Invalid jsonpaths: %d paths for the %d names of header columns", len(h.jsonForm.Paths), len(h.columns))
	}
	if h.parquet && h.compress != "" {
		return h, invalid("Invalid compress_type: %s: a Parquet file is compressed inside", h.compress)
	}
	if err := h.checkMerge(); err != nil {
		return h, err
	}
	if h.namesLines > 0 {
		h.csv.SkipLines = h.namesLines
	}
	if h.json && !h.byLineSet && !h.stripSet {
		h.jsonForm.ByLine = true
	}
	return h, nil
}

func setMode(h *head, _, v string, _ Limits) error {
	switch m := strings.ToLower(v); m {
	case "off_mode", "sync_mode", "async_mode":
		h.mode = m
		return nil
	}
	return invalid("group_commit can only be [async_mode, sync_mode, off_mode], found: %s", v)
}

// reservedPrefix starts the labels of groups; clients may not use it
// (docs/protocol.md, rule 3).
const reservedPrefix = "group_commit_"

var labelRule = regexp.MustCompile(`^[\-_A-Za-z0-9:]{1,128}$`)

var errEmptyLabel = doriserr.New(doriserr.LabelFormat, "Label format error. regex: %s, label is empty: leave the header out for a label of the server's choice", labelRule)

func setLabel(h *head, _, v string, _ Limits) error {
	if !labelRule.MatchString(v) {
		return doriserr.New(doriserr.LabelFormat, "Label format error. regex: %s, label: %s", labelRule, v)
	}
	if strings.HasPrefix(v, reservedPrefix) {
		return doriserr.New(doriserr.LabelFormat, "Invalid label: %s: labels that start with %s are reserved", v, reservedPrefix)
	}
	h.label = v
	return nil
}

func setFormat(h *head, _, v string, _ Limits) error {
	switch strings.ToLower(v) {
	case "csv":
	case "csv_with_names":
		h.namesLines = 1
	case "csv_with_names_and_types":
		h.namesLines = 2
	case "json":
		h.json = true
	case "parquet":
		h.parquet = true
	case "orc", "arrow", "hive_text", "wal":
		return unsupported("format %s is not supported yet", v)
	default:
		return &codedError{"DATA_FILE_TYPE_ERROR", "unknown data format, format=" + v}
	}
	return nil
}

func setTimeout(h *head, name, v string, l Limits) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return invalid("Invalid format of '%s': '%s', stoi", name, v)
	}
	if most := int64(l.MaxTimeout / time.Second); n > most {
		return doriserr.New(doriserr.Analysis, "Invalid timeout: %d. Timeout should be lower than Config.max_stream_load_timeout_second: %d", n, most)
	}
	if least := int64(max(l.MinTimeout, time.Second) / time.Second); n < least {
		return doriserr.New(doriserr.Analysis, "Invalid timeout: %d. Timeout should be higher than Config.min_load_timeout_second: %d", n, least)
	}
	h.timeout = time.Duration(n) * time.Second
	return nil
}

func setSkipLines(h *head, name, v string, _ Limits) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err != nil {
		return invalid("Invalid format of '%s': '%s', stoi", name, v)
	}
	if n < 0 {
		return invalid("Invalid '%s': %d", name, n)
	}
	h.csv.SkipLines = int(n)
	return nil
}

// setEncoding takes HTTP's name for a packed body. Clients that send it beside
// compress_type have packed once, so that both have to name the same form.
func setEncoding(h *head, name, v string, _ Limits) error {
	packed, err := load.EncodingCompression(v)
	if err != nil || packed == "" {
		return err
	}
	if h.compress != "" && !strings.EqualFold(h.compress, packed) {
		return invalid("Invalid %s: %s, since header compress_type says %s", name, v, h.compress)
	}
	h.compress = packed
	return nil
}

func setRatio(h *head, name, v string, _ Limits) error {
	r, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(r) || r < 0 || r > 1 {
		return invalid("Invalid %s: %s, must be a number from 0 to 1", name, v)
	}
	h.ratio = r
	return nil
}

func parseFlag(v string) (on, ok bool) {
	switch strings.ToLower(v) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

func flag(field func(*head) *bool) func(*head, string, string, Limits) error {
	return func(h *head, name, v string, _ Limits) error {
		on, ok := parseFlag(v)
		if !ok {
			return invalid("Invalid %s: %s, must be true or false", name, v)
		}
		*field(h) = on
		return nil
	}
}

func ignoredFlag(h *head, name, v string, l Limits) error {
	var ignored bool
	return flag(func(*head) *bool { return &ignored })(h, name, v, l)
}

func setStrict(h *head, name, v string, _ Limits) error {
	on, ok := parseFlag(v)
	if !ok {
		return invalid("Invalid strict mode format. Must be bool type, found %s: %s", name, v)
	}
	h.strict = on
	return nil
}

func setByLine(h *head, name, v string, l Limits) error {
	h.byLineSet = true
	return flag(func(h *head) *bool { return &h.jsonForm.ByLine })(h, name, v, l)
}

func setStrip(h *head, name, v string, l Limits) error {
	h.stripSet = true
	return flag(func(h *head) *bool { return &h.jsonForm.StripOuterArray })(h, name, v, l)
}

func oneByte(field func(*head) *byte) func(*head, string, string, Limits) error {
	return func(h *head, name, v string, _ Limits) error {
		if len(v) != 1 {
			return invalid("%s must be single-char, actually is %s", name, v)
		}
		*field(h) = v[0]
		return nil
	}
}

func setZone(h *head, _, v string, _ Limits) (err error) {
	h.location, err = ParseZone(v)
	return err
}

func setMemLimit(_ *head, _, v string, _ Limits) error {
	if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < 0 {
		return invalid("Invalid mem limit format, exec_mem_limit: %s", v)
	}
	return nil
}

func setPartitions(h *head, name, v string, _ Limits) error {
	for p := range strings.SplitSeq(v, ",") {
		if p = strings.Trim(strings.TrimSpace(p), "`"); p == "" {
			return invalid("Invalid %s: %s, must be names separated by commas", name, v)
		}
		h.partitions = append(h.partitions, p)
	}
	return nil
}

func refused(_ *head, name, v string, _ Limits) error {
	return unsupported("header %s is not supported yet: %s", name, v)
}

func oneOf(values ...string) func(*head, string, string, Limits) error {
	return func(_ *head, name, v string, _ Limits) error {
		for _, w := range values {
			if strings.EqualFold(v, w) {
				return nil
			}
		}
		return invalid("Invalid %s: %s, must be one of %s", name, v, strings.Join(values, ", "))
	}
}
