package block

import (
	"testing"

	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// TestLimits takes every value of valuetest through text, vector and codec.
func TestLimits(t *testing.T) {
	for _, c := range valuetest.Limits() {
		b := New([]value.Type{c.Type})
		col := b.Col(0)
		for _, text := range []string{c.Text, c.Want} {
			if err := col.AppendText([]byte(text), &ConvertOptions{Strict: true}); err != nil {
				t.Errorf("%s %.80q: %v", c.Type, text, err)
				continue
			}
			b.EndRow()
		}
		again := New([]value.Type{c.Type})
		if _, err := DecodeAppend(again, AppendEncoded(nil, b)); err != nil {
			t.Errorf("%s %.80q: %v", c.Type, c.Text, err)
			continue
		}
		for i := range again.Rows() {
			if got := string(value.AppendText(nil, c.Type, again.Col(0).Raw(i))); got != c.Want {
				t.Errorf("%s %.80q: got %.80q, want %.80q", c.Type, c.Text, got, c.Want)
			}
		}
	}
}
