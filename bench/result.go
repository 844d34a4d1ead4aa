package bench

import (
	"encoding/json"
	"slices"
	"time"
)

// Result is one measurement.
type Result struct {
	Target string
	// Doris: the mode and the interval of the case apply.
	Doris   bool
	Case    Case
	Round   int
	Seconds float64
	Tally   Tally
	// Limited says that the bound of statements ended the run early.
	Limited bool
	// Counted is COUNT(*) afterwards, VisibleAfter how long after the last
	// answer it was so. Verified: no acknowledged row is missing and none is
	// there twice.
	Counted      int64
	VisibleAfter time.Duration
	Verified     bool
	usage        *usage
}

// RowsPerSecond is the rate of acknowledged rows in the measured time.
func (r *Result) RowsPerSecond() float64 { return float64(r.Tally.Rows) / r.Seconds }

// StatementsPerSecond is the rate of acknowledged statements.
func (r *Result) StatementsPerSecond() float64 { return float64(r.Tally.Statements) / r.Seconds }

// ServerCPU is the server's CPU time for a statement; 0 if it is not known.
func (r *Result) ServerCPU() time.Duration {
	if r.usage == nil || !r.usage.known {
		return 0
	}
	return perStatement(r.usage.server, r.Tally.Statements)
}

// ClientCPU is this process's CPU time for a statement.
func (r *Result) ClientCPU() time.Duration {
	if r.usage == nil {
		return 0
	}
	return perStatement(r.usage.client, r.Tally.Statements)
}

// Others is the share of the machine, 0 to 1, that other processes took
// meanwhile: how much the clock is to be believed. 0 if it is not known.
func (r *Result) Others() float64 {
	if r.usage == nil {
		return 0
	}
	return r.usage.others()
}

func perStatement(d time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return d / time.Duration(n)
}

// record is the form of a result in JSON: one line, durations in microseconds.
type record struct {
	Server       string           `json:"server"`
	Table        string           `json:"table"`
	Mode         string           `json:"mode"`
	Protocol     string           `json:"protocol"`
	Connections  int              `json:"connections"`
	Rows         int              `json:"rows_per_insert"`
	IntervalMs   int64            `json:"interval_ms"`
	Round        int              `json:"round"`
	Seconds      float64          `json:"seconds"`
	RowsPerS     float64          `json:"rows_per_s"`
	StatementsS  float64          `json:"statements_per_s"`
	P50          int64            `json:"p50_us"`
	P95          int64            `json:"p95_us"`
	P99          int64            `json:"p99_us"`
	Max          int64            `json:"max_us"`
	Errors       int64            `json:"errors"`
	ErrorTexts   map[string]int64 `json:"error_texts,omitempty"`
	Acknowledged int64            `json:"acknowledged_rows"`
	Unknown      int64            `json:"unknown_rows"`
	Counted      int64            `json:"counted_rows"`
	Verified     bool             `json:"verified"`
	VisibleMs    int64            `json:"visible_after_ms"`
	ServerCPU    float64          `json:"server_cpu_us_per_statement,omitempty"`
	ClientCPU    float64          `json:"client_cpu_us_per_statement"`
	Others       float64          `json:"others_cpu_share"`
}

// shownMode is the mode where there is one.
func (r *Result) shownMode() string {
	if !r.Doris {
		return "-"
	}
	return r.Case.Mode
}

// MarshalJSON implements json.Marshaler.
func (r *Result) MarshalJSON() ([]byte, error) {
	h := &r.Tally.Latency
	return json.Marshal(record{
		Server: r.Target, Table: r.Case.Table.Name, Mode: r.shownMode(), Protocol: r.Case.Protocol, Connections: r.Case.Connections,
		Rows: r.Case.Rows, IntervalMs: r.Case.Interval.Milliseconds(), Round: r.Round, Seconds: r.Seconds,
		RowsPerS: r.RowsPerSecond(), StatementsS: r.StatementsPerSecond(),
		P50: h.Quantile(0.5).Microseconds(), P95: h.Quantile(0.95).Microseconds(), P99: h.Quantile(0.99).Microseconds(), Max: h.Max().Microseconds(),
		Errors: r.Tally.Errors, ErrorTexts: r.Tally.Texts, Acknowledged: r.Tally.AllRows, Unknown: r.Tally.Unknown,
		Counted: r.Counted, Verified: r.Verified, VisibleMs: r.VisibleAfter.Milliseconds(),
		ServerCPU: float64(r.ServerCPU()) / 1e3, ClientCPU: float64(r.ClientCPU()) / 1e3, Others: r.Others(),
	})
}

// Medians returns for each server and case the round with the median rate.
func Medians(all []*Result) []*Result {
	type key struct {
		target string
		c      Case
	}
	groups := map[key][]*Result{}
	var order []key
	for _, r := range all {
		k := key{r.Target, r.Case}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	var medians []*Result
	for _, k := range order {
		g := groups[k]
		slices.SortFunc(g, func(a, b *Result) int { return int(a.Tally.Rows - b.Tally.Rows) })
		medians = append(medians, g[(len(g)-1)/2])
	}
	return medians
}

// Ratio compares two servers on one case: the rates of each round divided,
// then the median of these.
type Ratio struct {
	Case   Case
	Target string
	Other  string
	Rounds []float64
	Median float64
}

// Ratios pairs the results of target with those of the others, round by round.
func Ratios(all []*Result, other string) []Ratio {
	var ratios []Ratio
	at := map[[2]any]int{}
	for _, r := range all {
		if r.Target == other {
			continue
		}
		for _, o := range all {
			if o.Target != other || o.Round != r.Round || o.Case != r.Case || o.Tally.Rows == 0 {
				continue
			}
			k := [2]any{r.Target, r.Case}
			i, ok := at[k]
			if !ok {
				i = len(ratios)
				at[k] = i
				ratios = append(ratios, Ratio{Case: r.Case, Target: r.Target, Other: other})
			}
			ratios[i].Rounds = append(ratios[i].Rounds, r.RowsPerSecond()/o.RowsPerSecond())
			break
		}
	}
	for i := range ratios {
		ratios[i].Median = median(ratios[i].Rounds)
	}
	return ratios
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}

// Share is the rate of a sync case against what waiting alone allows:
// connections / (latency of one connection alone, which is interval + one
// commit). ok is false without a result for one connection.
func Share(r *Result, all []*Result) (share float64, ok bool) {
	if r.Case.Mode != Sync || !r.Doris || r.Case.Connections == 1 {
		return 0, false
	}
	for _, one := range all {
		c := one.Case
		c.Connections = r.Case.Connections
		if one.Target == r.Target && one.Case.Connections == 1 && c == r.Case && one.Tally.Statements > 0 {
			alone := one.Tally.Latency.Quantile(0.5).Seconds()
			return r.StatementsPerSecond() * alone / float64(r.Case.Connections), true
		}
	}
	return 0, false
}
