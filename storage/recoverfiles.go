package storage

import (
	"errors"
	"slices"
)

// files compares the files on disk with those that records name: missing ones
// damage their rowset, unknown ones go to the trash.
func (rec *recovery) files() error {
	r := rec.r
	data := r.fs.PathJoin(r.path, dirData)
	if err := r.fs.MkdirAll(data, 0o755); err != nil {
		return err
	}
	if err := r.fs.MkdirAll(r.fs.PathJoin(r.path, dirTrash), 0o755); err != nil {
		return err
	}
	if err := errors.Join(syncDir(r.fs, r.path), syncDir(r.fs, data)); err != nil {
		return err
	}
	names, err := r.fs.List(data)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := rec.tabletFiles(data, name); err != nil {
			return err
		}
	}
	for id, files := range rec.named {
		for name, f := range files {
			*f.damaged = true
			r.log.Error("rowset file is missing", "root", r.path, "tablet_id", id, "file", name)
		}
	}
	return rec.holes()
}

// holes takes tablets out of service from their first damaged rowset on.
func (rec *recovery) holes() error {
	b := rec.r.db.NewBatch()
	defer b.Close()
	for _, t := range rec.e.tablets {
		if t.root != rec.r || t.droppedMs != 0 {
			continue
		}
		for rs := range t.graph.Live() {
			if !rs.Damaged || t.hole != 0 && t.hole <= rs.Start {
				continue
			}
			t.hole = rs.Start
			if err := b.Set(key(keyTablet, t.id), t.encode(), nil); err != nil {
				return err
			}
			rec.r.log.Error("tablet is out of service on this backend: a rowset is damaged",
				"tablet_id", t.id, "rowset", rs.ID.String(), "version", rs.Start, "root", rec.r.path)
		}
	}
	if b.Empty() {
		return nil
	}
	return rec.r.applySync(b)
}

// tabletFiles looks at one entry of the data directory and takes the files that
// are there out of named.
func (rec *recovery) tabletFiles(data, name string) error {
	r := rec.r
	id, ok := tabletOfDir(name)
	t := rec.e.tablets[id]
	if !ok || t == nil || t.root != r {
		return rec.e.toTrash(r, data, name, "unknown")
	}
	if t.droppedMs != 0 {
		return nil // Trash moves it as a whole
	}
	r.dirs[id] = struct{}{}
	dir := r.fs.PathJoin(data, name)
	files, err := r.fs.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, f := range files {
		if n, ok := rec.named[id][f]; ok {
			delete(rec.named[id], f)
			if err := rec.checkLength(r.fs.PathJoin(dir, f), n); err != nil {
				return err
			}
		} else if err := rec.e.toTrash(r, dir, f, "unknown-"+name); err != nil {
			return err
		}
	}
	return nil
}

func (rec *recovery) checkLength(path string, f namedFile) error {
	info, err := rec.r.fs.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() != f.bytes {
		*f.damaged = true
		rec.r.log.Error("rowset file has another length", "root", rec.r.path, "file", path, "bytes", info.Size(), "want", f.bytes)
	}
	return nil
}
