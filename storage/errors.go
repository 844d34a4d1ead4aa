package storage

import (
	"fmt"

	"dorisgo/doriserr"
)

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

// BehindError answers a read at a version that a tablet lacks here, though its
// partition is published through it: another replica may have it. Its kind is
// doriserr.VersionGone.
type BehindError struct {
	TabletID, Version int64
	// Hole is the first version that lacks.
	Hole int64
	// Root is the storage root that the tablet was lost with, empty if it was not.
	Root string
}

// Error says what lacks.
func (e *BehindError) Error() string {
	if e.Root != "" {
		return fmt.Sprintf("tablet %d cannot be read on this backend, whose storage root %s is out of service: another replica must be read",
			e.TabletID, e.Root)
	}
	return fmt.Sprintf("tablet %d cannot be read at version %d on this backend, which lacks its version %d: another replica must be read",
		e.TabletID, e.Version, e.Hole)
}

// Unwrap makes it doriserr.VersionGone.
func (e *BehindError) Unwrap() error { return doriserr.New(doriserr.VersionGone, "%s", e.Error()) }

func conflict(format string, args ...any) error {
	return doriserr.New(doriserr.Conflict, format, args...)
}

func corrupt(format string, args ...any) error {
	return doriserr.New(doriserr.Corrupt, format, args...)
}

func errDropped(what string, id int64) error {
	return doriserr.New(doriserr.StaleEpoch, "%s %d was dropped on this backend", what, id)
}
