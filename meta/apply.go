package meta

import (
	"errors"
	"fmt"

	"dorisgo/doriserr"
)

// Apply decides a command at a raft index. It is deterministic and touches
// only the State. An error is a decision: a *doriserr.Error, the same on every
// FE, that left the State as it was. The command is not kept and may be used
// again.
func (s *State) Apply(index uint64, c Command) (Result, error) {
	s.index = index
	id := c.request()
	if id != [16]byte{} {
		if a := s.answers.byID[id]; a != nil {
			return a.result, a.error()
		}
	}
	res, err := s.decide(c)
	res.Index = index
	de := decision(err)
	if id != [16]byte{} {
		s.answers.add(&answer{id: id, result: res, err: de})
	}
	if de != nil {
		return res, de
	}
	return res, nil
}

func (a *answer) error() error {
	if a.err == nil {
		return nil
	}
	return a.err
}

// decision is err as the Error that clients see.
func decision(err error) *doriserr.Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*doriserr.Error](err); ok {
		return e
	}
	return doriserr.New(doriserr.Internal, "%s", err)
}

// decide calls the command's rule.
func (s *State) decide(c Command) (Result, error) {
	switch c := c.(type) {
	case *BeginTxn:
		return s.beginTxn(c)
	case *CommitTxn:
		return s.commitTxn(c)
	case *PublishDone:
		return s.publishDone(c)
	case *AbortTxn:
		return s.abortTxn(c)
	case *TakeOver:
		return s.takeOver(c)
	case *FinishTwoPhase:
		return s.finishTwoPhase(c)
	case *ReleaseGroups:
		return s.releaseGroups(c)
	case *ReleaseLost:
		return s.releaseLost(c)
	case *ReportDurable:
		return s.reportDurable(c)
	case *ReportReplica:
		return s.reportReplica(c)
	case *Tick:
		return s.tick(c)
	case *CleanLabel:
		return s.cleanLabel(c)
	default:
		res, err := s.decideCatalog(c)
		if err == nil {
			s.catalogIndex = s.index
		}
		return res, err
	}
}

// decideCatalog calls the rules of commands that change the catalog.
func (s *State) decideCatalog(c Command) (Result, error) {
	switch c := c.(type) {
	case *InitCluster:
		return s.initCluster(c)
	case *CreateDatabase:
		return s.createDatabase(c)
	case *DropDatabase:
		return s.dropDatabase(c)
	case *CreateTable:
		return s.createTable(c)
	case *AddReplica:
		return s.addReplica(c)
	case *DropReplica:
		return s.dropReplica(c)
	case *DropTable:
		return s.dropTable(c)
	case *RecoverTable:
		return s.recoverTable(c)
	case *AlterTableProps:
		return s.alterTableProps(c)
	case *RaiseTableEpoch:
		return s.raiseTableEpoch(c)
	case *TruncateTable:
		return s.truncateTable(c)
	case *SetGlobalVar:
		return s.setGlobalVar(c)
	case *SetConfig:
		return s.setConfig(c)
	case *CreateUser:
		return s.createUser(c)
	case *DropUser:
		return s.dropUser(c)
	case *SetPassword:
		return s.setPassword(c)
	case *SetGrants:
		return s.setGrants(c)
	case *RegisterBackend:
		return s.registerBackend(c)
	case *SetBackendAlive:
		return s.setBackendAlive(c)
	case *DecommissionBackend:
		return s.decommissionBackend(c)
	case *ModifyBackend:
		return s.modifyBackend(c)
	case *DropBackend:
		return s.dropBackend(c)
	case *RegisterFrontend:
		return s.registerFrontend(c)
	case *DropFrontend:
		return s.dropFrontend(c)
	case *RaiseFeatureLevel:
		return s.raiseFeatureLevel(c)
	default:
		return Result{}, doriserr.New(doriserr.Internal, "command %s has no rule", fmt.Sprintf("%T", c))
	}
}

// newID gives the next id.
func (s *State) newID() int64 {
	id := s.nextID
	s.nextID++
	return id
}
