package behttp

import (
	"strings"

	"dorisgo/doriserr"
)

// mode is the way in which a load is written.
type mode struct {
	group bool
	async bool
	// switched says why a load that asked for async_mode runs as sync.
	switched string
}

// modeOf decides between group commit and a normal load (Part A of
// docs/compatibility.md): the header goes before the table's property. A load
// with a label or partitions of its own, in two phases, into a table without light
// schema changes, or without a body, is a normal load. A body of unknown length runs
// as sync.
func modeOf(h *head, p *Plan, length int64) mode {
	asked := h.mode
	if asked == "" {
		asked = strings.ToLower(p.Table.Props.GroupCommitMode)
	}
	if asked != "sync_mode" && asked != "async_mode" || length == 0 ||
		h.label != "" || h.twoPhase || h.partitions != nil || !p.Table.Props.LightSchemaChange {
		return mode{}
	}
	m := mode{group: true, async: asked == "async_mode"}
	if m.async && length < 0 {
		m.async, m.switched = false, "chunked"
	}
	return m
}

// checkTable checks what headers say about the table.
func checkTable(h *head, p *Plan) error {
	t := p.Table
	if err := h.checkKind(t); err != nil {
		return err
	}
	switch seq := t.Props.SequenceCol; {
	case h.sequenceCol != "" && seq == "":
		return doriserr.New(doriserr.Analysis, "There is no sequence column in the table %s", t.Name)
	case h.sequenceCol != "" && !strings.EqualFold(h.sequenceCol, seq):
		return invalid("Invalid function_column.sequence_col: %s: the table's sequence column is %s", h.sequenceCol, seq)
	}
	for _, name := range h.partitions {
		known := false
		for _, part := range t.Partitions {
			known = known || strings.EqualFold(part.Name, name)
		}
		if !known {
			return doriserr.New(doriserr.Analysis, "unknown partition %s in table %s", name, t.Name)
		}
	}
	if h.partitions != nil && len(t.Partitions) > 1 {
		return unsupported("header partitions is not supported yet for tables of several partitions: %s", strings.Join(h.partitions, ","))
	}
	return nil
}
