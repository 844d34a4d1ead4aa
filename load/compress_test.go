package load

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"dorisgo/doriserr"
)

// pack makes one part of each type that the tests can write.
func pack(t *testing.T, name, s string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gz":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "lz4":
		w = lz4.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDecompress(t *testing.T) {
	for _, name := range []string{"gz", "deflate", "lz4", "zstd"} {
		one, two := pack(t, name, "1,a\n"), pack(t, name, "2,b\n")
		long := pack(t, name, strings.Repeat("x", 1<<20))
		for _, tt := range []struct {
			what, body, want string
			kind             doriserr.Kind
		}{
			{"two parts", one + two, "1,a\n2,b\n", 0},
			{"no byte", "", "", 0},
			{"cut short", one[:len(one)-5], "", doriserr.DataQuality},
			{"cut in the second part", one + two[:3], "", doriserr.DataQuality},
			{"plain text", "1,a,plain text that is not packed\n", "", doriserr.DataQuality},
			{"rubbish behind", one + "rubbish", "", doriserr.DataQuality},
			{"over the limit", long, "", doriserr.ExceededLimit},
		} {
			for _, piece := range []int{1, 1 << 20} {
				r, err := Decompress(strings.ToUpper(name), pieces{strings.NewReader(tt.body), piece}, 1<<16)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				switch {
				case tt.kind == 0 && (err != nil || string(got) != tt.want):
					t.Errorf("%s, %s: %q, %v", name, tt.what, got, err)
				case tt.kind != 0 && doriserr.KindOf(err) != tt.kind:
					t.Errorf("%s, %s: %q, %v, want kind %s", name, tt.what, got, err, tt.kind)
				}
				// Some close with the error that reading met.
				_ = r.Close()
			}
		}
		broken := errors.New("the sender is gone")
		r, err := Decompress(name, io.MultiReader(strings.NewReader(one[:6]), failing{broken}), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, broken) {
			t.Errorf("%s: a broken transport: %v", name, err)
		}
	}
}

func TestCheckCompression(t *testing.T) {
	for name, kind := range map[string]doriserr.Kind{"lzo": doriserr.Unsupported, "LZ4_BLOCK": doriserr.Unsupported, "rar": doriserr.BadProperty} {
		err := CheckCompression(name)
		if doriserr.KindOf(err) != kind || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
