package meta

import (
	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// Result is what a command gave. Which fields are set is said at each command.
type Result struct {
	// Index is the raft index of the command that gave the answer. A State at
	// that index or later shows it.
	Index     uint64
	ID        int64
	BootEpoch uint64
	Epoch     uint64
	Count     int
	// Existed is set when IF NOT EXISTS found the object.
	Existed bool
	// Txn is the transaction after the command; it may be set beside an error
	// as well.
	Txn *txn.Txn
}

// maxAnswers is how many answers of commands with a request id are kept.
const maxAnswers = 1024

// answers remembers the latest answers, so that a repeat gets the first one.
// Transactions are not here: they remember their own requests.
type answers struct {
	byID map[[16]byte]*answer
	// order is a queue of the ids in byID, oldest first.
	order [][16]byte
}

type answer struct {
	id     [16]byte
	result Result
	err    *doriserr.Error
}

func newAnswers() answers { return answers{byID: map[[16]byte]*answer{}} }

func (a *answers) add(ans *answer) {
	a.byID[ans.id] = ans
	a.order = append(a.order, ans.id)
	if len(a.order) > maxAnswers {
		delete(a.byID, a.order[0])
		a.order = a.order[1:]
	}
}

// list is the queue as a new slice, for snapshots.
func (a *answers) list() []*answer {
	out := make([]*answer, len(a.order))
	for i, id := range a.order {
		out[i] = a.byID[id]
	}
	return out
}
