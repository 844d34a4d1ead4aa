package meta

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"dorisgo/rpc/metapb"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	goldenCommands = "testdata/commands-v1.txt"
	goldenSnapshot = "testdata/snapshot-v1.bin"
)

// golden compares with a checked-in file. A change of it is a change of the
// format: raise the version and keep the old file.
func golden(t *testing.T, path string, got []byte) []byte {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func TestEverySampleHasEveryCommand(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range samples() {
		seen[CommandName(c)] = true
	}
	fields := (&metapb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	for i := range fields.Len() {
		if name := string(fields.Get(i).Name()); !seen[name] {
			t.Errorf("no sample of %s", name)
		}
	}
	if fields.Len() != len(seen) {
		t.Errorf("%d kinds of commands are sampled, the log knows %d", len(seen), fields.Len())
	}
}

func TestCommandsSurviveTheLog(t *testing.T) {
	var lines strings.Builder
	for _, c := range samples() {
		data, err := EncodeCommand(c)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeCommand(data)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(c, back) {
			t.Errorf("%s: %+v became %+v", CommandName(c), c, back)
		}
		fmt.Fprintf(&lines, "%s %s\n", CommandName(c), hex.EncodeToString(data))
	}
	want := golden(t, goldenCommands, []byte(lines.String()))
	if lines.String() != string(want) {
		t.Error("commands have another form than in " + goldenCommands)
	}
	all := samples()
	for i, line := range strings.Split(strings.TrimSpace(string(want)), "\n") {
		_, text, _ := strings.Cut(line, " ")
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := DecodeCommand(data); err != nil || !reflect.DeepEqual(c, all[i]) {
			t.Errorf("line %d of %s reads as %+v, %v", i+1, goldenCommands, c, err)
		}
	}
}

func TestNewerCommandsAreRefused(t *testing.T) {
	good, err := EncodeCommand(&CreateDatabase{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	newer := func(change func(*metapb.Command)) []byte {
		p := &metapb.Command{}
		if err := proto.Unmarshal(good, p); err != nil {
			t.Fatal(err)
		}
		change(p)
		data, err := marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, data := range map[string][]byte{
		"newer version":  newer(func(p *metapb.Command) { p.Version = CommandVersion + 1 }),
		"no version":     newer(func(p *metapb.Command) { p.Version = 0 }),
		"no body":        newer(func(p *metapb.Command) { p.Body = nil }),
		"unknown type":   append(newer(func(p *metapb.Command) { p.Body = nil }), 0xc2, 0x3e, 0),
		"unknown field":  append(bytes.Clone(good), 0xc0, 0x3e, 1),
		"field in body":  newer(func(p *metapb.Command) { p.GetCreateDatabase().ProtoReflect().SetUnknown([]byte{0xc0, 0x3e, 1}) }),
		"empty log data": nil,
	} {
		if c, err := DecodeCommand(data); !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	if _, err := DecodeCommand([]byte{0xff}); err == nil || errors.Is(err, ErrUnknownCommand) {
		t.Errorf("damage: %v", err)
	}
}

func snapshotBytes(t *testing.T, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Snapshot().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSnapshotIsTheGoldenOne(t *testing.T) {
	got := snapshotBytes(t, applySamples(t))
	want := golden(t, goldenSnapshot, got)
	if !bytes.Equal(got, want) {
		t.Errorf("the same commands give another snapshot (%d bytes) than %s (%d bytes)", len(got), goldenSnapshot, len(want))
	}
	s, err := Restore(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotBytes(t, s), want) {
		t.Error("a restored state has another snapshot")
	}
	db := s.DatabaseByName("d")
	table := s.TableByName(db.ID, "t")
	if v, _ := s.PartitionVersion(table.Partitions[0].ID); v.Visible != 2 || v.Committed != 3 {
		t.Errorf("versions %+v", v)
	}
	if c := table.Columns[1]; c.UniqueID != 2 || c.Type.String() != "decimal(9,3)" || c.Default.Text != "1.5" {
		t.Errorf("column %+v", c)
	}
	if got := s.Txn(2); got == nil || got.Label != "mine" || got.State.String() != "COMMITTED" {
		t.Errorf("transaction 2: %+v", got)
	}
	if s.Clock() != 1000 || s.ClusterID() != "c1" || s.GlobalVars()["time_zone"] != "UTC" || s.Limits().LabelMax != 100 {
		t.Errorf("clock %d, cluster %s, vars %v, limits %+v", s.Clock(), s.ClusterID(), s.GlobalVars(), s.Limits())
	}
}

func TestSameCommandsGiveTheSameBytes(t *testing.T) {
	want := snapshotBytes(t, applySamples(t))
	for range 20 {
		s := New()
		for i, c := range samples() {
			data, err := EncodeCommand(c)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := DecodeCommand(data)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Apply(uint64(i)+1, decoded); err != nil && i != len(samples())-1 {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(snapshotBytes(t, s), want) {
			t.Fatal("the same commands gave another snapshot")
		}
	}
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	good := snapshotBytes(t, applySamples(t))
	for n := range good {
		if _, err := Restore(bytes.NewReader(good[:n])); err == nil {
			t.Fatalf("a snapshot cut after %d of %d bytes is accepted", n, len(good))
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if _, err := Restore(bytes.NewReader(bad)); err == nil {
			t.Fatalf("a snapshot with byte %d changed is accepted", i)
		}
	}
	bad := bytes.Clone(good)
	bad[len(snapshotMagic)] = SnapshotVersion + 1
	if _, err := Restore(bytes.NewReader(bad)); !errors.Is(err, ErrNewerSnapshot) {
		t.Errorf("a newer version: %v", err)
	}
}

func TestASnapshotIsOfOneMoment(t *testing.T) {
	s := applySamples(t)
	want := snapshotBytes(t, s)
	snap := s.Snapshot()
	for i, c := range samples() {
		_, _ = s.Apply(uint64(1000+i), c) // whatever they decide now
	}
	_, _ = s.Apply(2000, &Tick{DeltaMs: 1 << 40, Term: 9})
	var b bytes.Buffer
	if err := snap.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("later commands show in an earlier snapshot")
	}
}

func TestResultsAndObjectsTravel(t *testing.T) {
	s := applySamples(t)
	res := Result{Index: 3, ID: 4, BootEpoch: 5, Epoch: 6, Count: 7, Existed: true, Txn: s.Txn(1)}
	data, err := EncodeResult(&res)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeResult(data); err != nil || !reflect.DeepEqual(back, res) {
		t.Errorf("result %+v became %+v, %v", res, back, err)
	}
	table := s.TableByName(s.DatabaseByName("d").ID, "t")
	travel(t, table, EncodeTable, DecodeTable)
	travel(t, s.Backends()[0], EncodeBackend, DecodeBackend)
	travel(t, s.Frontends()[0], EncodeFrontend, DecodeFrontend)
	travel(t, s.User("u"), EncodeUser, DecodeUser)
	travel(t, s.Databases()[0], EncodeDatabase, DecodeDatabase)
	travel(t, s.Txn(2), EncodeTxn, DecodeTxn)
}

func travel[T any](t *testing.T, v T, enc func(T) ([]byte, error), dec func([]byte) (T, error)) {
	t.Helper()
	data, err := enc(v)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := dec(data); err != nil || !reflect.DeepEqual(back, v) {
		t.Errorf("%+v became %+v, %v", v, back, err)
	}
}
