package doriserr

import (
	"errors"
	"fmt"
)

// Error is an error that may reach a client. Its text is Doris' text, without
// the "errCode = 2, detailMessage = " prefix, which the edge adds.
type Error struct {
	Kind Kind
	// Msg is the text for the client.
	Msg   string
	cause error
}

// New makes an error of a kind with a formatted text.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// Wrap makes an error of a kind whose text is followed by the cause's.
func Wrap(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...) + ": " + cause.Error(), cause: cause}
}

// Error is the text for the client.
func (e *Error) Error() string { return e.Msg }

// Unwrap is the cause, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// KindOf is the kind of the first Error in err's chain, Internal without one,
// and Canceled or Timeout for the errors of package context.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return kindOfContext(err)
}

// Is reports whether err is an Error of the kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
