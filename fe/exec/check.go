package exec

import (
	"strings"
	"time"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/sql/ddl"
)

// Checks compares the replicas of tablets, on the FE that leads.
type Checks interface {
	// Start begins to compare, one tablet after the other, and does not wait.
	Start(tablets []int64)
	// Last is the newest comparison of a tablet.
	Last(tabletID int64) (at time.Time, version int64, ok bool)
}

// checkTablets starts the comparison of tablets' replicas.
func (s *Session) checkTablets(st *ddl.AdminCheckTablets, w *mysql.ResultWriter) error {
	kind := ""
	for _, p := range st.Properties {
		if !strings.EqualFold(p.Key, "type") {
			return doriserr.New(doriserr.Analysis, "Unknown property: %s", p.Key)
		}
		kind = p.Value
	}
	if !strings.EqualFold(kind, "consistency") {
		return doriserr.New(doriserr.Analysis, "Should specify the type of ADMIN CHECK TABLET: \"type\" = \"consistency\"")
	}
	if leader, addr, _ := s.srv.Node.Leader(); leader != s.srv.Self.ID || s.srv.Checks == nil {
		return doriserr.New(doriserr.NotLeader, "ADMIN CHECK TABLET is for the frontend that leads, which is %s at %s", leader, addr)
	}
	s.srv.Checks.Start(st.Tablets)
	return w.OK(0, 0, "")
}

// checked is a tablet's newest comparison as SHOW TABLETS has it.
func (s *Server) checked(tabletID int64) (at, version string) {
	if s.Checks != nil {
		if t, v, ok := s.Checks.Last(tabletID); ok {
			return t.Format(time.DateTime), itoa(v)
		}
	}
	return "\\N", "-1"
}
