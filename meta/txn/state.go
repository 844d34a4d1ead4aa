package txn

import "fmt"

// State is the state of a transaction. The numbers are Doris' and are written
// to the log and to snapshots.
type State uint8

// The states. PREPARE -> (PRECOMMITTED ->) COMMITTED -> VISIBLE, or ABORTED.
const (
	Unknown      State = 0
	Prepare      State = 1
	Committed    State = 2
	Visible      State = 3
	Aborted      State = 4
	Precommitted State = 5
)

// String is the state as SHOW TRANSACTION prints it.
func (s State) String() string {
	switch s {
	case Unknown:
		return "UNKNOWN"
	case Prepare:
		return "PREPARE"
	case Committed:
		return "COMMITTED"
	case Visible:
		return "VISIBLE"
	case Aborted:
		return "ABORTED"
	case Precommitted:
		return "PRECOMMITTED"
	default:
		return fmt.Sprintf("STATE(%d)", uint8(s))
	}
}

// Final reports whether nothing follows the state.
func (s State) Final() bool { return s == Visible || s == Aborted }

// Undecided reports whether the transaction may still be aborted.
func (s State) Undecided() bool { return s == Prepare || s == Precommitted }

// Source is where a transaction came from, as SHOW TRANSACTION names it in
// LoadJobSourceType.
type Source uint8

// The sources that we have.
const (
	InsertStreaming  Source = 1
	BackendStreaming Source = 2
)

// String is the source as SHOW TRANSACTION prints it.
func (s Source) String() string {
	switch s {
	case InsertStreaming:
		return "INSERT_STREAMING"
	case BackendStreaming:
		return "BACKEND_STREAMING"
	default:
		return "FRONTEND"
	}
}
