package mysql

import (
	"context"
	"errors"

	"dorisgo/doriserr"
)

// prefix is what Doris puts before the text of an error that the user caused
// and that has no MySQL code of its own.
const prefix = "errCode = 2, detailMessage = "

// prefixed is the set of kinds whose text gets the prefix.
var prefixed = map[doriserr.Kind]bool{
	doriserr.Parse:         true,
	doriserr.Analysis:      true,
	doriserr.DataQuality:   true,
	doriserr.BadProperty:   true,
	doriserr.LabelExists:   true,
	doriserr.LabelFormat:   true,
	doriserr.TxnNotFound:   true,
	doriserr.TxnState:      true,
	doriserr.SchemaChanged: true,
	doriserr.Blocked:       true,
	doriserr.ExceededLimit: true,
	doriserr.NoBackend:     true,
	doriserr.FewReplicas:   true,
	doriserr.Conflict:      true,
}

// coder is an error that knows its own code and SQLSTATE.
type coder interface {
	error
	MySQLError() (code uint16, state string)
}

// errorText is the code, SQLSTATE and text of an ERR packet for err.
func errorText(err error) (code uint16, state, text string) {
	if e, ok := errors.AsType[coder](err); ok {
		code, state = e.MySQLError()
		return code, state, err.Error()
	}
	kind := doriserr.KindOf(err)
	code, state = kind.MySQL()
	if kind == doriserr.Canceled && errors.Is(err, context.Canceled) {
		return code, state, "Query execution was interrupted"
	}
	text = err.Error()
	if prefixed[kind] {
		text = prefix + text
	}
	return code, state, text
}

// protocolError is an error of the protocol itself, whose code no other
// package needs.
type protocolError struct {
	code  uint16
	state string
	text  string
}

func (e *protocolError) Error() string { return e.text }

func (e *protocolError) MySQLError() (code uint16, state string) { return e.code, e.state }

var (
	errTooManyConnections = &protocolError{1040, "08004", "Too many connections"}
	errHandshake          = &protocolError{1043, "08S01", "Bad handshake"}
	errNoCursor           = &protocolError{1421, "HY000", "The statement has no open cursor"}
	errEmptyQuery         = &protocolError{1065, "42000", "Query was empty"}
	errOldClient          = &protocolError{1251, "08004", "Client does not support authentication protocol requested by server; consider upgrading MySQL client"}
	errNoTLS              = &protocolError{1043, "08S01", "TLS is not enabled on this server"}
)
