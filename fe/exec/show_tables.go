package exec

import (
	"context"
	"slices"
	"strings"
	"time"

	"dorisgo/fe/mysql"
	"dorisgo/meta"
	"dorisgo/meta/prop"
	"dorisgo/sql/ddl"
)

func showDatabases(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	r := &result{columns: []string{"Database"}}
	s.srv.Node.View(func(st *meta.State) {
		for _, d := range st.Databases() {
			r.rows = append(r.rows, []string{d.Name})
		}
	})
	r.rows = append(r.rows, []string{"information_schema"}, []string{"mysql"})
	return r, nil
}

// tablesOf are the tables of the database that a SHOW names or the session has.
func (s *Session) tablesOf(name string) (string, []*meta.Table, error) {
	if name == "" {
		name = s.vars.DB
	}
	db, err := s.srv.database(name)
	if err != nil || db == nil {
		return name, nil, err
	}
	var tables []*meta.Table
	s.srv.Node.View(func(st *meta.State) { tables = st.Tables(db.ID) })
	return name, tables, nil
}

func showTables(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	name, tables, err := s.tablesOf(st.DB)
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"Tables_in_" + name}}
	if st.Full {
		r.columns = append(r.columns, "Table_type", "Storage_format", "Inverted_index_storage_format")
	}
	for _, t := range tables {
		row := []string{t.Name}
		if st.Full {
			row = append(row, "BASE TABLE", "PARQUET", "")
		}
		r.rows = append(r.rows, row)
	}
	return r, nil
}

func showTableStatus(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	_, tables, err := s.tablesOf(st.DB)
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"Name", "Engine", "Version", "Row_format", "Rows", "Avg_row_length", "Data_length", "Max_data_length", "Index_length",
		"Data_free", "Auto_increment", "Create_time", "Update_time", "Check_time", "Collation", "Checksum", "Create_options", "Comment"}}
	for _, t := range tables {
		row := make([]string, len(r.columns))
		row[0], row[1], row[14], row[17] = t.Name, "Doris", "utf8mb4", t.Comment
		r.rows = append(r.rows, row)
	}
	return r, nil
}

func showColumns(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	name := st.Table
	if name.DB == "" {
		name.DB = st.DB
	}
	_, t, err := s.tableOf(name)
	if err != nil {
		return nil, err
	}
	return columnsOf(t, st.Full), nil
}

func columnsOf(t *meta.Table, full bool) *result {
	r := &result{columns: []string{"Field", "Type", "Null", "Key", "Default", "Extra"}}
	if full {
		r.columns = []string{"Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment"}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		key := boolText(c.Key)
		if full {
			key = ""
			if c.Key {
				key = "YES"
			}
			r.rows = append(r.rows, []string{c.Name, c.Type.String(), "", strings.ToUpper(yesNo(c.Nullable)), key, defaultText(c), "", "", c.Comment})
			continue
		}
		r.rows = append(r.rows, []string{c.Name, c.Type.String(), yesNo(c.Nullable), key, defaultText(c), extra(t, c)})
	}
	return r
}

func extra(t *meta.Table, c *meta.Column) string {
	if t.Keys == meta.DuplicateKeys && !c.Key {
		return "NONE"
	}
	return ""
}

func defaultText(c *meta.Column) string {
	if c.Default == nil {
		return "NULL"
	}
	switch c.Default.Kind {
	case meta.DefaultLiteral:
		return c.Default.Text
	case meta.DefaultCurrentTimestamp:
		return "CURRENT_TIMESTAMP"
	case meta.DefaultCurrentDate:
		return "CURRENT_DATE"
	}
	return "NULL"
}

// describe runs DESC t.
func (s *Session) describe(st *ddl.Describe, w *mysql.ResultWriter) error {
	_, t, err := s.tableOf(st.Name)
	if err != nil {
		return err
	}
	r := columnsOf(t, false)
	if st.Column != "" {
		r.rows = slices.DeleteFunc(r.rows, func(row []string) bool { return !ddl.Like(st.Column, row[0]) })
	}
	return w.Rows(r.columns, r.rows)
}

func showCreateTable(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	_, t, err := s.tableOf(st.Table)
	if err != nil {
		return nil, err
	}
	return &result{columns: []string{"Table", "Create Table"}, rows: [][]string{{t.Name, ddl.ShowCreate(t, prop.Show(t))}}}, nil
}

func showCreateDatabase(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	if _, err := s.srv.database(st.Name); err != nil {
		return nil, err
	}
	return &result{columns: []string{"Database", "Create Database"}, rows: [][]string{{st.Name, "CREATE DATABASE `" + st.Name + "`"}}}, nil
}

// wallText is a wall clock in Unix milliseconds as SHOW prints it.
func wallText(ms int64) string {
	if ms == 0 {
		return "\\N"
	}
	return time.UnixMilli(ms).Format(time.DateTime)
}
