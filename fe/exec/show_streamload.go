package exec

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/rpc/bepb"
	"dorisgo/sql/ddl"
)

// streamLoadTime bounds the questions to the BEs.
const streamLoadTime = 10 * time.Second

// showStreamLoad shows the finished Stream Loads of a database, oldest first.
// Each BE remembers its own; one that is alive and does not answer is an error,
// since its loads would be missing without a word.
func showStreamLoad(ctx context.Context, s *Session, st *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Load); err != nil {
		return nil, err
	}
	db, err := s.dbOf(ddl.TableName{DB: st.DB})
	if err != nil {
		return nil, err
	}
	if _, err := s.srv.database(db); err != nil {
		return nil, err
	}
	all, err := s.srv.streamLoads(ctx, db)
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"Label", "Db", "Table", "ClientIp", "Status", "Message", "Url", "TotalRows", "LoadedRows", "FilteredRows",
		"UnselectedRows", "LoadBytes", "StartTime", "FinishTime", "User", "Comment", "FirstErrorMsg"}}
	for _, l := range all {
		r.rows = append(r.rows, []string{l.Label, l.Db, l.Table, l.ClientIp, l.Status, l.Message, orNone(l.ErrorUrl), itoa(l.TotalRows), itoa(l.LoadedRows),
			itoa(l.FilteredRows), itoa(l.UnselectedRows), itoa(l.LoadBytes), milliText(l.StartMs), milliText(l.FinishMs), l.User, l.Comment, orNone(l.FirstError)})
	}
	if st.Where != nil {
		anywhere(st.Where)
	}
	return r, nil
}

// streamLoads asks every BE that is alive, at the same time.
func (s *Server) streamLoads(ctx context.Context, db string) ([]*bepb.StreamLoadRecord, error) {
	ctx, cancel := context.WithTimeout(ctx, streamLoadTime)
	defer cancel()
	var backends []*meta.Backend
	s.Node.View(func(state *meta.State) { backends = state.Backends() })
	backends = slices.DeleteFunc(slices.Clone(backends), func(b *meta.Backend) bool { return !b.Alive })
	lists := make([][]*bepb.StreamLoadRecord, len(backends))
	g, ctx := errgroup.WithContext(ctx)
	for i, b := range backends {
		g.Go(func() (err error) {
			if lists[i], err = s.Backends.StreamLoads(ctx, b, db); err != nil {
				return fmt.Errorf("backend %d (%s) did not tell its stream loads: %w", b.ID, b.Host, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b *bepb.StreamLoadRecord) int {
		return cmp.Or(cmp.Compare(a.StartMs, b.StartMs), cmp.Compare(a.FinishMs, b.FinishMs))
	})
	return all, nil
}

// anywhere makes a LIKE of the label without a % find the text anywhere in it,
// as Doris does.
func anywhere(f *ddl.Filter) {
	for _, side := range []*ddl.Filter{f.Left, f.Right} {
		if side != nil {
			anywhere(side)
		}
	}
	if f.Op == ddl.FilterLike && strings.EqualFold(f.Column, "label") && !strings.Contains(f.Values[0], "%") {
		f.Values[0] = "%" + f.Values[0] + "%"
	}
}

// orNone is a text that Doris shows as N/A if there is none.
func orNone(s string) string {
	if s == "" {
		return "N/A"
	}
	return s
}

// milliText is a wall clock in Unix milliseconds with its milliseconds.
func milliText(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }
