package instances

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/storage"
)

var patient = faults.Patient{Name: "MARK^NAME", ID: "MARKID", Accession: "MARKACC"}

type rig struct {
	*Store
	t             *testing.T
	spool, target *storage.Bucket
}

func newRig(t *testing.T, opts *Options) *rig {
	t.Helper()
	buckets := storage.NewBuckets()
	t.Cleanup(func() { buckets.Close() })
	r := &rig{t: t}
	for to, name := range map[**storage.Bucket]string{&r.spool: "spool", &r.target: "target"} {
		b, err := buckets.Open(t.Context(), t.TempDir()+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		*to = b
	}
	r.open(opts)
	return r
}

func (r *rig) open(opts *Options) {
	r.t.Helper()
	var err error
	if r.Store, err = Open(r.t.Context(), r.spool, r.target, opts); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.Store.Close() })
}

func (r *rig) send(data []byte) (Receipt, error) {
	return r.Receive(r.t.Context(), Sender{Protocol: "stow", Peer: "127.0.0.1"}, bytes.NewReader(data), Expect{})
}

// all are the objects of a bucket under a prefix, by key.
func all(t *testing.T, b *storage.Bucket, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := storage.Walk(t.Context(), b, &storage.WalkOptions{Prefix: prefix}, func(p storage.Page) error {
		for _, o := range p.Objects {
			got, err := storage.Get(t.Context(), b, o.Key, -1, nil)
			if err != nil {
				return err
			}
			out[o.Key] = string(got.Data)
		}
		return nil
	})
	if err != nil && !storage.IsNotExist(err) {
		t.Fatal(err)
	}
	return out
}

// lines are those of the audit trail.
func (r *rig) lines() (lines []Line) {
	r.t.Helper()
	for _, text := range all(r.t, r.target, auditDir) {
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			var l Line
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				r.t.Fatalf("%q: %v", line, err)
			}
			lines = append(lines, l)
		}
	}
	return lines
}

func (r *rig) outcomes() (out []string) {
	for _, l := range r.lines() {
		out = append(out, strings.TrimSuffix(l.Outcome+" "+l.Reason, " "))
	}
	return out
}

func TestInstancesAreKeptByTheirIdentity(t *testing.T) {
	r := newRig(t, nil)
	a, b := faults.NewInstance(1, 0, 8, 8, patient), faults.NewInstance(1, 1, 8, 8, patient)
	other := bytes.Clone(a.Data)
	other[len(other)-1] ^= 1
	again := bytes.Clone(a.Data)
	again[0] = 'x' // of the preamble: the data set is the same
	for i, c := range []struct {
		data []byte
		want Outcome
	}{{a.Data, Stored}, {b.Data, Stored}, {a.Data, Duplicate}, {again, Duplicate}, {other, Conflict}, {other, Duplicate}, {a.Data, Duplicate}} {
		rec, err := r.send(c.data)
		if err != nil || rec.Outcome != c.want {
			t.Fatalf("%d: %q, %v; want %q", i, rec.Outcome, err, c.want)
		}
		if rec.Outcome == Stored && (rec.Instance == "" || rec.Class != faults.MRImageStorage || rec.Key == "") {
			t.Errorf("%d: %+v", i, rec)
		}
	}
	spool := all(t, r.spool, "")
	if got := slices.Sorted(maps.Values(spool)); !slices.Equal(got, slices.Sorted(slices.Values([]string{string(a.Data), string(b.Data)}))) {
		t.Errorf("%d objects in the spool", len(got))
	}
	seriesA, ok := Series(slices.Sorted(maps.Keys(spool))[0])
	seriesB, _ := Series(slices.Sorted(maps.Keys(spool))[1])
	if !ok || seriesA != seriesB {
		t.Errorf("series %q and %q of %v", seriesA, seriesB, slices.Collect(maps.Keys(spool)))
	}
	held := all(t, r.target, Quarantine)
	if len(held) != 2 || !slices.Contains(slices.Collect(maps.Values(held)), string(other)) {
		t.Errorf("%d objects in quarantine", len(held))
	}
	if got, want := r.outcomes(), []string{"stored", "stored", "duplicate", "duplicate", "conflict", "duplicate", "duplicate"}; !slices.Equal(got, want) {
		t.Errorf("audit trail: %q", got)
	}
	for where, texts := range map[string]map[string]string{"spool": spool, "target": all(t, r.target, root)} {
		for key, text := range texts {
			for _, mark := range []string{"MARK", a.UID, a.Series, a.Study} {
				if strings.Contains(key, mark) || strings.Contains(text, mark) && !strings.HasSuffix(key, ".dcm") {
					t.Errorf("%s: %s has %q", where, key, mark)
				}
			}
		}
	}
}

func TestWhatIsNoInstanceIsRefusedAndKept(t *testing.T) {
	r := newRig(t, &Options{MostBytes: 2 << 20})
	a := faults.NewInstance(1, 0, 8, 8, patient)
	for i, c := range []struct {
		data   []byte
		expect Expect
		want   error
	}{
		{[]byte("GIF89a"), Expect{}, ErrNotDICOM},
		{nil, Expect{}, ErrNotDICOM},
		{a.Data[:a.Dataset+20], Expect{}, ErrBroken},
		{a.Data, Expect{Study: "1.2.3"}, ErrOther},
		{make([]byte, 2<<20+1), Expect{}, ErrTooLarge},
	} {
		rec, err := r.Receive(t.Context(), Sender{}, bytes.NewReader(c.data), c.expect)
		if !errors.Is(err, c.want) || rec.Outcome != Refused {
			t.Errorf("%d: %q, %v; want %v", i, rec.Outcome, err, c.want)
		}
	}
	broken := errors.New("connection")
	if _, err := r.Receive(t.Context(), Sender{}, io.MultiReader(bytes.NewReader(a.Data[:600]), errReader{broken}), Expect{}); !errors.Is(err, broken) {
		t.Errorf("a sender that stops: %v", err)
	}
	if n := len(all(t, r.spool, "")); n != 0 {
		t.Errorf("%d objects in the spool", n)
	}
	held := all(t, r.target, Quarantine)
	if len(held) != 2*4 {
		t.Errorf("quarantine: %q", slices.Collect(maps.Keys(held)))
	}
	if got, want := r.outcomes(), []string{"refused not-dicom", "refused not-dicom", "refused truncated", "refused other", "refused too-large", "refused sender-stopped"}; !slices.Equal(got, want) {
		t.Errorf("audit trail: %q", got)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// Instances larger than what is staged in memory take the other way and end the same.
func TestLargeInstancesAreStagedInFiles(t *testing.T) {
	r := newRig(t, nil)
	for _, w := range []int{inMemory/2/64 - 8, inMemory / 2 / 64, 3 * inMemory / 2 / 64} {
		a := faults.NewInstance(uint64(w), 0, w, 64, patient)
		rec, err := r.send(a.Data)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, r.spool, rec.Key)[rec.Key]; got != string(a.Data) {
			t.Errorf("%d bytes stored, want %d", len(got), len(a.Data))
		}
		if rec, err = r.send(a.Data); rec.Outcome != Duplicate {
			t.Errorf("again: %v, %v", rec.Outcome, err)
		}
	}
}

func TestBudgetIsKept(t *testing.T) {
	a := faults.NewInstance(1, 0, 64, 64, patient)
	n := int64(len(a.Data))
	r := newRig(t, &Options{Budget: 3*n + n/2})
	stored := 0
	for i := range 6 {
		rec, err := r.send(faults.NewInstance(1, i, 64, 64, patient).Data)
		if rec.Outcome == Stored {
			stored++
		} else if !errors.Is(err, ErrFull) {
			t.Errorf("%d: %q, %v", i, rec.Outcome, err)
		}
	}
	if stored != 3 || r.Room(n) || !r.Room(100) || r.budget.reserved != 0 {
		t.Errorf("%d stored of %d bytes, room %v %v, %d reserved", stored, r.Used(), r.Room(n), r.Room(100), r.budget.reserved)
	}
	// A store that is opened again knows what it keeps; a removal makes room.
	r.open(&r.opts)
	if r.Room(n) {
		t.Error("room after opening again")
	}
	for key := range all(t, r.spool, received) {
		if err := storage.Delete(t.Context(), r.spool, key); err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := r.Count(t.Context()); err != nil || !r.Room(n) {
		t.Errorf("no room after a removal: %v", err)
	}
	free := int64(0)
	r.open(&Options{Floor: 1000, Free: func() int64 { return free }})
	if free = 1000 + n - 1; r.Room(n) {
		t.Error("room where the disk has none")
	}
	if free = 1000 + n; !r.Room(n) {
		t.Error("no room where the disk has some")
	}
}

// Many senders of the same and of other instances at once: each is there once.
func TestSendersAtOnce(t *testing.T) {
	r := newRig(t, nil)
	const different, senders = 10, 8
	outcomes := map[Outcome]int{}
	var mu sync.Mutex
	var sending sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for i := range different {
				rec, err := r.send(faults.NewInstance(2, i, 8, 8, patient).Data)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				outcomes[rec.Outcome]++
				mu.Unlock()
			}
		})
	}
	sending.Wait()
	if outcomes[Stored] != different || outcomes[Duplicate] != different*(senders-1) {
		t.Errorf("%v", outcomes)
	}
	if n := len(all(t, r.spool, received)); n != different {
		t.Errorf("%d objects", n)
	}
	if n := len(r.lines()); n != different*senders {
		t.Errorf("%d lines", n)
	}
}

// In a store without folders the trail is objects; a line that was cut in a folder is ended first.
func TestAuditTrailIsWholeLines(t *testing.T) {
	r := newRig(t, nil)
	r.Note(Line{Action: "a"})
	if err := storage.Append(t.Context(), r.target, auditKey(), []byte(`{"cut`)); err != nil {
		t.Fatal(err)
	}
	r.open(nil)
	r.Note(Line{Action: "b"})
	text := all(t, r.target, auditDir)[auditKey()]
	if lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n"); len(lines) != 3 || lines[1] != `{"cut` {
		t.Errorf("%q", lines)
	}
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), "mem://audit")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), b, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.Note(Line{Action: fmt.Sprint(i)})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	objects := all(t, b, auditDir)
	if len(objects) != 1 || strings.Count(strings.Join(slices.Collect(maps.Values(objects)), ""), "\n") != 5 {
		t.Errorf("%v", objects)
	}
}

func TestStoredInstancesAreCommitted(t *testing.T) {
	r := newRig(t, nil)
	a := faults.NewInstance(1, 0, 8, 8, patient)
	rec, err := r.send(a.Data)
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[string]bool{a.UID: true, a.UID + "1": false, "": false} {
		class, ok, err := r.Committed(t.Context(), uid)
		if err != nil || ok != want || ok && class != faults.MRImageStorage {
			t.Errorf("%q: %q %v %v", uid, class, ok, err)
		}
	}
	// Bytes that have rotted are neither committed nor taken for the instance that comes again.
	bad := bytes.Clone(a.Data)
	bad[len(bad)-1] ^= 1
	if _, err := storage.Put(t.Context(), r.spool, rec.Key, bad, &storage.PutOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Committed(t.Context(), a.UID); ok || !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged: %v, %v", ok, err)
	}
	if _, err := r.send(a.Data); !errors.Is(err, ErrDamaged) {
		t.Errorf("sent again: %v", err)
	}
}

func TestKeyOfHashesStays(t *testing.T) {
	r := newRig(t, nil)
	before := r.Hash("instance", "1.2.3")
	r.open(nil)
	if after := r.Hash("instance", "1.2.3"); before != after || before == newRig(t, nil).Hash("instance", "1.2.3") || before == r.Hash("series", "1.2.3") {
		t.Errorf("%s, %s", before, after)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(faults.NewInstance(1, 0, 2, 2, patient).Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHeader(bytes.NewReader(data))
		if err == nil && (h.instance == "" || h.class == "" || h.syntax == "" || h.dataset > int64(len(data))) {
			t.Errorf("%+v", h)
		}
	})
}

func TestWhatIsCounted(t *testing.T) {
	a, b := faults.NewInstance(1, 0, 8, 8, patient), faults.NewInstance(1, 1, 64, 64, patient)
	r := newRig(t, &Options{Budget: 3 * int64(len(a.Data))})
	other := bytes.Clone(a.Data)
	other[len(other)-1] ^= 1
	for _, data := range [][]byte{a.Data, a.Data, other, []byte("x"), b.Data} {
		r.send(data)
	}
	r.NoRoom(Sender{Protocol: "stow"})
	registry := prometheus.NewRegistry()
	registry.MustRegister(r.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue(); v > 0 {
				got[name] = v
			}
		}
	}
	want := map[string]float64{
		"pelmill_intake_instances_total stored stow ": 1, "pelmill_intake_instances_total duplicate stow ": 1, "pelmill_intake_instances_total conflict stow ": 1,
		"pelmill_intake_instances_total refused stow not-dicom": 1, "pelmill_intake_instances_total refused stow full": 2,
		"pelmill_intake_quarantined_total conflict": 1, "pelmill_intake_quarantined_total not-dicom": 1,
		"pelmill_intake_instance_bytes_total stow": float64(len(a.Data)), "pelmill_intake_spool_bytes": float64(2*len(a.Data) + 1), "pelmill_intake_spool_limit_bytes": float64(3 * len(a.Data)),
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
