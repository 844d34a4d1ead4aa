package behttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/meta"
	"dorisgo/sql/httpstream"
)

// httpStream answers PUT /api/_http_stream: a Stream Load whose mapping is the
// INSERT statement in header sql.
func (s *Server) httpStream(w http.ResponseWriter, r *http.Request) {
	s.serveLoad(w, r, parseStatement)
}

// statementHeaders are the headers of a Stream Load that say nothing about its
// form and mapping: an HTTP stream takes them as well.
var statementHeaders = []string{
	"group_commit", "label", "timeout", "comment", "max_filter_ratio", "strict_mode", "timezone", "time_zone", "exec_mem_limit",
	"two_phase_commit", "load_to_single_tablet", "Content-Encoding",
}

// statementProperties are the properties of http_stream: each means what the
// header of that name means to a Stream Load.
var statementProperties = []string{
	"format", "column_separator", "line_delimiter", "enclose", "escape", "trim_double_quotes", "skip_lines", "empty_field_as_null", "compress_type",
	"read_json_by_line", "strip_outer_array", "jsonpaths", "json_root", "num_as_string", "fuzzy_parse",
}

// parseStatement is parseHead for an HTTP stream.
func parseStatement(r *http.Request, l Limits) (h *head, db, table string, err error) {
	none := &head{timeout: l.Timeout}
	sql := r.Header.Get("sql")
	if strings.TrimSpace(sql) == "" {
		return none, "", "", invalid("http_stream needs the statement in header sql")
	}
	st, err := httpstream.Parse(sql)
	if err != nil {
		return none, "", "", err
	}
	merged := http.Header{}
	for _, rule := range headerRules {
		v := r.Header.Get(rule.name)
		switch {
		case v == "":
		case slices.Contains(statementHeaders, rule.name):
			merged.Set(rule.name, v)
		default:
			return none, "", "", invalid("header %s has no meaning for _http_stream, the statement says it: %s", rule.name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(st.Properties)) {
		if !slices.Contains(statementProperties, name) {
			return none, "", "", invalid("unknown property %q of http_stream, must be one of %s", name, strings.Join(statementProperties, ", "))
		}
		merged.Set(name, st.Properties[name])
	}
	if st.Label != "" {
		if v := merged.Get("label"); v != "" && v != st.Label {
			return none, "", "", invalid("header label: %s: the statement has label %s", v, st.Label)
		}
		merged.Set("label", st.Label)
	}
	if merged.Get("strict_mode") == "" {
		// It is an INSERT, and enable_insert_strict is on by default.
		merged.Set("strict_mode", "true")
	}
	h, err = parseHead(merged, l)
	if err == nil && h.parquet {
		err = unsupported("format parquet is not supported by _http_stream, send it by _stream_load")
	}
	h.statement, h.partitions = st, st.Partitions
	h.csv.AnyWidth = !st.Star && h.namesLines == 0
	return h, st.DB, st.Table, err
}

// statementMapping says which expression of the statement goes to which column.
func (l *request) statementMapping(ctx context.Context, o load.MappingOptions) (*load.Mapping, error) {
	st, t := l.head.statement, l.plan.Table
	columns := st.Columns
	if columns == nil {
		for i := range t.Columns {
			columns = append(columns, t.Columns[i].Name)
		}
	}
	for _, name := range columns {
		if !slices.ContainsFunc(t.Columns, func(c meta.Column) bool { return strings.EqualFold(c.Name, name) }) {
			return nil, doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in table %s", name, t.Name)
		}
	}
	o.Origin, o.Filter = "Header sql", st.Where
	if st.Star {
		o.Columns = columns
		return load.NewMapping(t, o)
	}
	if len(columns) != len(st.Items) {
		return nil, doriserr.New(doriserr.Analysis, "insert into cols should be corresponding to the query output: %d columns, %d expressions", len(columns), len(st.Items))
	}
	var err error
	if o.Columns, err = l.statementSources(ctx); err != nil {
		return nil, err
	}
	o.Explicit = true
	for i, name := range columns {
		o.Derived = append(o.Derived, load.Derived{Column: name, Expr: st.Items[i]})
	}
	return load.NewMapping(t, o)
}

// statementSources are the names that the statement may use: c1, c2, ... for
// CSV, those in the file's first line, the last keys of jsonpaths, or keys.
func (l *request) statementSources(ctx context.Context) ([]string, error) {
	h := l.head
	switch {
	case h.namesLines > 0:
		return l.peekNames(ctx)
	case !h.json:
		n := 1
		for _, name := range h.statement.Names {
			if digits, ok := strings.CutPrefix(strings.ToLower(name), "c"); ok {
				if i, err := strconv.Atoi(digits); err == nil && i <= maxSources {
					n = max(n, i)
				}
			}
		}
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i+1)
		}
		return names, nil
	case h.jsonForm.Paths != nil:
		return pathNames(h.statement.Properties["jsonpaths"])
	case len(h.statement.Names) == 0:
		return []string{"c1"}, nil // constants alone: no key is used
	}
	return h.statement.Names, nil
}

// maxSources is how many fields a row may have.
const maxSources = 10_000

// pathNames are the last keys of checked jsonpaths.
func pathNames(list string) ([]string, error) {
	var names []string
	for p := range strings.SplitSeq(strings.Trim(strings.TrimSpace(list), "[]"), ",") {
		p = strings.Trim(strings.TrimSpace(p), `"`)
		name := p[strings.LastIndexByte(p, '.')+1:]
		if name == "" || strings.ContainsAny(name, "$[]\"'\\") {
			return nil, unsupported("a path of jsonpaths that does not end with a plain key is not supported by _http_stream: %s", p)
		}
		names = append(names, name)
	}
	return names, nil
}

// maxNamesLine bounds the line of names in bytes.
const maxNamesLine = 1 << 20

// peekNames reads the names in the first line of the body, which stays to be
// read.
func (l *request) peekNames(ctx context.Context) ([]string, error) {
	defer l.body.watch(ctx)()
	h := l.head
	if h.compress != "" {
		r, err := load.Decompress(h.compress, l.input, l.limits.maxBody(h))
		if err != nil {
			return nil, err
		}
		l.input, l.unpack, h.compress = r, r, ""
	}
	delimiter, separator := []byte(h.csv.Delimiter), h.csv.Separator
	if len(delimiter) == 0 {
		delimiter = []byte("\n")
	}
	if separator == "" {
		separator = "\t"
	}
	var seen []byte
	end := -1
	for buf := make([]byte, 4096); end < 0 && len(seen) < maxNamesLine; {
		n, err := l.input.Read(buf)
		seen = append(seen, buf[:n]...)
		if end = bytes.Index(seen, delimiter); end < 0 && errors.Is(err, io.EOF) {
			end = len(seen)
		} else if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if end < 0 {
		return nil, invalid("the line of names is longer than %d bytes", maxNamesLine)
	}
	l.input = io.MultiReader(bytes.NewReader(seen), l.input)
	line := strings.TrimSuffix(strings.TrimPrefix(string(seen[:end]), "\ufeff"), "\r")
	names := strings.Split(line, separator)
	known := map[string]bool{}
	for i, name := range names {
		if len(name) > 1 && (name[0] == '"' && h.csv.TrimDoubleQuotes || name[0] == h.csv.Enclose) && name[len(name)-1] == name[0] {
			name = name[1 : len(name)-1]
		}
		name = strings.TrimSpace(name)
		key := strings.ToLower(name)
		if name == "" || known[key] {
			return nil, doriserr.New(doriserr.DataQuality, "the line of names has an empty name or one twice: %.200q", line)
		}
		names[i], known[key] = name, true
	}
	return names, nil
}
