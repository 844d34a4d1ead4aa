package value

import (
	"fmt"
	"strconv"
)

// ErrorKind says why a text is no value of a type.
type ErrorKind uint8

// The kinds of failed conversion.
const (
	// Malformed is a text that does not follow the type's grammar.
	Malformed ErrorKind = 1
	// OutOfRange is a well-formed text whose value the type cannot hold: an
	// overflow, or a date that does not exist.
	OutOfRange ErrorKind = 2
	// TooLong is a string with more bytes than the type allows.
	TooLong ErrorKind = 3
	// BadUTF8 is a string that is not valid UTF-8.
	BadUTF8 ErrorKind = 4
)

// String is the kind in words.
func (k ErrorKind) String() string {
	switch k {
	case Malformed:
		return "malformed"
	case OutOfRange:
		return "out of range"
	case TooLong:
		return "too long"
	case BadUTF8:
		return "invalid UTF-8"
	default:
		return "error kind " + strconv.Itoa(int(k))
	}
}

// maxErrorText is how many bytes of a refused text an error keeps.
const maxErrorText = 64

// ConvError is the refusal of one text by one type. The caller, who knows the
// column's name and the row, words the message for the client.
type ConvError struct {
	Kind ErrorKind
	// Type is the type that refused. Its parameters are set where they had a
	// part in the decision.
	Type Type
	// Text is the start of the refused text, at most 64 bytes, a copy.
	Text string
	// Length is the refused text's length in bytes.
	Length int
}

// Error is a message without column and row.
func (e *ConvError) Error() string {
	switch e.Kind {
	case TooLong:
		return fmt.Sprintf("the length of the value is too long for %s: %d bytes", e.Type, e.Length)
	case BadUTF8:
		return fmt.Sprintf("invalid UTF-8 in a value of %s: %q", e.Type, e.Text)
	case OutOfRange:
		return fmt.Sprintf("value %q is out of range for %s", e.Text, e.Type)
	default:
		return fmt.Sprintf("value %q is not a valid %s", e.Text, e.Type)
	}
}

// NewConvError makes the refusal of text b by type t. It copies what it keeps.
func NewConvError(k ErrorKind, t Type, b []byte) *ConvError {
	return &ConvError{Kind: k, Type: t, Text: string(TruncateUTF8(b, maxErrorText)), Length: len(b)}
}
