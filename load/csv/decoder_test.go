package csv

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// cuts are the ways in which every body of these tests is handed over.
var cuts = [][]int{{0}, {1}, {2, 3}, {7, 1, 1}, {1000}}

type testCase struct {
	name    string
	table   string
	columns []string
	o       Options
	strict  bool
	stop    bool
	body    string
	want    []string
	errors  []string
}

func (tt *testCase) run(t *testing.T, sizes []int) *loadtest.Result {
	t.Helper()
	table := tt.table
	if table == "" {
		table = loadtest.T3
	}
	m, err := load.NewMapping(loadtest.Table(t, table), load.MappingOptions{
		Columns: tt.columns, Strict: tt.strict, Now: loadtest.Now, Location: time.UTC,
	})
	if err != nil {
		t.Fatal(err)
	}
	in := load.NewInput(loadtest.Cut(tt.body, sizes...), int64(len(tt.body)), 0)
	defer in.Close()
	return loadtest.Run(t, m, NewDecoder(in, m.Fields(), tt.o), 1<<20, tt.stop)
}

func TestDecode(t *testing.T) {
	comma := Options{Separator: ","}
	quoted := Options{Separator: ",", Enclose: '"'}
	idS := "id INT, s STRING"
	for _, tt := range []testCase{
		{
			name: "doubled quotes and a separator in an enclosed field",
			o:    Options{Separator: ",", Enclose: '"', TrimDoubleQuotes: true},
			body: "1,\"she said \"\"hi\"\", twice\",3\n2,plain,4\n",
			want: []string{`1 | she said "hi", twice | 3`, "2 | plain | 4"},
		},
		{
			name: "NULL marks in every column and the empty string",
			o:    comma,
			body: "1,\\N,\\N\n2,,5\n3,x,\\N\r\n4,\\n,6\n",
			want: []string{"1 | NULL | NULL", "2 |  | 5", "3 | x | NULL", `4 | \n | 6`},
		},
		{
			name: "empty fields as NULL",
			o:    Options{Separator: ",", EmptyFieldAsNull: true},
			body: "1,\\N,\\N\n2,,5\n",
			want: []string{"1 | NULL | NULL", "2 | NULL | 5"},
		},
		{
			name: "enclosed fields are never NULL",
			o:    Options{Separator: ",", Enclose: '"', EmptyFieldAsNull: true},
			body: "1,\"\",2\n2,\"\\N\",3\n3,,\n",
			want: []string{"1 |  | 2", `2 | \N | 3`, "3 | NULL | NULL"},
		},
		{
			name: "LF, CRLF and lone CR in one body", table: idS, o: comma,
			body: "1,abc\n2,def\r\n3,q\rw\n4,hello\r\n",
			want: []string{"1 | abc", "2 | def", "3 | q\rw", "4 | hello"},
		},
		{
			name: "only the asked delimiter ends a row", table: idS, o: Options{Separator: ",", Delimiter: "\r\n"},
			body: "1,a\nb\r\n2,c\r\n",
			want: []string{"1 | a\nb", "2 | c"},
		},
		{
			name: "CR LF inside an enclosed field stays", o: quoted,
			body: "1,\"x\r\ny\",2\r\n",
			want: []string{"1 | x\r\ny | 2"},
		},
		{
			name: "byte order mark at the start only", o: quoted,
			body: "\xEF\xBB\xBF\"1\",\"a,b\",3\n2,\"\xEF\xBB\xBFz\",4\n",
			want: []string{"1 | a,b | 3", "2 | \uFEFFz | 4"},
		},
		{
			name: "byte order mark before a line of names", o: Options{Separator: ",", SkipLines: 1},
			body: "\xEF\xBB\xBFid,s,n\n1,a,2\n",
			want: []string{"1 | a | 2"},
		},
		{
			name: "last row without a long delimiter", table: idS, o: Options{Separator: "|", Delimiter: "#END#"},
			body: "1|aa#END#2|bb#END#3|cc",
			want: []string{"1 | aa", "2 | bb", "3 | cc"},
		},
		{
			name: "last row with a part of the delimiter", table: idS, o: Options{Separator: "|", Delimiter: "#END#"},
			body: "1|aa#END#2|bb#END#3|cc#EN",
			want: []string{"1 | aa", "2 | bb", "3 | cc#EN"},
		},
		{
			name: "LF is data with another delimiter", table: idS, o: Options{Separator: "|", Delimiter: "#END#"},
			body: "1|aa#END#3|cc\n",
			want: []string{"1 | aa", "3 | cc\n"},
		},
		{
			name: "a separator that overlaps itself", o: Options{Separator: "aaa"},
			body:   "1aaaaaa2\n1aaaxaaaaaa\n",
			want:   []string{"1 |  | 2"},
			errors: []string{`Column count mismatch: expected 3, but found 4 (sep:aaa, delim:\n) <- "1aaaxaaaaaa"`},
		},
		{
			name: "control bytes as separators", o: Options{Separator: "\x01", Delimiter: "\x02"},
			body: "1\x01a\x012\x02",
			want: []string{"1 | a | 2"},
		},
		{
			name: "one separator too many at the line end", o: Options{Separator: "|"},
			body: "1|a|2|\n2|b\n3|c|4\n",
			want: []string{"3 | c | 4"},
			errors: []string{
				`Column count mismatch: expected 3, but found 4 (sep:|, delim:\n) <- "1|a|2|"`,
				`Column count mismatch: expected 3, but found 2 (sep:|, delim:\n) <- "2|b"`,
			},
		},
		{
			name: "blank lines are no rows", o: comma,
			body: "\n1,a,2\n\n\n3,b,4\n\n\r\n",
			want: []string{"1 | a | 2", "3 | b | 4"},
		},
		{
			name: "blank lines are no rows of one column either", table: "s STRING", o: comma,
			body: "x\n\ny\n", want: []string{"x", "y"},
		},
		{
			name: "blank lines with enclosed fields", table: "s STRING", o: quoted,
			body: "\n\"\"\n\n\"a\nb\"\n\n", want: []string{"", "a\nb"},
		},
		{
			name: "the separator shows when it is the wrong one",
			body: "1,a,2\n", errors: []string{`Column count mismatch: expected 3, but found 1 (sep:\t, delim:\n) <- "1,a,2"`},
		},
		{
			name: "skipped lines, blank ones counted", o: Options{Separator: ",", SkipLines: 2},
			body: "\nx\n1,a,2\n", want: []string{"1 | a | 2"},
		},
		{
			name: "more lines to skip than there are", o: Options{Separator: ",", SkipLines: 9},
			body: "\nx\n1,a,2\n",
		},
		{
			name: "escape inside enclosed fields", o: Options{Separator: ",", Enclose: '\'', Escape: '\\'},
			body: `1,'b,\'c',2` + "\n" + `2,'\\',3` + "\n" + `3,'a\n',4` + "\n" + `4,a\',5` + "\n",
			want: []string{`1 | b,'c | 2`, `2 | \ | 3`, `3 | a\n | 4`, `4 | a\' | 5`},
		},
		{
			name: "an enclose byte that no field end follows is data", o: quoted,
			body: "1,\"a\"b\",2\n2,\"x\" y,3\n3,a\"b,4\n",
			want: []string{`1 | a"b | 2`},
			errors: []string{
				`Unterminated enclosed field <- "2,\"x\" y,3\n3,a\"b,4\n"`,
			},
		},
		{
			name: "separator of several bytes behind an enclosed field", o: Options{Separator: "||", Enclose: '"'},
			body: "1||\"a||b\"||2\n2||\"a\"|\"||3\n",
			want: []string{"1 | a||b | 2", `2 | a"| | 3`},
		},
		{
			name: "a delimiter that starts with the separator", o: Options{Separator: "#", Delimiter: "#END#", Enclose: '"'},
			body: "1#a#2#END#2#\"b\"#\"3\"#END#3##4",
			want: []string{"1 | a | 2", "2 | b | 3", "3 |  | 4"},
		},
		{
			name: "trimming of double quotes without enclose", o: Options{Separator: ",", TrimDoubleQuotes: true, EmptyFieldAsNull: true},
			body: "\"1\",\"\",\"2\"\n2,\",3\n3,\"\\N\",4\n",
			want: []string{"1 | NULL | 2", `2 | " | 3`, `3 | \N | 4`},
		},
		{
			name: "unparsable numbers become NULL", o: comma,
			body: "1,a,x\n2,b,2147483648\n3,c, 7 \nx,d,1\n\\N,e,1\n",
			want: []string{"1 | a | NULL", "2 | b | NULL", "3 | c | 7"},
			errors: []string{
				`column_name[id], null value for not null column, type=INT: cannot convert 'x' <- "x,d,1"`,
				`column_name[id], null value for not null column, type=INT <- "\\N,e,1"`,
			},
		},
		{
			name: "unparsable numbers are filtered in strict mode", o: comma, strict: true,
			body: "1,a,x\n2,b,2147483648\n3,c,\\N\n",
			want: []string{"3 | c | NULL"},
			errors: []string{
				`column_name[n], cannot convert 'x' to INT: malformed <- "1,a,x"`,
				`column_name[n], cannot convert '2147483648' to INT: out of range <- "2,b,2147483648"`,
			},
		},
		{
			name: "an overflowing decimal is never cut", table: "id INT, a DECIMAL(1,0)", o: comma,
			body: "1,1\n2,28\n3,-400\n4,9.4\n",
			want: []string{"1 | 1", "2 | NULL", "3 | NULL", "4 | 9"},
		},
		{
			name: "an overflowing decimal is filtered in strict mode", table: "id INT, a DECIMAL(1,0)", o: comma, strict: true,
			body: "1,1\n2,28\n3,-400\n4,9.4\n",
			want: []string{"1 | 1", "4 | 9"},
			errors: []string{
				`column_name[a], cannot convert '28' to DECIMAL(1,0): out of range <- "2,28"`,
				`column_name[a], cannot convert '-400' to DECIMAL(1,0): out of range <- "3,-400"`,
			},
		},
		{
			name: "decimals round half away from zero", table: "a DECIMAL(5,2)", o: comma,
			body: "1.005\n1.004\n-1.005\n-280.00\n0.000000000000000000000000000000000001\n999.995\n999.994\n",
			want: []string{"1.01", "1.00", "-1.01", "-280.00", "0.00", "NULL", "999.99"},
		},
		{
			name: "integers at the edge and in odd spellings", table: "id INT, a TINYINT", o: comma,
			body: "1,127\n2,128\n3,-128\n4,-129\n5, 5 \n6,+5\n7,05\n8,1.0\n9,1e2\n10,0x10\n11,\n",
			want: []string{"1 | 127", "2 | NULL", "3 | -128", "4 | NULL", "5 | 5", "6 | 5", "7 | 5", "8 | 1", "9 | 100", "10 | NULL", "11 | NULL"},
		},
		{
			name: "integers at the edge and in odd spellings in strict mode", table: "id INT, a TINYINT", o: comma, strict: true,
			body: "1,127\n2,128\n3,-128\n4,-129\n5, 5 \n6,+5\n7,05\n8,1.0\n9,1e2\n10,0x10\n11,\n",
			want: []string{"1 | 127", "3 | -128", "5 | 5", "6 | 5", "7 | 5", "8 | 1", "9 | 100"},
			errors: []string{
				`column_name[a], cannot convert '128' to TINYINT: out of range <- "2,128"`,
				`column_name[a], cannot convert '-129' to TINYINT: out of range <- "4,-129"`,
				`column_name[a], cannot convert '0x10' to TINYINT: malformed <- "10,0x10"`,
				`column_name[a], cannot convert '' to TINYINT: malformed <- "11,"`,
			},
		},
		{
			name: "dates that do not exist", table: "d DATE", o: comma,
			body: "2024-02-29\n2023-02-29\n1900-02-29\n2000-02-29\n2015-04-31\n2024-00-10\n2024-13-01\n0000-00-00\n0000-01-01\n0000-02-29\n10000-01-01\n",
			want: []string{"2024-02-29", "NULL", "NULL", "2000-02-29", "NULL", "NULL", "NULL", "NULL", "0000-01-01", "NULL", "NULL"},
		},
		{
			name: "dates that do not exist in strict mode", table: "d DATE", o: comma, strict: true,
			body: "2024-02-29\n2023-02-29\n2024-13-01\n",
			want: []string{"2024-02-29"},
			errors: []string{
				`column_name[d], cannot convert '2023-02-29' to DATE: out of range <- "2023-02-29"`,
				`column_name[d], cannot convert '2024-13-01' to DATE: out of range <- "2024-13-01"`,
			},
		},
		{
			name: "odd fractions and times", table: "a DATETIME(3), b DATETIME", o: comma, columns: []string{"a"},
			body: "2023-01-11 11:11:11:333\n2023-01-11 11:11:11.3\n2023-01-11T11:11:11.333Z\n20230111111111\n2023-1-1 1:1:1\n2023-01-11 11:11:11.333abc\n2023-01-11 24:00:00\n",
			want: []string{
				"NULL | NULL", "2023-01-11 11:11:11.300 | NULL", "2023-01-11 11:11:11.333 | NULL", "2023-01-11 11:11:11.000 | NULL",
				"2023-01-01 01:01:01.000 | NULL", "NULL | NULL", "NULL | NULL",
			},
		},
		{
			name: "odd fractions for a column without", table: "b DATETIME", o: comma,
			body: "2023-01-11 11:11:11:333\n2023-01-11 11:11:11.3\n2023-01-11T11:11:11.333Z\n20230111111111\n2023-1-1 1:1:1\n2023-01-11 11:11:11.333abc\n2023-01-11 24:00:00\n",
			want: []string{"NULL", "2023-01-11 11:11:11", "2023-01-11 11:11:11", "2023-01-11 11:11:11", "2023-01-01 01:01:01", "NULL", "NULL"},
		},
		{
			name: "strings of more bytes than characters in strict mode", table: "v VARCHAR(4)", o: comma, strict: true,
			body: "abcd\n中a\n中文\nab😀\nééé\n",
			want: []string{"abcd", "中a"},
			errors: []string{
				`column_name[v], the length of input is too long than schema. first 32 bytes of input str: [中文] schema length: 4; actual length: 6;  <- "中文"`,
				`column_name[v], the length of input is too long than schema. first 32 bytes of input str: [ab😀] schema length: 4; actual length: 6;  <- "ab😀"`,
				`column_name[v], the length of input is too long than schema. first 32 bytes of input str: [ééé] schema length: 4; actual length: 6;  <- "ééé"`,
			},
		},
		{
			name: "strings are cut at a character's edge", table: "v VARCHAR(4)", o: comma,
			body: "abcd\nabcde\n中a\n中文\nab😀\nééé\n",
			want: []string{"abcd", "abcd", "中a", "中", "ab", "éé"},
		},
		{
			name: "strings that are too long are filtered in strict mode", table: "v VARCHAR(4)", o: comma, strict: true,
			body:   "abcd\nabcde\n",
			want:   []string{"abcd"},
			errors: []string{`column_name[v], the length of input is too long than schema. first 32 bytes of input str: [abcde] schema length: 4; actual length: 5;  <- "abcde"`},
		},
		{
			name: "bytes that are not UTF-8", o: comma,
			body:   "1,a\xffb,2\n",
			errors: []string{`column_name[s], the value is not valid UTF-8 <- "1,a\xffb,2"`},
		},
		{
			name: "columns in another order, skipped and missing", o: comma, columns: []string{"N", "skip", "Id"},
			body: "7,zz,1\n", want: []string{"1 | NULL | 7"},
		},
		{
			name: "defaults of columns without a source", o: comma, columns: []string{"id"},
			table: `id INT, v INT DEFAULT "100", at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), d DATE DEFAULT CURRENT_DATE, x VARCHAR(4) DEFAULT NULL`,
			body:  "1\n", want: []string{"1 | 100 | 2024-05-06 07:08:09.123 | 2024-05-06 | NULL"},
		},
		{name: "an empty body", o: comma},
		{name: "a byte order mark alone", o: comma, body: "\xEF\xBB\xBF"},
		{name: "a part of a byte order mark", table: "s STRING", o: comma, body: "\xEF\xBB", errors: []string{`column_name[s], the value is not valid UTF-8 <- "\xef\xbb"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, sizes := range cuts {
				got := tt.run(t, sizes)
				if got.Err != nil {
					t.Fatalf("cut %v: %v", sizes, got.Err)
				}
				if !slices.Equal(got.Rows, tt.want) {
					t.Errorf("cut %v: rows %q, want %q", sizes, got.Rows, tt.want)
				}
				if !slices.Equal(got.Errors, tt.errors) {
					t.Errorf("cut %v: errors\n%s\nwant\n%s", sizes, strings.Join(got.Errors, "\n"), strings.Join(tt.errors, "\n"))
				}
			}
		})
	}
}

func TestStopsEarlyWhenNoRowMayBeFiltered(t *testing.T) {
	tt := testCase{o: Options{Separator: ","}, stop: true, body: "x\n" + strings.Repeat("1,a,2\n", 100000)}
	for _, sizes := range cuts[2:] {
		got := tt.run(t, sizes)
		if !load.IsStopped(got.Err) || got.Counts.Total != 1025 || got.Counts.Filtered != 1 {
			t.Errorf("cut %v: %v, %+v", sizes, got.Err, got.Counts)
		}
	}
}

func TestRowLimit(t *testing.T) {
	m, err := load.NewMapping(loadtest.Table(t, "s STRING"), load.MappingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, enclose := range []byte{0, '"'} {
		for _, tt := range []struct {
			row int
			ok  bool
		}{{1500, true}, {2046, true}, {2100, false}, {1 << 20, false}} {
			body := strings.Repeat("x", tt.row-2) + "\n"
			if enclose != 0 {
				body = `"` + strings.Repeat("\n", tt.row-2) + "\"\n"
			}
			in := load.NewInput(loadtest.Cut(body+"y\n", 100), 100, 2048)
			got := loadtest.Run(t, m, NewDecoder(in, 1, Options{Enclose: enclose}), 1<<20, false)
			in.Close()
			if ok := got.Err == nil; ok != tt.ok || !ok && doriserr.KindOf(got.Err) != doriserr.ExceededLimit {
				t.Errorf("enclose %q: a row of %d bytes: %v", enclose, tt.row, got.Err)
			}
		}
	}
}

func TestSeparator(t *testing.T) {
	for _, tt := range []struct{ header, want, err string }{
		{",", ",", ""}, {`\x01`, "\x01", ""}, {`\x0102`, "\x01\x02", ""}, {`\x01\x02|`, "\x01\x02|", ""},
		{`\t`, "\t", ""}, {`\r\n`, "\r\n", ""}, {`\\x01`, `\x01`, ""}, {`\`, `\`, ""}, {`a\q`, `a\q`, ""}, {`\X7C`, "|", ""},
		{"", "", "Column separator is null or empty"}, {`\x`, "", "Hex str is empty"},
		{`\x0`, "", "Hex str length error"}, {`\xZZ`, "", "Hex str format error"}, {`\x012`, "", "Hex str length error"},
	} {
		got, err := Separator(tt.header)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%q = %q, %v, want %q, %q", tt.header, got, err, tt.want, tt.err)
		}
	}
}
