package load

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"dorisgo/doriserr"
)

// bzip2Parts are bodies as the bzip2 tool packs them, in hex.
var bzip2Parts = map[string]string{
	"1,a\n":                    "425a683931415926535957afd8c5000001590000100004200020002000219a68334d173c5dc914e142415ebf6314",
	"2,b\n":                    "425a683931415926535945333578000001590000100004100010002000219a68334d173c5dc914e1424114ccd5e0",
	strings.Repeat("x", 1<<20): "425a6839314159265359ed2d006600080a4080800400400008200030cc0549ea71060140601e2ee48a70a121da5a00cc",
}

// pack makes one part of each type that the tests can write.
func pack(t testing.TB, name, s string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "bz2":
		// The standard library only reads bzip2: these are what the tool made.
		packed, ok := bzip2Parts[s]
		if !ok {
			t.Fatalf("no bzip2 part for %d bytes", len(s))
		}
		raw, err := hex.DecodeString(packed)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	case "snappy_block":
		return hadoop(t, s, 0, func(p []byte) []byte { return s2.EncodeSnappy(nil, p) })
	case "lz4_block":
		return hadoop(t, s, 0, packLZ4(t))
	case "snappy":
		w = s2.NewWriter(&b, s2.WriterSnappyCompat())
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
	for _, name := range []string{"gz", "bz2", "deflate", "lz4", "lz4_block", "snappy", "snappy_block", "zstd"} {
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
	for name, kind := range map[string]doriserr.Kind{"lzo": doriserr.Unsupported, "LZOP": doriserr.Unsupported, "rar": doriserr.BadProperty} {
		err := CheckCompression(name)
		if doriserr.KindOf(err) != kind || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// hadoop writes one group of s in the block form: blocks of at most size bytes,
// 0 for a single one.
func hadoop(t testing.TB, s string, size int, packBlock func([]byte) []byte) string {
	t.Helper()
	out := binary.BigEndian.AppendUint32(nil, uint32(len(s)))
	for len(s) > 0 {
		n := len(s)
		if size > 0 {
			n = min(n, size)
		}
		p := packBlock([]byte(s[:n]))
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
		s = s[n:]
	}
	return string(out)
}

// packLZ4 writes raw blocks. What does not get shorter is one run of literals.
func packLZ4(t testing.TB) func([]byte) []byte {
	return func(p []byte) []byte {
		dst := make([]byte, lz4.CompressBlockBound(len(p)))
		n, err := lz4.CompressBlock(p, dst, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return dst[:n]
		}
		if len(p) >= 15 {
			t.Fatalf("no literal run for %d bytes", len(p))
		}
		return append([]byte{byte(len(p) << 4)}, p...)
	}
}

func TestHadoopBlocks(t *testing.T) {
	snappy := func(p []byte) []byte { return s2.EncodeSnappy(nil, p) }
	long := strings.Repeat("0123456789", 100000)
	group := func(n uint32, blocks ...string) string {
		out := binary.BigEndian.AppendUint32(nil, n)
		for _, b := range blocks {
			out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
			out = append(out, b...)
		}
		return string(out)
	}
	literal := string(snappy([]byte("abcd")))
	for _, tt := range []struct {
		name, what, body, want, err string
	}{
		{"snappy_block", "several blocks in a group", hadoop(t, long, 65536, snappy) + hadoop(t, "x", 0, snappy), long + "x", ""},
		{"lz4_block", "several blocks in a group", hadoop(t, long, 65536, packLZ4(t)) + hadoop(t, "x", 0, packLZ4(t)), long + "x", ""},
		{"snappy_block", "groups of nothing", group(0) + group(4, literal) + group(0), "abcd", ""},
		{"snappy_block", "a group that ends early", group(9, literal), "", "unexpected EOF"},
		{"snappy_block", "a block that is too long for its group", group(3, literal), "", "4 unpacked bytes where at most 3"},
		{"lz4_block", "a block that is too long for its group", group(3, "\x40abcd"), "", "at most 3 bytes"},
		{"snappy_block", "a packed length without sense", "\x00\x00\x00\x04\xff\xff\xff\xff", "", "4294967295 packed bytes is longer than 8388608"},
		{"snappy_block", "an unpacked length without sense", group(1<<31, "\xff\xff\xff\xff\x07"), "", "where at most 8388608"},
		{"snappy_block", "an empty block", group(4, "\x00"), "", "without bytes"},
		{"lz4_block", "rubbish in a block", group(100, "\xf0\xff\xff\x00"), "", "a block of lz4"},
	} {
		for _, piece := range []int{1, 3, 1 << 20} {
			r, err := Decompress(tt.name, pieces{strings.NewReader(tt.body), piece}, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if tt.err == "" && (err != nil || string(got) != tt.want) {
				t.Errorf("%s, %s: %d bytes, %v", tt.name, tt.what, len(got), err)
			}
			if tt.err != "" && (doriserr.KindOf(err) != doriserr.DataQuality || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%s, %s: %v, want %q", tt.name, tt.what, err, tt.err)
			}
		}
	}
}

func TestEncodingCompression(t *testing.T) {
	for encoding, want := range map[string]string{"gzip": "gz", "X-GZIP": "gz", "lz4": "lz4", "identity": "", "snappy": "snappy"} {
		got, err := EncodingCompression(encoding)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", encoding, got, err)
		}
		if err := CheckCompression(got); got != "" && err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
	for encoding, name := range encodings {
		if _, ok := compressions[name]; !ok && name != "" {
			t.Errorf("%s stands for %s, which is no compression", encoding, name)
		}
	}
	if _, err := EncodingCompression("br"); doriserr.KindOf(err) != doriserr.BadProperty || !strings.Contains(err.Error(), "br") {
		t.Errorf("br: %v", err)
	}
}

type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
