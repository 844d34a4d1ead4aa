package behttp

import (
	"errors"
	"io"
	"os"
	"strings"

	"dorisgo/doriserr"
)

// codedError is an error whose code in brackets is not that of a kind.
type codedError struct {
	code, text string
}

func (e *codedError) Error() string { return e.text }

// detail starts the text of what Doris' frontend says.
const detail = "TStatus: errCode = 2, detailMessage = "

// message is an error as the Message of a reply; it is never empty.
func message(err error) string {
	if c, ok := errors.AsType[*codedError](err); ok {
		return "[" + c.code + "]" + c.text
	}
	if l, ok := errors.AsType[*LabelExistsError](err); ok {
		return "[LABEL_ALREADY_EXISTS]" + detail + l.Error()
	}
	kind := doriserr.KindOf(err)
	text := err.Error()
	if kind.LoadCode() == "ANALYSIS_ERROR" && !strings.HasPrefix(text, "TStatus") {
		text = detail + text
	}
	return "[" + kind.LoadCode() + "]" + text
}

func invalid(format string, args ...any) error {
	return doriserr.New(doriserr.BadProperty, format, args...)
}

func unsupported(format string, args ...any) error {
	return doriserr.New(doriserr.Unsupported, format, args...)
}

// bodyError words an error of reading the client's bytes.
func bodyError(err error, announced bool) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return doriserr.New(doriserr.Timeout, "load timeout: the body did not arrive in time, see header timeout")
	case announced && errors.Is(err, io.ErrUnexpectedEOF):
		return &codedError{"NETWORK_ERROR", "receive body don't equal with body bytes"}
	}
	return &codedError{"NETWORK_ERROR", "sender is gone: " + err.Error()}
}
