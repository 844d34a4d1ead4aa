package txn

import (
	"strings"

	"dorisgo/doriserr"
)

// GroupLabelPrefix starts the labels of groups. Clients may not use it
// (docs/protocol.md, rule 3).
const GroupLabelPrefix = "group_commit_"

const (
	labelRegex     = `^[\-_A-Za-z0-9:]{1,128}$`
	maxLabelLength = 128
)

// CheckLabel reports a label that no transaction may have.
func CheckLabel(label string) error {
	if len(label) == 0 || len(label) > maxLabelLength {
		return labelFormat(label)
	}
	for i := range len(label) {
		c := label[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == ':':
		default:
			return labelFormat(label)
		}
	}
	return nil
}

// CheckClientLabel reports a label that a client may not give: badly formed,
// or of a group.
func CheckClientLabel(label string) error {
	if err := CheckLabel(label); err != nil {
		return err
	}
	if strings.HasPrefix(label, GroupLabelPrefix) {
		return doriserr.New(doriserr.LabelFormat,
			"Label [%s] is reserved: labels that start with %s belong to group commit, choose another", label, GroupLabelPrefix)
	}
	return nil
}

func labelFormat(label string) error {
	return doriserr.New(doriserr.LabelFormat, "Label format error. regex: %s, label: %s", labelRegex, label)
}
