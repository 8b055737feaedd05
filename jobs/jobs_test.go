package jobs

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func valid() Spec {
	s := Spec{ID: NewID(time.Now()), Source: "file:///in", Target: "file:///out", Codec: "vq"}
	s.Defaults()
	return s
}

func TestIDsSortByTimeAndAreValid(t *testing.T) {
	early := NewID(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	late := NewID(time.Date(2026, 1, 2, 3, 4, 6, 0, time.FixedZone("behind", -3600)))
	if !strings.HasPrefix(early, "20260102-030405-") || early >= late {
		t.Errorf("%q, %q: want UTC times in order", early, late)
	}
	for _, id := range []string{early, late} {
		if !ValidID(id) {
			t.Errorf("%q is not valid", id)
		}
	}
	for ms := range 999 {
		at := time.Date(2026, 1, 2, 3, 4, 5, ms*1e6, time.UTC)
		if a, b := NewID(at), NewID(at.Add(time.Millisecond)); a >= b || !ValidID(a) {
			t.Fatalf("%q, a millisecond later %q: want them in order", a, b)
		}
	}
	for _, id := range []string{"", "x", "20260102-030405-AAAA", "20260102-030405-aaaa/..", "../../etc/passwd"} {
		if ValidID(id) {
			t.Errorf("%q is valid", id)
		}
	}
}

func TestSpecCheckNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) {}, ""},
		{func(s *Spec) { s.ID = "7" }, "id"},
		{func(s *Spec) { s.Source = "" }, "source"},
		{func(s *Spec) { s.Codec = "" }, "codec"},
		{func(s *Spec) { s.Verify = "sample:0.25" }, ""},
		{func(s *Spec) { s.Verify = "sample:1.5" }, "sample:1.5"},
		{func(s *Spec) { s.Verify = "some" }, "some"},
		{func(s *Spec) { s.Larger = "store" }, "store"},
		{func(s *Spec) { s.Larger, s.Target = "copy", s.Source }, "the same"},
		{func(s *Spec) { s.Priority = 4 }, "priority 4"},
		{func(s *Spec) { s.ChunkObjects = 1001 }, "1001"},
		{func(s *Spec) { s.FailRatio = 1.1 }, "1.1"},
		{func(s *Spec) { s.Filter = Filter{MinSize: 2, MaxSize: 1} }, "minimum size 2"},
		{func(s *Spec) { s.Hours = "25:00-01:00" }, "25:00-01:00"},
	} {
		s := valid()
		c.change(&s)
		err := s.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestHoursOpen(t *testing.T) {
	at := func(h, m int) time.Time { return time.Date(2026, 1, 1, h, m, 0, 0, time.UTC) }
	for _, c := range []struct {
		hours string
		h, m  int
		open  bool
	}{
		{"", 12, 0, true},
		{"09:00-17:30", 8, 59, false}, {"09:00-17:30", 9, 0, true}, {"09:00-17:30", 17, 29, true}, {"09:00-17:30", 17, 30, false},
		{"22:00-06:00", 21, 59, false}, {"22:00-06:00", 22, 0, true}, {"22:00-06:00", 0, 0, true}, {"22:00-06:00", 5, 59, true}, {"22:00-06:00", 6, 0, false},
		{"00:00-24:00", 23, 59, true},
	} {
		h, err := ParseHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Open(at(c.h, c.m)); got != c.open {
			t.Errorf("%q at %02d:%02d: open is %v, want %v", c.hours, c.h, c.m, got, c.open)
		}
	}
	for _, s := range []string{"1-2", "9:00-17:00", "09:00", "09:00-09:00", "24:00-01:00", "09:60-10:00", "00:00-24:01", "09:00-17:00x"} {
		if _, err := ParseHours(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestTargetKeyReplacesTheExtension(t *testing.T) {
	for _, c := range []struct{ key, target, want string }{
		{"a.png", "", "a.vq"},
		{"dir.d/a.tar.gz", "", "dir.d/a.tar.vq"},
		{"dir.d/a", "", "dir.d/a.vq"},
		{"dir/.hidden", "", "dir/.hidden.vq"},
		{"dir/.hidden.png", "", "dir/.hidden.vq"},
		{"a.png", "a.png.vq", "a.png.vq"},
	} {
		if got := (Entry{Key: c.key, Target: c.target}).TargetKey(".vq"); got != c.want {
			t.Errorf("%q: %q, want %q", c.key, got, c.want)
		}
	}
}

func TestFingerprintCoversWhatChangesTheBytes(t *testing.T) {
	base, e := valid(), Entry{Key: "a", Size: 1, ETag: "x"}
	same := base
	same.ID, same.Target, same.Verify, same.Priority = NewID(time.Now()), "file:///b", "off", 3
	if base.Fingerprint(e) != same.Fingerprint(e) {
		t.Error("the fingerprint depends on what does not change the bytes")
	}
	seen := map[string]bool{base.Fingerprint(e): true}
	for _, change := range []func(*Spec, *Entry){
		func(s *Spec, _ *Entry) { s.Codec = "webp" },
		func(s *Spec, _ *Entry) { s.Version++ },
		func(s *Spec, _ *Entry) { s.Options = "n=2" },
		func(_ *Spec, e *Entry) { e.Size++ },
		func(_ *Spec, e *Entry) { e.ETag = "y" },
	} {
		s, f := base, e
		change(&s, &f)
		if fp := s.Fingerprint(f); seen[fp] || len(fp) != 32 {
			t.Errorf("fingerprint %q stands twice or has not 32 digits", fp)
		} else {
			seen[fp] = true
		}
	}
}

func TestCountsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var all, left, right Counts
	for i := range 500 {
		r := Result{Outcome: Outcomes[rng.IntN(len(Outcomes))], Size: rng.Int64N(100), RawBytes: rng.Int64N(100), TargetSize: rng.Int64N(100)}
		if rng.IntN(2) == 0 {
			r.Class = ClassVerify
		}
		all.Add(&r)
		if i%3 == 0 {
			left.Add(&r)
		} else {
			right.Add(&r)
		}
	}
	left.Plus(right)
	if left != all {
		t.Errorf("parts give %+v, the whole %+v", left, all)
	}
	if sum := all.Compressed + all.Kept + all.Skipped + all.Unsupported + all.Rejected + all.Failed; sum != all.Objects || sum != 500 {
		t.Errorf("outcomes add up to %d of %d", sum, all.Objects)
	}
	if all.Mismatched == 0 || all.Mismatched > all.Failed {
		t.Errorf("%d mismatched of %d failed", all.Mismatched, all.Failed)
	}
}

func TestFieldsNameEveryCounterAsJSONDoes(t *testing.T) {
	var c Counts
	for i, f := range c.Fields() {
		*f.Value = int64(i + 1)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if len(m) != len(c.Fields()) || len(m) != reflect.TypeFor[Counts]().NumField() {
		t.Fatalf("%d fields, JSON has %d", len(c.Fields()), len(m))
	}
	for i, f := range c.Fields() {
		if m[f.Name] != int64(i+1) {
			t.Errorf("field %q is %d in JSON, want %d", f.Name, m[f.Name], i+1)
		}
	}
}

func TestNames(t *testing.T) {
	const id = "20260102-030405-abcd"
	for _, n := range []int{0, 7, 999_999, 1_000_000} {
		if got, ok := ParseResultKey(ResultKey(id, n)); !ok || got != n {
			t.Errorf("chunk %d comes back as %d, %v", n, got, ok)
		}
	}
	for _, key := range []string{"", "results/", ResultsDir(id) + "x.jsonl.zst", ResultsDir(id) + "-1.jsonl.zst", SpecKey(id)} {
		if n, ok := ParseResultKey(key); ok {
			t.Errorf("%q is chunk %d", key, n)
		}
	}
	if got := (Task{Job: id, Index: 12}).ID(); got != id+":12" {
		t.Errorf("task id %q", got)
	}
}
