package bulkload

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"dorisgo/load/csv"
)

// form is how a file is cut and what headers its chunks carry.
type form struct {
	// whole says that rows cannot be told apart without reading the format: a
	// file is one load.
	whole bool
	// separator, delimiter, enclose and escape are CSV's; JSON by line has only
	// the delimiter.
	separator, delimiter []byte
	enclose, escape      byte
	// heads are the lines at a file's start that are no rows.
	heads int
	// first are the headers of the first chunk of a file, rest those of the
	// others, which have no head lines.
	first, rest map[string]string
}

// ours are the headers that a load's transport or label decides.
var ours = map[string]string{
	"label":             "give the prefix of labels by its own flag",
	"authorization":     "give user and password by their own flags",
	"token":             "give the token by its own flag",
	"expect":            "it is always sent",
	"content-length":    "it follows from the chunk",
	"transfer-encoding": "it follows from the chunk",
	"host":              "it follows from the URL",
	"sql":               "http_stream is another interface",
	"txn_id":            "a load has a transaction of its own",
	"txn_operation":     "a load has a transaction of its own",
}

// newForm reads the headers of a load, whose names may be in any case.
func newForm(headers map[string]string) (*form, error) {
	f := &form{delimiter: []byte{'\n'}, separator: []byte{'\t'}}
	h := map[string]string{}
	for k, v := range headers {
		k, v = strings.ToLower(strings.TrimSpace(k)), strings.Trim(v, " ")
		if strings.ContainsAny(v, "\r\n\x00") && k != "column_separator" && k != "line_delimiter" {
			return nil, fmt.Errorf("header %s: a line end or a zero byte cannot be sent in a header", k)
		}
		if why, taken := ours[k]; taken {
			return nil, fmt.Errorf("header %s cannot be set: %s", k, why)
		}
		h[k] = v
	}
	switch mode := strings.ToLower(h["group_commit"]); mode {
	case "", "off_mode":
	default:
		return nil, fmt.Errorf("header group_commit: %s cannot be used here: each chunk is a load under a label of its own, which is how it is loaded exactly once, and group commit has no such labels", mode)
	}
	if strings.EqualFold(h["two_phase_commit"], "true") {
		return nil, fmt.Errorf("header two_phase_commit: true cannot be used here: nobody would commit the chunks")
	}
	if err := f.read(h); err != nil {
		return nil, err
	}
	f.first, f.rest = h, maps.Clone(h)
	delete(f.rest, "skip_lines")
	if strings.HasPrefix(strings.ToLower(h["format"]), "csv_with_names") {
		f.rest["format"] = "csv"
	}
	return f, nil
}

// read finds out how rows end.
func (f *form) read(h map[string]string) error {
	on := func(k string) bool { return strings.EqualFold(h[k], "true") }
	format := strings.ToLower(h["format"])
	switch format {
	case "", "csv", "hive_text":
		n, err := strconv.Atoi(h["skip_lines"])
		if h["skip_lines"] != "" && (err != nil || n < 0) {
			return fmt.Errorf("header skip_lines: %q is not a number of lines", h["skip_lines"])
		}
		f.heads = n
	case "csv_with_names":
		f.heads = 1
	case "csv_with_names_and_types":
		f.heads = 2
	case "json":
		_, byLine := h["read_json_by_line"]
		_, strip := h["strip_outer_array"]
		f.whole = (byLine || strip) && !(on("read_json_by_line") && !on("strip_outer_array"))
		f.whole = f.whole || h["compress_type"] != ""
		return nil
	default: // Parquet and what else there may be
		f.whole = true
		return nil
	}
	for k, to := range map[string]*[]byte{"column_separator": &f.separator, "line_delimiter": &f.delimiter} {
		if h[k] == "" {
			continue
		}
		h[k] = printable(h[k])
		s, err := csv.Separator(h[k])
		if err != nil {
			return fmt.Errorf("header %s: %q: %w", k, h[k], err)
		}
		*to = []byte(s)
	}
	if format == "hive_text" && h["column_separator"] == "" {
		f.separator = []byte{1}
	}
	for k, to := range map[string]*byte{"enclose": &f.enclose, "escape": &f.escape} {
		switch v := h[k]; len(v) {
		case 0:
		case 1:
			*to = v[0]
		default:
			return fmt.Errorf("header %s: %q is not a single byte", k, v)
		}
	}
	f.whole = h["compress_type"] != ""
	return nil
}

// printable writes control bytes as \x and two digits, since no header can carry
// them.
func printable(v string) string {
	if strings.IndexFunc(v, func(r rune) bool { return r < 0x20 || r == 0x7f }) < 0 {
		return v
	}
	var b strings.Builder
	b.WriteString(`\x`)
	for i := range len(v) {
		fmt.Fprintf(&b, "%02x", v[i])
	}
	return b.String()
}
