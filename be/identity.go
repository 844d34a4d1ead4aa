package be

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// identityFile is in every storage root: who this BE is and which cluster it
// belongs to (docs/protocol.md, rule 6). The roots have identities of their own
// beside it.
const identityFile = "BACKEND"

// identityVersion is the newest form of the file.
const identityVersion = 1

// identity is the file's content, as JSON.
type identity struct {
	Version   int    `json:"version"`
	UUID      string `json:"uuid"`
	ClusterID string `json:"cluster_id,omitempty"`
	MetaEpoch uint64 `json:"meta_epoch,omitempty"`
}

// readIdentity finds this BE's identity in its roots; one that no root has is
// made. Roots that disagree stop the start.
func readIdentity(fsys vfs.FS, roots []string) (identity, error) {
	var id identity
	var from string
	for _, root := range roots {
		path := fsys.PathJoin(root, identityFile)
		got, err := readIdentityFile(fsys, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return identity{}, err
		}
		if from != "" && (got.UUID != id.UUID || got.ClusterID != "" && id.ClusterID != "" && got.ClusterID != id.ClusterID) {
			return identity{}, fmt.Errorf("%s belongs to backend %s of cluster %q, %s to backend %s of cluster %q: these directories are not of one backend",
				from, id.UUID, id.ClusterID, path, got.UUID, got.ClusterID)
		}
		if from == "" || id.ClusterID == "" {
			id = got
		}
		from = path
	}
	if from == "" {
		var b [16]byte
		if _, err := rand.Read(b[:]); err != nil {
			return identity{}, fmt.Errorf("cannot make this backend's UUID: %w", err)
		}
		id = identity{Version: identityVersion, UUID: hex.EncodeToString(b[:])}
	}
	return id, nil
}

func readIdentityFile(fsys vfs.FS, path string) (id identity, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return id, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return id, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err := json.Unmarshal(b, &id); err != nil || id.UUID == "" {
		return id, fmt.Errorf("%s is damaged: it should hold this backend's identity as JSON, and holds %q", path, strings.TrimSpace(string(b)))
	}
	if id.Version > identityVersion {
		return id, fmt.Errorf("%s has format version %d, newer than %d: start a newer dorisgo on these directories", path, id.Version, identityVersion)
	}
	return id, nil
}

// writeIdentity puts the identity into every root, durably.
func writeIdentity(fsys vfs.FS, roots []string, id identity) error {
	b, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("cannot encode this backend's identity: %w", err)
	}
	for _, root := range roots {
		path := fsys.PathJoin(root, identityFile)
		if got, err := readIdentityFile(fsys, path); err == nil && got == id {
			continue
		}
		if err := writeFile(fsys, root, path, append(b, '\n')); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
	}
	return nil
}

func writeFile(fsys vfs.FS, dir, path string, b []byte) error {
	tmp := path + ".tmp"
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, path); err != nil {
		return err
	}
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
