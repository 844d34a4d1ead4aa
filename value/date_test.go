package value

import (
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	if name == "" {
		return nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestDates(t *testing.T) {
	runConv(t, Type{Kind: Date}, nil, []convCase{
		{"2024-02-29", "2024-02-29", 0}, {"2000-02-29", "2000-02-29", 0}, {"0000-01-01", "0000-01-01", 0},
		{"0000-03-01", "0000-03-01", 0}, {"9999-12-31", "9999-12-31", 0},
		{"2023-02-29", "", OutOfRange}, {"1900-02-29", "", OutOfRange}, {"2015-04-31", "", OutOfRange}, {"2024-00-10", "", OutOfRange},
		{"2024-13-01", "", OutOfRange}, {"0000-00-00", "", OutOfRange}, {"0000-02-29", "", OutOfRange}, {"2024-01-00", "", OutOfRange},
		{"10000-01-01", "", Malformed}, {"-2024-01-01", "", Malformed}, {"2024-1", "", Malformed}, {"2024", "", Malformed},
		{"2024-1-1", "2024-01-01", 0}, {"2024/1/31", "2024-01-31", 0}, {"2024/1-31", "", Malformed}, {"2024-1/31", "", Malformed},
		{" 20240131 ", "2024-01-31", 0}, {"240131", "2024-01-31", 0}, {"69-1-1", "2069-01-01", 0}, {"70-1-1", "1970-01-01", 0},
		{"20241301", "", OutOfRange}, {"2024013", "", Malformed}, {"1-1-1", "", Malformed}, {"123-1-1", "", Malformed},
		{"2024-001-01", "", Malformed}, {"2024-01-001", "", Malformed}, {"", "", Malformed}, {"today", "", Malformed},
		{"2024-01-31 23:59:59.999999", "2024-01-31", 0}, {"2024-01-31T23:59:59Z", "2024-01-31", 0}, {"2024-01-31 24:00:00", "", OutOfRange},
		{"2024-01-31x", "", Malformed}, {"2024-01-31 ", "2024-01-31", 0}, {"2024-01-31T", "", Malformed}, {"2024-01-31Z", "", Malformed},
		{"2024-01-31 +08:00", "", Malformed}, {"2024-01-31 12", "2024-01-31", 0},
	})
	runConv(t, Type{Kind: Date}, zone(t, "Asia/Shanghai"), []convCase{
		{"2024-01-31T16:00:00Z", "2024-02-01", 0}, {"2024-01-31T15:59:59.9Z", "2024-01-31", 0}, {"2024-01-31 16:00:00", "2024-01-31", 0},
		{"9999-12-31T23:00:00Z", "", OutOfRange},
	})
	if v, err := ParseDate([]byte("2024-01-31T23:00:00-05:00")); err != nil || string(AppendDate(nil, v)) != "2024-01-31" {
		t.Errorf("ParseDate takes the date as written: %s, %v", AppendDate(nil, v), err)
	}
}

func TestDateTimes(t *testing.T) {
	runConv(t, Type{Kind: DateTime, Scale: 3}, nil, []convCase{
		{"2023-01-11 11:11:11:333", "", Malformed}, {"2023-01-11 11:11:11.3", "2023-01-11 11:11:11.300", 0},
		{"2023-01-11T11:11:11.333Z", "2023-01-11 11:11:11.333", 0}, {"20230111111111", "2023-01-11 11:11:11.000", 0},
		{"2023-1-1 1:1:1", "2023-01-01 01:01:01.000", 0}, {"2023-01-11 11:11:11.333abc", "", Malformed},
		{"2023-01-11 24:00:00", "", OutOfRange}, {"2023-01-11 23:60:00", "", OutOfRange}, {"2023-01-11 23:59:60", "", OutOfRange},
		{"2023-01-11 11:11:11.3335", "2023-01-11 11:11:11.334", 0}, {"2023-01-11 11:11:11.33349999", "2023-01-11 11:11:11.333", 0},
		{"9999-12-31 23:59:59.9995", "", OutOfRange}, {"9999-12-31 23:59:59.99949", "9999-12-31 23:59:59.999", 0},
		{"1969-12-31 23:59:59.9996", "1970-01-01 00:00:00.000", 0}, {"0000-01-01", "0000-01-01 00:00:00.000", 0},
		{"20230111111111.25", "2023-01-11 11:11:11.250", 0}, {"230111111111", "2023-01-11 11:11:11.000", 0},
		{"20230111T111111.5", "2023-01-11 11:11:11.500", 0}, {"20230111 11:11", "2023-01-11 11:11:00.000", 0},
		{"2023-01-11 11", "2023-01-11 11:00:00.000", 0}, {"2023-01-11  11:11", "2023-01-11 11:11:00.000", 0},
		{"2023-01-11 11:11:11.", "", Malformed}, {"2023-01-11 11:", "", Malformed}, {"2023-01-11 11:11:", "", Malformed},
		{"2023-01-11 111:11:11", "", Malformed}, {"2023-01-11 11.5", "", Malformed}, {"2023-01-11 11:11.5", "", Malformed},
		{"2023-01-11 -1:11:11", "", Malformed}, {"2023-01-11 11:11:11 PM", "", Malformed}, {"2023-01-1111:11:11", "", Malformed},
		{"2023011111111", "", Malformed}, {"202301111111111", "", Malformed},
	})
	runConv(t, Type{Kind: DateTime}, nil, []convCase{
		{"2023-01-11 11:11:11.333", "2023-01-11 11:11:11", 0}, {"2023-12-31 23:59:59.5", "2024-01-01 00:00:00", 0},
		{"2023-12-31 23:59:59.4999999999", "2023-12-31 23:59:59", 0},
	})
	runConv(t, Type{Kind: DateTime, Scale: 6}, nil, []convCase{
		{"2023-01-11 11:11:11.1234565", "2023-01-11 11:11:11.123457", 0}, {"2023-01-11 11:11:11.000001", "2023-01-11 11:11:11.000001", 0},
	})
}

// TestZones: two spellings of one instant are one value in every zone, and a
// text without zone is kept as written.
func TestZones(t *testing.T) {
	cases := []struct{ zone, text, want string }{
		{"", "2023-06-15T10:00:00.000Z", "2023-06-15 10:00:00"},
		{"", "2023-06-15T18:00:00.000+08:00", "2023-06-15 10:00:00"},
		{"Asia/Shanghai", "2023-06-15T10:00:00.000Z", "2023-06-15 18:00:00"},
		{"Asia/Shanghai", "2023-06-15T18:00:00.000+08:00", "2023-06-15 18:00:00"},
		{"Asia/Shanghai", "2023-06-15 10:00:00", "2023-06-15 10:00:00"},
		{"Africa/Abidjan", "2023-06-15T18:00:00+0800", "2023-06-15 10:00:00"},
		{"America/New_York", "2023-06-15 10:00:00 UTC", "2023-06-15 06:00:00"},
		{"America/New_York", "2023-12-15 10:00:00GMT", "2023-12-15 05:00:00"},
		{"", "2023-06-15 10:00:00-3", "2023-06-15 13:00:00"},
		{"", "2023-06-15 10:00:00 +05:30", "2023-06-15 04:30:00"},
		{"", "2023-06-15 10:00+14:00", "2023-06-14 20:00:00"},
		{"", "2023-06-15 10:00:00-13:59", "2023-06-15 23:59:00"},
		{"", "20230615100000+01", "2023-06-15 09:00:00"},
	}
	for _, c := range cases {
		runConv(t, Type{Kind: DateTime}, zone(t, c.zone), []convCase{{c.text, c.want, 0}})
	}
	bad := []string{"+14:01", "-14:00", "+15", "+08:60", "+8:0", "+080", "+08000", "+", "Zulu", "Asia/Shanghai", "+08:00Z", "+-08:00"}
	for _, z := range bad {
		runConv(t, Type{Kind: DateTime}, nil, []convCase{{"2023-06-15 10:00:00" + z, "", Malformed}})
	}
	runConv(t, Type{Kind: DateTime}, nil, []convCase{
		{"0000-01-01 00:00:00+00:01", "", OutOfRange}, {"9999-12-31 23:59:00-00:01", "", OutOfRange},
	})
}

// TestCivil walks every day of the years 0 to 9999 beside package time.
func TestCivil(t *testing.T) {
	at := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	for days := MinDate; days <= MaxDate; days++ {
		y, m, d := CivilFromDays(days)
		if days%97 == 0 || d == 1 {
			wy, wm, wd := at.AddDate(0, 0, int(days-MinDate)).Date()
			if y != wy || m != int(wm) || d != wd {
				t.Fatalf("day %d: %d-%d-%d, want %d-%d-%d", days, y, m, d, wy, wm, wd)
			}
		}
		if back := DaysFromCivil(y, m, d); back != days {
			t.Fatalf("day %d: %d-%d-%d is day %d", days, y, m, d, back)
		}
		if !ValidDate(y, m, d) && (y != 0 || m != 2 || d != 29) {
			t.Fatalf("%d-%d-%d is not valid", y, m, d)
		}
	}
}

func TestRoundDateTime(t *testing.T) {
	cases := []struct {
		in    int64
		scale uint8
		want  int64
	}{
		{1_499_999, 0, 1_000_000}, {1_500_000, 0, 2_000_000}, {-1, 0, 0}, {-500_000, 0, 0}, {-500_001, 0, -1_000_000},
		{1234, 3, 1000}, {1500, 3, 2000}, {-1500, 3, -1000}, {-1501, 3, -2000}, {-7, 6, -7}, {1_000_000, 0, 1_000_000},
	}
	for _, c := range cases {
		if got := RoundDateTime(c.in, c.scale); got != c.want {
			t.Errorf("RoundDateTime(%d, %d) = %d, want %d", c.in, c.scale, got, c.want)
		}
	}
}
