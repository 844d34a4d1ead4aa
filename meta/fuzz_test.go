package meta

import (
	"bytes"
	"testing"
)

func FuzzDecodeCommand(f *testing.F) {
	for _, c := range samples() {
		data, err := EncodeCommand(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeCommand(data)
		if err != nil {
			return
		}
		// Whatever the log may hold is decided, not a panic.
		s := New()
		_, _ = s.Apply(1, c)
		_, _ = s.Apply(2, c)
		again, err := EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeCommand(again); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	s := New()
	for i, c := range samples() {
		_, _ = s.Apply(uint64(i)+1, c)
	}
	var b bytes.Buffer
	if err := s.Snapshot().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(snapshotMagic + "\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Restore(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := s.Snapshot().Write(&b); err != nil {
			t.Fatal(err)
		}
	})
}
