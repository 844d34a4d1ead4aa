package storage

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// UUID is a storage root's identity.
type UUID [16]byte

// String is the canonical form: 8-4-4-4-12 hexadecimal digits.
func (u UUID) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ParseUUID is the inverse of UUID.String.
func ParseUUID(s string) (u UUID, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(u) || UUID(b).String() != s {
		return u, fmt.Errorf("%q is not a UUID", s)
	}
	return UUID(b), nil
}

// newUUID makes a random UUID (version 4).
func newUUID(random io.Reader) (u UUID, err error) {
	if _, err = io.ReadFull(random, u[:]); err != nil {
		return u, fmt.Errorf("cannot get random bytes: %w", err)
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u, nil
}

const (
	identityFile = "IDENTITY"
	identityTmp  = "IDENTITY.tmp"
	// identityMagic starts the file; the format version follows it, so that a
	// later build's file is refused by name whatever comes after.
	identityMagic = "dorisgo storage root, format "
	// FormatVersion is the newest format of a storage root that this build
	// reads, and the one that it writes.
	FormatVersion = 1
)

// identity is the content of a root's IDENTITY file (docs/format/storage.md).
type identity struct {
	uuid UUID
	// bootEpoch is the last one that the BE registered with, 0 before its
	// first registration.
	bootEpoch uint64
	// ready is false while the root is being formatted: nothing was stored in
	// it yet, and formatting starts again.
	ready bool
}

func (id identity) encode() []byte {
	body := fmt.Sprintf("%s%d\nuuid %s\nboot_epoch %d\nready %t\n", identityMagic, FormatVersion, id.uuid, id.bootEpoch, id.ready)
	return fmt.Appendf(nil, "%scrc %08x\n", body, crc32.ChecksumIEEE([]byte(body)))
}

var errIdentity = errors.New("its contents are damaged")

func decodeIdentity(b []byte) (id identity, err error) {
	first, _, _ := strings.Cut(string(b), "\n")
	version, ok := strings.CutPrefix(first, identityMagic)
	if !ok {
		return id, errIdentity
	}
	if v, err := strconv.ParseUint(version, 10, 32); err != nil {
		return id, errIdentity
	} else if v > FormatVersion {
		return id, fmt.Errorf("it was written in storage format %d, this build reads formats up to %d", v, FormatVersion)
	}
	var uuid string
	var sum uint32
	var format int
	if _, err := fmt.Sscanf(string(b), identityMagic+"%d\nuuid %36s\nboot_epoch %d\nready %t\ncrc %08x\n",
		&format, &uuid, &id.bootEpoch, &id.ready, &sum); err != nil {
		return id, errIdentity
	}
	if id.uuid, err = ParseUUID(uuid); err != nil || string(id.encode()) != string(b) {
		return id, errIdentity
	}
	return id, nil
}

// readIdentity returns fs.ErrNotExist if the directory has none.
func readIdentity(fsys vfs.FS, dir string) (identity, error) {
	path := fsys.PathJoin(dir, identityFile)
	f, err := fsys.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return identity{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	id, err := decodeIdentity(b)
	if err != nil {
		return identity{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return id, nil
}

// writeIdentity replaces the file atomically and durably.
func writeIdentity(fsys vfs.FS, dir string, id identity) error {
	tmp, path := fsys.PathJoin(dir, identityTmp), fsys.PathJoin(dir, identityFile)
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write(id.encode())
		if err == nil {
			err = f.Sync()
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = fsys.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(fsys, dir)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// syncDir makes the entries of a directory durable.
func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
