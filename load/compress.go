package load

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"dorisgo/doriserr"
)

// compressions are the values of the compress_type header. A nil opener is a
// type that Doris knows and we do not read yet.
var compressions = map[string]func(io.Reader) (io.ReadCloser, error){
	"gz":           func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) },
	"bz2":          func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil },
	"lz4":          func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil },
	"deflate":      zlib.NewReader,
	"zstd":         openZstd,
	"snappy":       openSnappy,
	"snappy_block": openSnappyBlock,
	"lz4_block":    openLZ4Block,
	"lzo":          nil,
	"lzop":         nil,
}

// encodings are the values of the Content-Encoding header that we read, with
// the compress_type that means the same.
var encodings = map[string]string{
	"identity":        "",
	"gzip":            "gz",
	"x-gzip":          "gz",
	"deflate":         "deflate",
	"bzip2":           "bz2",
	"lz4":             "lz4",
	"zstd":            "zstd",
	"snappy":          "snappy",
	"x-snappy-framed": "snappy",
}

// EncodingCompression is the compression that a Content-Encoding header, in any
// case, stands for; empty for none.
func EncodingCompression(encoding string) (string, error) {
	name, ok := encodings[strings.ToLower(encoding)]
	if !ok {
		return "", doriserr.New(doriserr.BadProperty, "Invalid Content-Encoding: %s, must be one of %s", encoding, strings.Join(slices.Sorted(maps.Keys(encodings)), ", "))
	}
	return name, nil
}

// openSnappy reads the framed form of snappy, whose blocks have at most 64 KiB.
func openSnappy(r io.Reader) (io.ReadCloser, error) {
	return io.NopCloser(s2.NewReader(r, s2.ReaderMaxBlockSize(64<<10))), nil
}

// zstdWindow bounds the memory of one zstd stream in bytes.
const zstdWindow = 8 << 20

func openZstd(r io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, fmt.Errorf("cannot start zstd: %w", err)
	}
	return d.IOReadCloser(), nil
}

// CheckCompression validates a compress_type header, in any case.
func CheckCompression(name string) error {
	open, known := compressions[strings.ToLower(name)]
	switch {
	case !known:
		return doriserr.New(doriserr.BadProperty, "Invalid compress_type: %s, must be one of %s", name, strings.Join(slices.Sorted(maps.Keys(compressions)), ", "))
	case open == nil:
		return doriserr.New(doriserr.Unsupported, "compress_type %s is not supported yet", name)
	}
	return nil
}

// Decompress reads a compressed body; parts joined end to end are all read. The
// limit counts unpacked bytes. Errors are those of the client's data: a body cut
// short is an error, never an early end.
func Decompress(name string, r io.Reader, limit int64) (io.ReadCloser, error) {
	if err := CheckCompression(name); err != nil {
		return nil, err
	}
	src := &watched{r: r}
	return &unpacker{name: strings.ToLower(name), src: src, in: bufio.NewReaderSize(src, 32<<10), left: limit, limit: limit}, nil
}

// unpacker opens its stream at the first read, so that an error of the header
// is met where other errors of the body are, and a new one for each part.
type unpacker struct {
	name  string
	src   *watched
	in    *bufio.Reader
	r     io.ReadCloser
	left  int64
	limit int64
}

func (u *unpacker) Read(p []byte) (int, error) {
	for {
		if u.r == nil {
			// Decompressors read a buffered source no further than their part goes.
			if _, err := u.in.Peek(1); err != nil {
				return 0, u.fail(err, true)
			}
			r, err := compressions[u.name](u.in)
			if err != nil {
				return 0, u.fail(err, false)
			}
			u.r = r
		}
		n, err := u.r.Read(p)
		if u.left -= int64(n); u.left < 0 {
			return 0, doriserr.New(doriserr.ExceededLimit, "the unpacked body exceeds the limit of %d bytes", u.limit)
		}
		if errors.Is(err, io.EOF) {
			if err = u.Close(); err == nil && n == 0 {
				continue
			}
		}
		if err != nil {
			return n, u.fail(err, false)
		}
		return n, nil
	}
}

// fail words an error of the packed data; one of the transport stays as it is,
// and so does the end between two parts.
func (u *unpacker) fail(err error, between bool) error {
	switch {
	case u.src.err != nil:
		return u.src.err
	case errors.Is(err, io.EOF) && between:
		return io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return doriserr.Wrap(doriserr.DataQuality, err, "cannot unpack the body as %s", u.name)
}

// Close frees the decompressor's memory.
func (u *unpacker) Close() error {
	if u.r == nil {
		return nil
	}
	err := u.r.Close()
	u.r = nil
	return err
}

// watched notes an error of the packed side of a stream.
type watched struct {
	r   io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
