package exec

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/sql/ddl"
)

// result is what a SHOW statement shows, before WHERE, ORDER BY and LIMIT.
type result struct {
	columns []string
	rows    [][]string
	// like is the column that LIKE matches.
	like int
}

// showForm makes the result of one kind of SHOW.
type showForm func(ctx context.Context, s *Session, st *ddl.Show) (*result, error)

// showForms is every SHOW that we answer. Those with columns alone have no
// rows in dorisgo; clients ask for them and expect an empty set.
var showForms map[ddl.ShowKind]showForm

func init() {
	showForms = map[ddl.ShowKind]showForm{
		ddl.ShowDatabases:       showDatabases,
		ddl.ShowTables:          showTables,
		ddl.ShowTableStatus:     showTableStatus,
		ddl.ShowColumns:         showColumns,
		ddl.ShowIndex:           empty("Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality", "Sub_part", "Packed", "Null", "Index_type", "Comment", "Properties"),
		ddl.ShowCreateTable:     showCreateTable,
		ddl.ShowCreateDatabase:  showCreateDatabase,
		ddl.ShowVariables:       showVariables,
		ddl.ShowStatus:          showStatus,
		ddl.ShowWarnings:        empty("Level", "Code", "Message"),
		ddl.ShowErrors:          empty("Level", "Code", "Message"),
		ddl.ShowWarningCount:    fixed([]string{"@@session.warning_count"}, []string{"0"}),
		ddl.ShowErrorCount:      fixed([]string{"@@session.error_count"}, []string{"0"}),
		ddl.ShowEngines:         fixed([]string{"Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"}, []string{"OLAP", "YES", "Default storage engine", "NO", "NO", "NO"}),
		ddl.ShowCollation:       fixed([]string{"Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"}, []string{"utf8mb4_0900_bin", "utf8mb4", "309", "Yes", "Yes", "1"}, []string{"utf8_general_ci", "utf8", "33", "", "Yes", "1"}),
		ddl.ShowCharset:         fixed([]string{"Charset", "Description", "Default collation", "Maxlen"}, []string{"utf8mb4", "UTF-8 Unicode", "utf8mb4_0900_bin", "4"}, []string{"utf8", "UTF-8 Unicode", "utf8_general_ci", "3"}),
		ddl.ShowProcesslist:     showProcesslist,
		ddl.ShowBackends:        showBackends,
		ddl.ShowFrontends:       showFrontends,
		ddl.ShowFrontendConfig:  showFrontendConfig,
		ddl.ShowPartitions:      showPartitions,
		ddl.ShowTablets:         showTablets,
		ddl.ShowTablet:          showTablet,
		ddl.ShowReplicaStatus:   showReplicaStatus,
		ddl.ShowReplicaSpread:   showReplicaSpread,
		ddl.ShowTransaction:     showTransaction,
		ddl.ShowStreamLoad:      showStreamLoad,
		ddl.ShowLastInsert:      showLastInsert,
		ddl.ShowGrants:          showGrants,
		ddl.ShowAllGrants:       showGrants,
		ddl.ShowPlugins:         empty("Name", "Status", "Type", "Library", "License"),
		ddl.ShowTriggers:        empty("Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer", "character_set_client", "collation_connection", "Database Collation"),
		ddl.ShowEvents:          empty("Db", "Name", "Definer", "Time zone", "Type", "Execute at", "Interval value", "Interval field", "Starts", "Ends", "Status", "Originator", "character_set_client", "collation_connection", "Database Collation"),
		ddl.ShowProcedureStatus: empty("Db", "Name", "Type", "Definer", "Modified", "Created", "Security_type", "Comment", "character_set_client", "collation_connection", "Database Collation"),
		ddl.ShowFunctionStatus:  empty("Db", "Name", "Type", "Definer", "Modified", "Created", "Security_type", "Comment", "character_set_client", "collation_connection", "Database Collation"),
		ddl.ShowOpenTables:      empty("Database", "Table", "In_use", "Name_locked"),
		ddl.ShowViews:           empty("View"),
		ddl.ShowLoad:            empty("JobId", "Label", "State", "Progress", "Type", "EtlInfo", "TaskInfo", "ErrorMsg", "CreateTime", "EtlStartTime", "EtlFinishTime", "LoadStartTime", "LoadFinishTime", "URL", "JobDetails", "TransactionId", "ErrorTablets", "User", "Comment", "FirstErrorMsg"),
		ddl.ShowAlterColumn:     empty("JobId", "TableName", "CreateTime", "FinishTime", "IndexName", "IndexId", "OriginIndexId", "SchemaVersion", "TransactionId", "State", "Msg", "Progress", "Timeout"),
		ddl.ShowAlterRollup:     empty("JobId", "TableName", "CreateTime", "FinishTime", "BaseIndexName", "RollupIndexName", "RollupId", "TransactionId", "State", "Msg", "Progress", "Timeout"),
		ddl.ShowCatalogs:        fixed([]string{"CatalogId", "CatalogName", "Type", "IsCurrent", "CreateTime", "LastUpdateTime", "Comment"}, []string{"0", "internal", "internal", "yes", "UNRECORDED", "", "Doris internal catalog"}),
	}
}

func empty(columns ...string) showForm { return fixed(columns) }

func fixed(columns []string, rows ...[]string) showForm {
	return func(context.Context, *Session, *ddl.Show) (*result, error) {
		return &result{columns: columns, rows: slices.Clone(rows)}, nil
	}
}

// show runs SHOW: the form's rows, then what the statement asks of them.
func (s *Session) show(ctx context.Context, st *ddl.Show, w *mysql.ResultWriter) error {
	form := showForms[st.Kind]
	if form == nil {
		return doriserr.New(doriserr.Unsupported, "SHOW %s is not supported yet", st.Kind)
	}
	r, err := form(ctx, s, st)
	if err != nil {
		return err
	}
	if err := r.narrow(st); err != nil {
		return err
	}
	return w.Rows(r.columns, r.rows)
}

// narrow applies LIKE, WHERE, ORDER BY and LIMIT.
func (r *result) narrow(st *ddl.Show) error {
	if st.Like != nil {
		r.rows = slices.DeleteFunc(r.rows, func(row []string) bool { return !session.Like(*st.Like, row[r.like]) })
	}
	if st.Where != nil {
		for _, c := range st.Where.Columns(nil) {
			if r.column(c) < 0 {
				return doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'where clause'", c)
			}
		}
		r.rows = slices.DeleteFunc(r.rows, func(row []string) bool {
			return !st.Where.Match(func(c string) (string, bool) {
				i := r.column(c)
				if i < 0 {
					return "", false
				}
				return row[i], true
			})
		})
	}
	for _, o := range slices.Backward(st.OrderBy) {
		i := r.column(o.Column)
		if i < 0 {
			return doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'order clause'", o.Column)
		}
		slices.SortStableFunc(r.rows, func(a, b []string) int {
			c := compareCells(a[i], b[i])
			if o.Desc {
				return -c
			}
			return c
		})
	}
	if st.Offset > 0 {
		r.rows = r.rows[min(int(st.Offset), len(r.rows)):]
	}
	if st.Limit >= 0 {
		r.rows = r.rows[:min(int(st.Limit), len(r.rows))]
	}
	return nil
}

// compareCells orders cells as numbers if both are whole ones, else as texts.
func compareCells(a, b string) int {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func (r *result) column(name string) int {
	return slices.IndexFunc(r.columns, func(c string) bool { return strings.EqualFold(c, name) })
}

func yesNo(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
