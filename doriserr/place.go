package doriserr

import (
	"errors"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
)

// Place is where something could not be read, for whoever may try another one.
type Place struct {
	BackendID int64
	// TabletID is 0 if nothing could be read on the backend.
	TabletID int64
}

// placed is an error that says where. It travels with the status of an RPC.
type placed struct {
	error
	place Place
}

// Unwrap is the error itself.
func (e *placed) Unwrap() error { return e.error }

// At adds a place to an error that has none yet; nil stays nil.
func At(err error, p Place) error {
	if _, ok := PlaceOf(err); ok || err == nil {
		return err
	}
	return &placed{err, p}
}

// PlaceOf is where an error says that it happened; ok is false if it does not.
func PlaceOf(err error) (p Place, ok bool) {
	if e, found := errors.AsType[*placed](err); found {
		return e.place, true
	}
	return Place{}, false
}

// The keys of a place in the details of a status. Numbers are texts there: JSON
// numbers do not hold 64 bits.
const (
	placeBackend = "backend_id"
	placeTablet  = "tablet_id"
)

func (p Place) detail() *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		placeBackend: structpb.NewStringValue(strconv.FormatInt(p.BackendID, 10)),
		placeTablet:  structpb.NewStringValue(strconv.FormatInt(p.TabletID, 10)),
	}}
}

// placeIn finds a place among the details of a status.
func placeIn(details []any) (p Place, ok bool) {
	for _, d := range details {
		s, is := d.(*structpb.Struct)
		if !is {
			continue
		}
		backend, err := strconv.ParseInt(s.Fields[placeBackend].GetStringValue(), 10, 64)
		if err != nil {
			continue
		}
		tablet, err := strconv.ParseInt(s.Fields[placeTablet].GetStringValue(), 10, 64)
		if err != nil {
			continue
		}
		return Place{backend, tablet}, true
	}
	return Place{}, false
}
