package duck

import (
	"context"
	"errors"
	"strings"

	"dorisgo/doriserr"
)

// engineError is an error text of DuckDB, "<class> Error: <what>".
type engineError struct{ msg string }

func (e *engineError) Error() string { return e.msg }

// invalidates reports whether DuckDB refuses all further work on the instance
// after this error.
func invalidates(err error) bool {
	e, ok := errors.AsType[*engineError](err)
	return ok && (strings.HasPrefix(e.msg, "FATAL Error") || strings.HasPrefix(e.msg, "INTERNAL Error"))
}

// wasInvalid reports whether the instance had been invalidated before, by
// somebody else's query: nothing was done and a new instance may be tried.
func wasInvalid(err error) bool {
	e, ok := errors.AsType[*engineError](err)
	return ok && strings.Contains(e.msg, "database has been invalidated")
}

// clientError words an engine error for a client: without the position in the
// translated SQL, which the client never saw.
func clientError(err error) error {
	e, ok := errors.AsType[*engineError](err)
	if !ok {
		return err
	}
	class, text, found := strings.Cut(e.msg, ": ")
	if !found {
		return doriserr.New(doriserr.Internal, "%s", firstLine(e.msg))
	}
	text = firstLine(text)
	switch class {
	case "Out of Memory Error":
		return doriserr.New(doriserr.ExceededLimit, "query exceeds the memory limit: %s", text)
	case "Conversion Error", "Out of Range Error", "Binder Error", "Invalid Input Error", "Divide by Zero Error", "Mismatch Type Error", "Decimal Error":
		return doriserr.New(doriserr.Analysis, "%s", text)
	case "Not implemented Error":
		return doriserr.New(doriserr.Unsupported, "%s", text)
	}
	return doriserr.New(doriserr.Internal, "%s: %s", strings.TrimSuffix(class, " Error"), text)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// ended is the reason why ctx ended, or nil while it has not.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
