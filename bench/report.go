package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is everything that one command measured.
type Report struct {
	Results []*Result
	// Other is the server compared with; empty if there was none.
	Other string
}

// Formats are the writers of a report by name.
var Formats = map[string]func(*Report, io.Writer) error{"text": (*Report).text, "markdown": (*Report).markdown, "json": (*Report).json}

// FormatNames lists them for messages.
func FormatNames() string { return strings.Join(slices.Sorted(maps.Keys(Formats)), ", ") }

var heads = []string{"server", "table", "mode", "protocol", "conns", "rows/stmt", "rows/s", "stmts/s", "p50", "p95", "p99", "max", "errors", "count(*)", "server µs/stmt", "client µs/stmt", "others", "of ideal"}

func (rep *Report) cells(r *Result, all []*Result) []string {
	h := &r.Tally.Latency
	mode := r.shownMode()
	if r.Case.Interval > 0 && r.Doris {
		mode += " " + r.Case.Interval.String()
	}
	server, others, share := "", "", ""
	if d := r.ServerCPU(); d > 0 {
		server, others = micros(d), fmt.Sprintf("%.0f %%", r.Others()*100)
	}
	if s, ok := Share(r, all); ok {
		share = fmt.Sprintf("%.0f %%", s*100)
	}
	return []string{
		r.Target, r.Case.Table.Name, mode, r.Case.Protocol, strconv.Itoa(r.Case.Connections), strconv.Itoa(r.Case.Rows),
		rate(r.RowsPerSecond()), rate(r.StatementsPerSecond()),
		short(h.Quantile(0.5)), short(h.Quantile(0.95)), short(h.Quantile(0.99)), short(h.Max()),
		strconv.FormatInt(r.Tally.Errors, 10), r.checked(), server, micros(r.ClientCPU()), others, share,
	}
}

// checked says how the table's count compares with the answers.
func (r *Result) checked() string {
	switch {
	case r.Verified && r.Tally.Unknown == 0:
		return "= acked"
	case r.Verified:
		return fmt.Sprintf("ok, %d unanswered", r.Tally.Unknown)
	default:
		return fmt.Sprintf("WRONG: %d, acked %d, unanswered %d", r.Counted, r.Tally.AllRows, r.Tally.Unknown)
	}
}

func rate(v float64) string {
	s := strconv.FormatInt(int64(math.Round(v)), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func micros(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e3, 'f', 1, 64) }

// short writes a duration with three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= 100*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 2, 64) + " ms"
	}
}

func (r *Ratio) String() string {
	var rounds []string
	for _, v := range r.Rounds {
		rounds = append(rounds, fmt.Sprintf("%.2f", v))
	}
	mode := r.Case.Mode
	return fmt.Sprintf("%s %s %s, %s, %d connections, %d rows: %.2f times %s's rows/s (rounds %s)",
		r.Target, mode, r.Case.Protocol, r.Case.Table.Name, r.Case.Connections, r.Case.Rows, r.Median, r.Other, strings.Join(rounds, ", "))
}

// notes are the errors' texts and the ratios.
func (rep *Report) notes() []string {
	var notes []string
	for _, r := range rep.Results {
		for _, text := range slices.Sorted(maps.Keys(r.Tally.Texts)) {
			notes = append(notes, fmt.Sprintf("%s, %d connections, round %d: %d times %s", r.Target, r.Case.Connections, r.Round, r.Tally.Texts[text], text))
		}
		if !r.Verified {
			notes = append(notes, fmt.Sprintf("%s, %d connections, round %d: count(*) %s", r.Target, r.Case.Connections, r.Round, r.checked()))
		}
		if r.Limited {
			notes = append(notes, fmt.Sprintf("%s, %d connections, round %d: ended early by the bound of statements", r.Target, r.Case.Connections, r.Round))
		}
	}
	if rep.Other != "" {
		for _, r := range Ratios(rep.Results, rep.Other) {
			notes = append(notes, r.String())
		}
	}
	return notes
}

func (rep *Report) text(w io.Writer) error {
	medians := Medians(rep.Results)
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(heads, "\t"))
	for _, r := range medians {
		fmt.Fprintln(t, strings.Join(rep.cells(r, medians), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range rep.notes() {
		fmt.Fprintln(w, n)
	}
	return nil
}

func (rep *Report) markdown(w io.Writer) error {
	medians := Medians(rep.Results)
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
	for _, r := range medians {
		fmt.Fprintf(w, "| %s |\n", strings.Join(rep.cells(r, medians), " | "))
	}
	for i, n := range rep.notes() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "- %s\n", n)
	}
	return nil
}

// json writes a line for each measurement, then one for each ratio.
func (rep *Report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, r := range rep.Results {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	if rep.Other == "" {
		return nil
	}
	for _, r := range Ratios(rep.Results, rep.Other) {
		line := map[string]any{
			"ratio": r.Median, "rounds": r.Rounds, "server": r.Target, "other": r.Other, "mode": r.Case.Mode, "protocol": r.Case.Protocol,
			"table": r.Case.Table.Name, "connections": r.Case.Connections, "rows_per_insert": r.Case.Rows,
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// Verified says whether every measurement's count was right.
func (rep *Report) Verified() bool {
	return !slices.ContainsFunc(rep.Results, func(r *Result) bool { return !r.Verified })
}

// String is a line for a log.
func (r *Result) String() string {
	h := &r.Tally.Latency
	return fmt.Sprintf("%s: %s %s, %s, %d connections, %d rows, round %d: %s rows/s, p50 %s, p99 %s, %d errors, count(*) %s after %s",
		r.Target, r.shownMode(), r.Case.Protocol, r.Case.Table.Name, r.Case.Connections, r.Case.Rows, r.Round, rate(r.RowsPerSecond()),
		short(h.Quantile(0.5)), short(h.Quantile(0.99)), r.Tally.Errors, r.checked(), short(r.VisibleAfter))
}
