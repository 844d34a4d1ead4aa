package behttp

import (
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// Update modes of unique_key_update_mode.
const (
	updateFixed    = "UPDATE_FIXED_COLUMNS"
	updateFlexible = "UPDATE_FLEXIBLE_COLUMNS"
)

// setPartial: partial_columns is the older word for UPDATE_FIXED_COLUMNS, and
// counts only where the newer one is not there.
func setPartial(h *head, name, v string, _ Limits) error {
	on, ok := parseFlag(v)
	if !ok {
		return invalid("Invalid %s: %s, must be true or false", name, v)
	}
	if on {
		h.update = updateFixed
	}
	return nil
}

func setUpdateMode(h *head, _, v string, _ Limits) error {
	switch mode := strings.ToUpper(v); mode {
	case "UPSERT":
		h.update = ""
		return nil
	case updateFixed, updateFlexible:
		h.update = mode
		return nil
	}
	return invalid("Invalid unique_key_partial_mode %s, must be one of 'UPSERT', 'UPDATE_FIXED_COLUMNS' or 'UPDATE_FLEXIBLE_COLUMNS'", v)
}

func setMergeType(h *head, _, v string, _ Limits) error {
	switch t := strings.ToUpper(v); t {
	case "APPEND":
		return nil
	case "DELETE", "MERGE":
		h.merge = t
		return nil
	}
	return invalid("Invalid merge type %s", v)
}

// checkMerge checks the headers of merges and partial updates against each
// other.
func (h *head) checkMerge() error {
	switch {
	case h.merge == "MERGE" && h.deleteOn == "":
		return invalid("Excepted DELETE ON clause when merge type is MERGE.")
	case h.merge != "MERGE" && h.deleteOn != "":
		return invalid("Not support DELETE ON clause when merge type is not MERGE.")
	case h.negative && h.merge != "":
		return doriserr.New(doriserr.Analysis, "Negative is only used when merge type is APPEND.")
	case h.update == updateFlexible:
		return h.checkFlexible()
	}
	return nil
}

// checkFlexible: rows of a flexible update name their own columns.
func (h *head) checkFlexible() error {
	if !h.json {
		return invalid("flexible partial update only support json format as input file currently")
	}
	if h.fuzzy {
		return invalid("Don't support flexible partial update when 'fuzzy_parse' is enabled")
	}
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"columns", h.columns != nil || h.derived != nil}, {"jsonpaths", h.jsonForm.Paths != nil}, {"hidden_columns", h.hiddenColumns != ""},
		{"function_column.sequence_col", h.sequenceCol != ""}, {"merge_type", h.merge != ""}, {"where", h.where != ""},
	} {
		if x.given {
			return invalid("Don't support flexible partial update when '%s' is specified", x.name)
		}
	}
	return nil
}

// checkKind refuses what the table's kind does not take.
func (h *head) checkKind(t *meta.Table) error {
	unique := t.Keys != meta.DuplicateKeys
	switch {
	case h.merge != "" && !unique:
		return doriserr.New(doriserr.Analysis, "load by MERGE or DELETE is only supported in unique tables.")
	case h.update != "" && !unique:
		return doriserr.New(doriserr.Analysis, "Only unique key merge on write support partial update")
	case h.hiddenColumns != "" && !unique:
		return doriserr.New(doriserr.Analysis, "header hidden_columns: %s: table %s has no hidden columns, only unique tables have", h.hiddenColumns, t.Name)
	case h.negative:
		return doriserr.New(doriserr.Analysis, "header negative: true: table %s has no SUM columns, only aggregate tables have", t.Name)
	case h.merge != "" || h.update != "" || h.hiddenColumns != "":
		return unsupported("merge_type, hidden_columns and partial updates")
	}
	return nil
}
