package doriserr

import (
	"context"
	"errors"
)

// Kind says what went wrong, as far as a caller or client decides by it. The
// numbers travel between nodes: only append.
type Kind uint16

// The kinds. Each has a row in the table below.
const (
	Internal Kind = iota
	Parse
	Analysis
	UnknownDatabase
	UnknownTable
	UnknownColumn
	DatabaseExists
	TableExists
	NoDatabase
	UnknownVariable
	WrongVariableValue
	AccessDenied
	NoPrivilege
	ColumnCount
	DataQuality
	OutOfRange
	NullViolation
	PacketTooLarge
	MalformedPacket
	UnknownStatement
	TooManyParameters
	UnknownCommand
	TooManyStatements
	Unsupported
	BadProperty
	LabelExists
	LabelFormat
	TxnNotFound
	TxnState
	SchemaChanged
	Blocked
	ExceededLimit
	NoBackend
	NotLeader
	StaleEpoch
	// Unknown means that the outcome is not known: it may have happened. The
	// caller asks again and never tells a client that it failed
	// (docs/protocol.md, rule 5).
	Unknown
	Timeout
	Canceled
	Stopping
	NotAdmitted
	VersionGone
	Corrupt
	GroupCommitInsert
	UserExists
	Conflict
	// NoDatabaseToDrop: DROP DATABASE has an error code of its own.
	NoDatabaseToDrop
	// TooManyVersions: a tablet has max_tablet_version_num rowsets.
	TooManyVersions
	// NotPublished: a backend did not get a version in the time that a read
	// waits for it.
	NotPublished
	// FewReplicas: the FSM refused a commit because fewer than a majority of a
	// tablet's present replicas hold its rows. Nothing changed: written again to
	// the replicas that are there now it may be committed.
	FewReplicas
)

type row struct {
	name string
	// code and state are those of the MySQL ERR packet.
	code  uint16
	state string
	// load is the code in brackets before a Stream Load Message.
	load string
	// retry says that the same request may simply be sent again later.
	retry bool
}

var table = map[Kind]row{
	Internal:           {"internal", 1105, "HY000", "INTERNAL_ERROR", false},
	Parse:              {"parse", 1105, "HY000", "ANALYSIS_ERROR", false},
	Analysis:           {"analysis", 1105, "HY000", "ANALYSIS_ERROR", false},
	UnknownDatabase:    {"unknown_database", 1049, "42000", "ANALYSIS_ERROR", false},
	UnknownTable:       {"unknown_table", 1051, "42S02", "ANALYSIS_ERROR", false},
	UnknownColumn:      {"unknown_column", 1054, "42S22", "ANALYSIS_ERROR", false},
	DatabaseExists:     {"database_exists", 1007, "HY000", "ALREADY_EXIST", false},
	TableExists:        {"table_exists", 1050, "42S01", "ALREADY_EXIST", false},
	NoDatabase:         {"no_database", 1046, "3D000", "ANALYSIS_ERROR", false},
	UnknownVariable:    {"unknown_variable", 1193, "HY000", "ANALYSIS_ERROR", false},
	WrongVariableValue: {"wrong_variable_value", 1231, "42000", "ANALYSIS_ERROR", false},
	AccessDenied:       {"access_denied", 1045, "28000", "NOT_AUTHORIZED", false},
	NoPrivilege:        {"no_privilege", 1142, "42000", "NOT_AUTHORIZED", false},
	ColumnCount:        {"column_count", 1136, "21S01", "ANALYSIS_ERROR", false},
	DataQuality:        {"data_quality", 1105, "HY000", "DATA_QUALITY_ERROR", false},
	OutOfRange:         {"out_of_range", 1264, "22003", "DATA_QUALITY_ERROR", false},
	NullViolation:      {"null_violation", 1048, "23000", "DATA_QUALITY_ERROR", false},
	PacketTooLarge:     {"packet_too_large", 1153, "08S01", "INVALID_ARGUMENT", false},
	MalformedPacket:    {"malformed_packet", 1835, "HY000", "INVALID_ARGUMENT", false},
	UnknownStatement:   {"unknown_statement", 1243, "HY000", "INVALID_ARGUMENT", false},
	TooManyParameters:  {"too_many_parameters", 1390, "HY000", "INVALID_ARGUMENT", false},
	UnknownCommand:     {"unknown_command", 1047, "08S01", "INVALID_ARGUMENT", false},
	TooManyStatements:  {"too_many_statements", 1461, "42000", "EXCEEDED_LIMIT", true},
	Unsupported:        {"unsupported", 1235, "42000", "NOT_IMPLEMENTED_ERROR", false},
	BadProperty:        {"bad_property", 1105, "HY000", "INVALID_ARGUMENT", false},
	LabelExists:        {"label_exists", 1105, "HY000", "LABEL_ALREADY_EXISTS", false},
	LabelFormat:        {"label_format", 1105, "HY000", "INVALID_ARGUMENT", false},
	TxnNotFound:        {"txn_not_found", 1105, "HY000", "ANALYSIS_ERROR", false},
	TxnState:           {"txn_state", 1105, "HY000", "ANALYSIS_ERROR", false},
	SchemaChanged:      {"schema_changed", 1105, "HY000", "DATA_QUALITY_ERROR", true},
	Blocked:            {"blocked", 1105, "HY000", "ANALYSIS_ERROR", true},
	ExceededLimit:      {"exceeded_limit", 1105, "HY000", "EXCEEDED_LIMIT", true},
	NoBackend:          {"no_backend", 1105, "HY000", "INTERNAL_ERROR", true},
	NotLeader:          {"not_leader", 1105, "HY000", "INTERNAL_ERROR", true},
	StaleEpoch:         {"stale_epoch", 1105, "HY000", "INTERNAL_ERROR", false},
	Unknown:            {"unknown", 1105, "HY000", "INTERNAL_ERROR", false},
	Timeout:            {"timeout", 1105, "HY000", "TIMEOUT", false},
	Canceled:           {"canceled", 1317, "70100", "CANCELLED", false},
	Stopping:           {"stopping", 1053, "08S01", "INTERNAL_ERROR", true},
	NotAdmitted:        {"not_admitted", 1105, "HY000", "INTERNAL_ERROR", true},
	VersionGone:        {"version_gone", 1105, "HY000", "INTERNAL_ERROR", true},
	Corrupt:            {"corrupt", 1105, "HY000", "CORRUPTION", false},
	GroupCommitInsert:  {"group_commit_insert", 5025, "HY000", "INTERNAL_ERROR", false},
	UserExists:         {"user_exists", 1396, "HY000", "ALREADY_EXIST", false},
	Conflict:           {"conflict", 1105, "HY000", "INTERNAL_ERROR", false},
	NoDatabaseToDrop:   {"no_database_to_drop", 1008, "HY000", "ANALYSIS_ERROR", false},
	TooManyVersions:    {"too_many_versions", 1105, "HY000", "E-235", true},
	NotPublished:       {"not_published", 1105, "HY000", "INTERNAL_ERROR", true},
	FewReplicas:        {"few_replicas", 1105, "HY000", "INTERNAL_ERROR", true},
}

// String is the kind's name in logs and metrics.
func (k Kind) String() string { return table[k].name }

// MySQL is the error code and SQLSTATE of the kind.
func (k Kind) MySQL() (code uint16, state string) { return table[k].code, table[k].state }

// LoadCode is the text in brackets that starts a Stream Load Message.
func (k Kind) LoadCode() string { return table[k].load }

// Retryable says that the same request may be sent again later unchanged.
func (k Kind) Retryable() bool { return table[k].retry }

func kindOfContext(err error) Kind {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Internal
}
