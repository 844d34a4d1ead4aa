package load

import (
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
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
	"lz4_block":    nil,
	"lzo":          nil,
	"lzop":         nil,
	"snappy_block": nil,
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
	return &unpacker{name: strings.ToLower(name), src: r, left: limit, limit: limit}, nil
}

// unpacker opens its stream at the first read, so that an error of the header
// is met where other errors of the body are.
type unpacker struct {
	name  string
	src   io.Reader
	r     io.ReadCloser
	left  int64
	limit int64
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.r == nil {
		src := &watched{r: u.src}
		u.src = src
		r, err := compressions[u.name](src)
		if err != nil {
			if errors.Is(err, io.EOF) && !src.any {
				return 0, io.EOF // an empty body has no rows
			}
			return 0, u.fail(err)
		}
		u.r = r
	}
	n, err := u.r.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, doriserr.New(doriserr.ExceededLimit, "the unpacked body exceeds the limit of %d bytes", u.limit)
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		return n, io.EOF
	}
	return n, u.fail(err)
}

// fail words an error of the compressed data; one of the transport stays as it
// is.
func (u *unpacker) fail(err error) error {
	if w, ok := u.src.(*watched); ok && w.err != nil {
		return w.err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return doriserr.Wrap(doriserr.DataQuality, err, "cannot unpack the body as %s", u.name)
}

// Close frees the decompressor's memory.
func (u *unpacker) Close() error {
	if u.r == nil {
		return nil
	}
	return u.r.Close()
}

// watched notes what the compressed side of a stream met.
type watched struct {
	r   io.Reader
	any bool
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.any = w.any || n > 0
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
	return n, err
}
