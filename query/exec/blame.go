package exec

import (
	"context"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// blame finds out whether an error of the engine is that of a pinned tablet: one
// of its files is gone, or not as it was written. Such an error is Corrupt and
// says where, so that another replica is read, and the replica here is out of
// service until it was cloned. Others stay as they are.
func (e *Executor) blame(ctx context.Context, p pins, err error) error {
	if _, known := doriserr.PlaceOf(err); known || err == nil {
		return err
	}
	switch doriserr.KindOf(err) {
	case doriserr.Canceled, doriserr.Timeout, doriserr.ExceededLimit:
		return err
	}
	for _, s := range p {
		for _, f := range s.Files() {
			if !suspect(err, &f) {
				continue
			}
			if bad := s.CheckFile(ctx, f.Path); bad != nil {
				return e.failed(s.TabletID, doriserr.New(doriserr.Corrupt, "file %s: %v: %v", f.Path, bad, err))
			}
		}
	}
	return err
}

// suspect reports whether an error may come from reading a file: files are read
// through for that, and most errors are those of statements. The engine names the
// file in some errors of its reader; the others, of bytes that make no sense, are
// of no class that a statement causes.
func suspect(err error, f *storage.File) bool {
	return doriserr.Is(err, doriserr.Internal) || strings.Contains(err.Error(), f.Path)
}
