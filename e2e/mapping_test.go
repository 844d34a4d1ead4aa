package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMapping: columns with expressions, skips and constants, where and the
// counters, in each mode of commit.
func TestMapping(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("USE db")
	port := a.beHTTP
	for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
		table := "t_" + mode
		s.run("CREATE TABLE " + table + ` (id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL, at DATETIME(3) NULL DEFAULT CURRENT_TIMESTAMP(3))
			DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "10")`)
		load := func(body string, want reply, headers ...string) *reply {
			t.Helper()
			r, err := streamLoad(t.Context(), port, "db", table, strings.NewReader(body), append([]string{"column_separator", ",", "group_commit", mode}, headers...)...)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != want.Status || r.Total != want.Total || r.Loaded != want.Loaded || r.Filtered != want.Filtered || r.Unselected != want.Unselected || r.Message == "" {
				t.Errorf("%s, %q: %+v, want %+v", mode, headers, *r, want)
			}
			return r
		}
		load("5,zz,ab,1\n6,zz,cd,2\n", reply{Status: "Success", Total: 2, Loaded: 2}, "columns", "n, skip1, tmp, id, s=concat(tmp,\"-\",n), at='2024-01-02 03:04:05.678'")
		load("3,a,5\n4,\\N,1\n5,c,x\n6,d,9\n", reply{Status: "Success", Total: 4, Loaded: 2, Filtered: 1, Unselected: 1},
			"columns", "id,s,n", "where", "s is not null and n >= 5", "strict_mode", "true", "max_filter_ratio", "0.5")
		before := time.Now().Add(-time.Second).UTC()
		load("7,4\n", reply{Status: "Success", Total: 1, Loaded: 1}, "columns", "id, tmp, n=tmp*2, at=now(3), s='const'", "timezone", "+00:00")
		for _, bad := range []struct{ header, value, want string }{
			{"columns", "id, s=nofunc(id)", "s=nofunc(id): function nofunc is not supported"},
			{"columns", "id, nosuch=1", "unknown column nosuch"},
			{"columns", "s, n", "Column has no default value, column=id"},
			{"where", "nosuch > 1", "reference=nosuch"},
			{"merge_type", "DELETE", "load by MERGE or DELETE is only supported in unique tables."},
			{"partial_columns", "true", "Only unique key merge on write support partial update"},
		} {
			if r := load("1,a,2\n", reply{Status: "Fail"}, bad.header, bad.value); !strings.Contains(r.Message, bad.want) {
				t.Errorf("%+v: %s", bad, r.Message)
			}
		}
		eventually(t, statementTime, "5 rows", func() (bool, string) {
			n := s.value("SELECT count(*) FROM " + table)
			return n == "5", n + " rows"
		})
		got := fmt.Sprint(s.run("SELECT id, s, n, at FROM " + table + " WHERE id < 3 ORDER BY id"))
		if want := "[[1 ab-5 5 2024-01-02 03:04:05.678] [2 cd-6 6 2024-01-02 03:04:05.678]]"; got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
		if got := fmt.Sprint(s.run("SELECT id, s, n FROM " + table + " WHERE id > 2 ORDER BY id")); got != "[[3 a 5] [6 d 9] [7 const 8]]" {
			t.Errorf("%s: %s", mode, got)
		}
		at, err := time.Parse("2006-01-02 15:04:05.000", s.value("SELECT at FROM "+table+" WHERE id = 7"))
		if err != nil || at.Before(before) || at.After(time.Now().UTC()) {
			t.Errorf("%s: now(3) was %s, %v", mode, at, err)
		}
	}
}

// TestLoadZone: without a header a load has the cluster's time zone, by offset
// too; with one it has its own.
func TestLoadZone(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run(`CREATE TABLE db.t (id INT, at DATETIME) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1")`)
	id := 0
	stored := func(headers ...string) string {
		id++
		mustLoad(t, a.beHTTP, "db", "t", strings.NewReader(fmt.Sprintf("%d,2023-06-15T10:00:00Z\n", id)), append([]string{"column_separator", ","}, headers...)...)
		return s.value(fmt.Sprintf("SELECT at FROM db.t WHERE id = %d", id))
	}
	for _, zone := range []struct{ name, want string }{{"+08:00", "2023-06-15 18:00:00"}, {"Africa/Abidjan", "2023-06-15 10:00:00"}, {"-03:30", "2023-06-15 06:30:00"}} {
		s.run("SET GLOBAL time_zone = '" + zone.name + "'")
		eventually(t, statementTime, "loads in the zone "+zone.name, func() (bool, string) {
			got := stored()
			return got == zone.want, got
		})
		if got := stored("timezone", "+09:00"); got != "2023-06-15 19:00:00" {
			t.Errorf("header +09:00 in a cluster of %s: %s", zone.name, got)
		}
	}
}

// TestMappingTogether: many small loads of a few mappings at the same time; each
// row is what its own load computed, and a crash before the groups' commit
// changes none.
func TestMappingTogether(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run(`CREATE TABLE db.t (id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL)
		DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "60000")`)
	const clients, each = 8, 25
	port := a.beHTTP
	ctx, cancel := context.WithTimeout(t.Context(), statementTime)
	defer cancel()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				id := c*each + i
				r, err := streamLoad(ctx, port, "db", "t", strings.NewReader(fmt.Sprintf("%d,x%d\n%d,drop\n", id, id, id)),
					"column_separator", ",", "group_commit", "async_mode", "columns", fmt.Sprintf("id,tmp,s=concat(tmp,'-',id),n=id*%d", 2+c%3), "where", "s like 'x%'")
				if err != nil || r.Status != "Success" || r.Loaded != 1 || r.Unselected != 1 {
					t.Errorf("load %d: %+v, %v", id, r, err)
					return
				}
			}
		})
	}
	wg.Wait()
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	eventually(t, statementTime, "all rows", func() (bool, string) {
		rows, err := s.try("SELECT count(*), count(DISTINCT id) FROM t")
		if err != nil {
			return false, err.Error()
		}
		return fmt.Sprint(rows) == fmt.Sprintf("[[%d %d]]", clients*each, clients*each), fmt.Sprint(rows)
	})
	wrong := s.run(fmt.Sprintf("SELECT id, s, n FROM t WHERE s <> concat('x', id, '-', id) OR n <> id * (2 + floor(id / %d) %% 3) OR s IS NULL OR n IS NULL", each))
	if len(wrong) > 0 {
		t.Errorf("rows of other loads: %v", wrong)
	}
}
