package exec

import (
	"fmt"
	"os"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// blame finds out whether an error of the engine is that of a pinned tablet: one
// of its files is gone, has another length than it was written with, or no
// Parquet marks. Such an error is Corrupt and says where; others stay as they
// are. It looks at all files.
func (e *Executor) blame(p pins, err error) error {
	if _, known := doriserr.PlaceOf(err); known || err == nil {
		return err
	}
	switch doriserr.KindOf(err) {
	case doriserr.Canceled, doriserr.Timeout, doriserr.ExceededLimit:
		return err
	}
	for _, s := range p {
		for _, f := range s.Files() {
			if bad := damage(&f); bad != nil {
				return e.failed(s.TabletID, doriserr.New(doriserr.Corrupt, "file %s: %v: %v", f.Path, bad, err))
			}
		}
	}
	return err
}

// parquetMark begins and ends every Parquet file.
const parquetMark = "PAR1"

// damage is what is wrong with a file as far as its length and marks tell, nil
// if nothing is.
func damage(f *storage.File) error {
	r, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if info.Size() != f.Bytes {
		return fmt.Errorf("it has %d bytes, not %d", info.Size(), f.Bytes)
	}
	var mark [len(parquetMark)]byte
	for _, at := range []int64{0, f.Bytes - int64(len(mark))} {
		if _, err := r.ReadAt(mark[:], at); err != nil {
			return err
		}
		if string(mark[:]) != parquetMark {
			return fmt.Errorf("no Parquet mark at offset %d", at)
		}
	}
	return nil
}
