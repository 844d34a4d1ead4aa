package storage

import (
	"fmt"

	"dorisgo/doriserr"
)

// MissingError answers a publish that names a rowset which this BE does not
// hold. It never counts as published (docs/protocol.md, rule 1).
type MissingError struct {
	PartitionID, Version, TabletID int64
	RowsetID                       RowsetID
}

// Error says what is missing.
func (e *MissingError) Error() string {
	return fmt.Sprintf("MISSING: rowset %s of tablet %d for version %d of partition %d is not on this backend",
		e.RowsetID, e.TabletID, e.Version, e.PartitionID)
}

// HoleError answers a publish whose predecessor was not published here.
type HoleError struct {
	PartitionID, Version int64
	// Have is the version through which the partition is published.
	Have int64
}

// Error says which versions lack.
func (e *HoleError) Error() string {
	return fmt.Sprintf("version %d of partition %d cannot be published: this backend has versions through %d",
		e.Version, e.PartitionID, e.Have)
}

// NotYetError answers a read at a version that is not published here yet.
type NotYetError struct {
	PartitionID, Version int64
	// Have is the version through which the partition is published.
	Have int64
}

// Error says which version this backend has.
func (e *NotYetError) Error() string {
	return fmt.Sprintf("version %d of partition %d is not published on this backend yet, which has versions through %d",
		e.Version, e.PartitionID, e.Have)
}

func conflict(format string, args ...any) error {
	return doriserr.New(doriserr.Conflict, format, args...)
}

func corrupt(format string, args ...any) error {
	return doriserr.New(doriserr.Corrupt, format, args...)
}

func errDropped(what string, id int64) error {
	return doriserr.New(doriserr.StaleEpoch, "%s %d was dropped on this backend", what, id)
}
