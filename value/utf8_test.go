package value

import "testing"

func TestTruncateUTF8(t *testing.T) {
	cases := []struct {
		in   string
		n    int
		want string
	}{
		{"abcd", 4, "abcd"}, {"abcde", 4, "abcd"}, {"中a", 4, "中a"}, {"中文", 4, "中"}, {"ab😀", 4, "ab"}, {"ééé", 4, "éé"},
		{"ééé", 5, "éé"}, {"😀", 3, ""}, {"", 0, ""}, {"a", 0, ""}, {"中", 0, ""}, {"a\xff\xff", 2, "a\xff"}, {"\x80\x80\x80\x80\x80", 4, "\x80\x80\x80\x80"},
	}
	for _, c := range cases {
		if got := string(TruncateUTF8([]byte(c.in), c.n)); got != c.want {
			t.Errorf("TruncateUTF8(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
