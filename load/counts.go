package load

import (
	"errors"

	"dorisgo/doriserr"
)

// Counts are a load's rows: Total = Loaded + Filtered + Unselected.
type Counts struct {
	Total, Loaded, Filtered, Unselected int64
}

// TooMany reports whether the filtered rows exceed the ratio (0 to 1) of the
// selected ones. A ratio that is just reached is not exceeded: both sides are
// the double nearest to the same number then.
func (c Counts) TooMany(ratio float64) bool {
	selected := c.Total - c.Unselected
	return selected > 0 && float64(c.Filtered)/float64(selected) > ratio
}

// ErrStopped ends a load early whose max_filter_ratio is 0 and that met a row
// to be filtered.
var ErrStopped = doriserr.New(doriserr.DataQuality, "Encountered unqualified data, stop processing. Please check if the source data matches the schema, and consider disabling strict mode or increasing max_filter_ratio.")

// IsStopped reports whether a load ended early by ErrStopped.
func IsStopped(err error) bool { return errors.Is(err, ErrStopped) }

// ErrorSink takes the rows that are filtered, with the reason in Doris' words
// and the source text. It may keep only some of them; it must copy line.
type ErrorSink interface {
	RowError(reason string, line []byte)
}
