package raftfsm

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a data directory (docs/format/fe-dir.md).
const (
	identityFile  = "identity.json"
	logFile       = "raft.db"
	formatVersion = 1
)

// identity is what a directory remembers of itself: who it is, never by name
// or address, and which cluster it belongs to (docs/protocol.md, rule 6).
type identity struct {
	Format   int    `json:"format"`
	ServerID string `json:"server_id"`
	// ClusterID is empty until the node learns it.
	ClusterID string `json:"cluster_id,omitempty"`
	// Started is set once the log exists: a later start without it is a
	// damaged directory, not a new one.
	Started bool `json:"started"`
}

// openIdentity reads a directory's identity, or makes one for an empty
// directory. It refuses another cluster's directory, a newer format, and one
// whose log is gone.
func openIdentity(dir, clusterID string) (*identity, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("cannot make data directory: %w", err)
	}
	path := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, logFile)); err == nil {
			return nil, fmt.Errorf("data directory %q has a log but no %s: it is damaged; restore it, or let the node join as a new one from an empty directory", dir, identityFile)
		}
		id := &identity{Format: formatVersion, ServerID: newUUID(), ClusterID: clusterID}
		return id, id.save(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	id := &identity{}
	if err := json.Unmarshal(data, id); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return id, id.check(dir, clusterID)
}

func (id *identity) check(dir, clusterID string) error {
	switch {
	case id.Format > formatVersion:
		return fmt.Errorf("data directory %q has format %d, this build knows up to %d: start a newer build", dir, id.Format, formatVersion)
	case id.Format < 1 || id.ServerID == "":
		return fmt.Errorf("data directory %q: %s names no format or server id", dir, identityFile)
	case clusterID != "" && id.ClusterID != "" && clusterID != id.ClusterID:
		return fmt.Errorf("data directory %q belongs to cluster %s, not %s", dir, id.ClusterID, clusterID)
	}
	if _, err := os.Stat(filepath.Join(dir, logFile)); id.Started && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("data directory %q has lost its log %s: restore it, or let the node join as a new one from an empty directory", dir, logFile)
	}
	return nil
}

// save writes the identity so that a crash leaves the old one or the new one.
func (id *identity) save(dir string) error {
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode identity: %w", err)
	}
	path := filepath.Join(dir, identityFile)
	f, err := os.CreateTemp(dir, identityFile+".tmp*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot write %s: %w", path, err), removeIfThere(f.Name()))
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// newUUID is a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: package crypto/rand ends the process instead
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
