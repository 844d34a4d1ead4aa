package session

import (
	"fmt"

	"dorisgo/doriserr"
)

// Error is an error of SET whose MySQL code no other package uses.
type Error struct {
	code  uint16
	state string
	text  string
}

// Error is the text for the client.
func (e *Error) Error() string { return e.text }

// MySQLError is the code and SQLSTATE for the ERR packet.
func (e *Error) MySQLError() (code uint16, state string) { return e.code, e.state }

func errUnknown(name string) error {
	return doriserr.New(doriserr.UnknownVariable, "Unknown system variable '%s'", name)
}

func errWrongValue(name, val string) error {
	return doriserr.New(doriserr.WrongVariableValue, "Variable '%s' can't be set to the value of '%s'", name, val)
}

func errWrongType(name string) error {
	return &Error{1232, "42000", fmt.Sprintf("Incorrect argument type to variable '%s'", name)}
}

func errReadOnly(name string) error {
	return &Error{1238, "HY000", fmt.Sprintf("Variable '%s' is a read only variable", name)}
}

func errSessionOnly(name string) error {
	return &Error{1228, "HY000", fmt.Sprintf("Variable '%s' is a SESSION variable and can't be used with SET GLOBAL", name)}
}

func errGlobalOnly(name string) error {
	return &Error{1229, "HY000", fmt.Sprintf("Variable '%s' is a GLOBAL variable and should be set with SET GLOBAL", name)}
}

func errTimeZone(name string) error {
	return &Error{1298, "HY000", fmt.Sprintf("Unknown or incorrect time zone: '%s'", name)}
}

func errCharset(name string) error {
	return &Error{1115, "42000", fmt.Sprintf("Unknown character set: '%s'", name)}
}
