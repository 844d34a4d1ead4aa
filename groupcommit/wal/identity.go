package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	identityFile = "IDENTITY"
	lockFile     = "LOCK"
	// identityVersion stands in the first line of the IDENTITY file. That line
	// and the checksum's stay where they are in every version.
	identityVersion = 1
)

// dir is one WAL directory.
type dir struct {
	fs   vfs.FS
	path string
	lock io.Closer
	made bool // the identity was made by this Open

	idMu sync.Mutex
	id   identity

	// used are the bytes of the files in place; room is what the last look at
	// the disk allowed them to be at most, due the time (unix ns) of the next.
	used, room, due atomic.Int64
	look            sync.Mutex
	limit           limit
}

type identity struct {
	uuid      string
	bootEpoch uint64
}

// DirInfo is a directory's identity (docs/protocol.md, rule 6).
type DirInfo struct {
	UUID      string
	Path      string
	BootEpoch uint64
	// New says that the directory had no identity before this start.
	New bool
}

// Dirs are the identities of the directories, in the order of configuration.
func (m *Manager) Dirs() []DirInfo {
	infos := make([]DirInfo, len(m.dirs))
	for i, d := range m.dirs {
		d.idMu.Lock()
		infos[i] = DirInfo{UUID: d.id.uuid, Path: d.path, BootEpoch: d.id.bootEpoch, New: d.made}
		d.idMu.Unlock()
	}
	return infos
}

// SetBootEpoch writes the boot epoch that the FSM gave to this start into every
// directory. An epoch below the stored one is refused.
func (m *Manager) SetBootEpoch(epoch uint64) error {
	for _, d := range m.dirs {
		if err := d.setBootEpoch(epoch); err != nil {
			return fmt.Errorf("cannot store boot epoch in %s: %w", d.path, err)
		}
	}
	return nil
}

func (d *dir) setBootEpoch(epoch uint64) error {
	d.idMu.Lock()
	defer d.idMu.Unlock()
	if epoch < d.id.bootEpoch {
		return fmt.Errorf("boot epoch %d is below the stored %d", epoch, d.id.bootEpoch)
	}
	id := d.id
	id.bootEpoch = epoch
	if err := writeIdentity(d.fs, d.path, id); err != nil {
		return err
	}
	d.id = id
	return nil
}

func openDir(fs vfs.FS, path string, rand io.Reader, l limit) (*dir, error) {
	path = fs.PathJoin(path) // cleaned: paths of files are compared with it
	if err := fs.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	if err := syncDir(fs, fs.PathDir(path)); err != nil {
		return nil, err
	}
	lock, err := fs.Lock(fs.PathJoin(path, lockFile))
	if err != nil {
		return nil, fmt.Errorf("another process uses it: %w", err)
	}
	d := &dir{fs: fs, path: path, lock: lock, limit: l}
	if err := d.identify(rand); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	d.lookAtDisk()
	return d, nil
}

// identify reads the identity, or makes one if the directory is empty. One that
// holds WAL files without an identity is some other volume, or half of ours.
func (d *dir) identify(rand io.Reader) error {
	id, err := readIdentity(d.fs, d.path)
	if err == nil {
		d.id = id
		return nil
	}
	if !oserror.IsNotExist(err) {
		return err
	}
	names, err := d.fs.List(d.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, isID := parseID(name); isID {
			return fmt.Errorf("it holds WAL files (%s) and no %s file", name, identityFile)
		}
	}
	if d.id.uuid, err = newUUID(rand); err != nil {
		return err
	}
	d.made = true
	return writeIdentity(d.fs, d.path, d.id)
}

func readIdentity(fs vfs.FS, dir string) (identity, error) {
	f, err := fs.Open(fs.PathJoin(dir, identityFile))
	if err != nil {
		return identity{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err := errors.Join(err, f.Close()); err != nil {
		return identity{}, err
	}
	text, sum, ok := strings.Cut(string(b), "crc32c ")
	var crc uint32
	if _, err := fmt.Sscanf(sum, "%08x\n", &crc); !ok || err != nil || crc != crc32.Checksum([]byte(text), castagnoli) {
		return identity{}, fmt.Errorf("%s file is damaged", identityFile)
	}
	var id identity
	var version int
	if n, err := fmt.Sscanf(text, "dorisgo wal directory %d\nuuid %s\nboot_epoch %d\n", &version, &id.uuid, &id.bootEpoch); n > 0 && version > identityVersion {
		return identity{}, fmt.Errorf("%w: %s has format version %d, newer than %d: start a newer dorisgo on this directory",
			ErrVersion, identityFile, version, identityVersion)
	} else if err != nil || version != identityVersion {
		return identity{}, fmt.Errorf("%s file is damaged", identityFile)
	}
	return id, nil
}

// writeIdentity replaces the file in one step, durably.
func writeIdentity(fs vfs.FS, dir string, id identity) error {
	text := fmt.Sprintf("dorisgo wal directory %d\nuuid %s\nboot_epoch %d\n", identityVersion, id.uuid, id.bootEpoch)
	text += fmt.Sprintf("crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
	path := fs.PathJoin(dir, identityFile)
	f, err := fs.Create(path+".new", category)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fs.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(fs, dir)
}

// newUUID draws a random UUID (version 4).
func newUUID(rand io.Reader) (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(rand, u[:]); err != nil {
		return "", fmt.Errorf("cannot draw a UUID: %w", err)
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}
