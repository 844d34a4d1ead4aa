package rowset

import (
	"bytes"
	"testing"
)

func FuzzDecodeRecord(f *testing.F) {
	for _, r := range records() {
		f.Add(AppendRecord(nil, &r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(b)
		if err != nil {
			return
		}
		again, err := DecodeRecord(AppendRecord(nil, &r))
		if err != nil || !bytes.Equal(AppendRecord(nil, &again), AppendRecord(nil, &r)) {
			t.Errorf("%x does not survive a second round: %v", b, err)
		}
	})
}

func FuzzDecodeColumns(f *testing.F) {
	f.Add(AppendColumns(nil, columns()))
	f.Add(AppendColumns(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		cols, err := DecodeColumns(b)
		if err != nil {
			return
		}
		enc := AppendColumns(nil, cols)
		again, err := DecodeColumns(enc)
		if err != nil || !bytes.Equal(AppendColumns(nil, again), enc) {
			t.Errorf("%x does not survive a second round: %v", b, err)
		}
	})
}
