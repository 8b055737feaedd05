package jobs

import (
	"encoding/json"
	"math/rand/v2"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs/class"
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

func TestNoIDIsGivenTwice(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	seen := map[string]bool{}
	for range 2000 {
		id := NewID(at)
		if seen[id] || !ValidID(id) || !strings.HasPrefix(id, "20260102-030405-") {
			t.Fatalf("%q after %d others", id, len(seen))
		}
		seen[id] = true
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
		h, err := parseHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.open(at(c.h, c.m)); got != c.open {
			t.Errorf("%q at %02d:%02d: open is %v, want %v", c.hours, c.h, c.m, got, c.open)
		}
	}
	for _, s := range []string{"1-2", "9:00-17:00", "09:00", "09:00-09:00", "24:00-01:00", "09:60-10:00", "00:00-24:01", "09:00-17:00x"} {
		if _, err := parseHours(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestTargetKeyFollowsFromTheKey(t *testing.T) {
	for _, c := range []struct {
		key  string
		full bool
		told string
		want string
	}{
		{"a.png", false, "", "a.vq"},
		{"dir.d/a.tar.gz", false, "", "dir.d/a.tar.gz.vq"},
		{"dir.d/a.nii.gz", false, "", "dir.d/a.vq"},
		{"dir.d/.nii.gz", false, "", "dir.d/.nii.gz.vq"},
		{"a.PNG", false, "", "a.vq"},
		{"a.png.jpg", false, "", "a.png.vq"},
		{"1.2.840.113619.5", false, "", "1.2.840.113619.5.vq"},
		{"1.2.840.113619.5.dcm", false, "", "1.2.840.113619.5.vq"},
		{"1.2.840.113619.5", false, "1.2.840.113619.vq", "1.2.840.113619.vq"}, // by a plan of an earlier version
		{"a.png/b", false, "", "a.png/b.vq"},
		{"dir.d/a", false, "", "dir.d/a.vq"},
		{"dir/.hidden", false, "", "dir/.hidden.vq"},
		{"dir/.hidden.png", false, "", "dir/.hidden.vq"},
		{"a.png", true, "", "a.png.vq"},
		{"a.png", false, "a.png.vq", "a.png.vq"},
		{"a.png", false, "a.vq", "a.vq"},
	} {
		e := Entry{Key: c.key, Full: c.full, PlannedTarget: c.told}
		if got := e.TargetKey(".vq"); got != c.want {
			t.Errorf("%+v: %q, want %q", e, got, c.want)
		}
		if err := e.Check(".vq"); err != nil {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

func TestEntriesThatNoPlanHas(t *testing.T) {
	const job = ".pelmill/jobs/20260102-030405-abcd/spec.json"
	for _, e := range []Entry{
		{Key: "a.png", PlannedTarget: "b.vq"}, {Key: "a.png", PlannedTarget: job}, {Key: "a.png", PlannedTarget: "../x"}, {Key: "a.png", Full: true, PlannedTarget: "a.vq"},
		{Key: ""}, {Key: "/etc/passwd"}, {Key: "../x"}, {Key: "a/../../x"}, {Key: "a/./b.png"}, {Key: ".."}, {Key: "a\x00.png"},
		{Key: job}, {Key: ".pelmill"}, {Key: "sub/.pelmill/jobs/x/plan.json"}, {Key: ".Pelmill/assets/x.png"},
		{Key: "\u201b2Epelmill/jobs/x/spec.json"}, {Key: "\u201b2E\u201b2E/x.png"}, {Key: "a\u201b2Fb.png"},
	} {
		if err := e.Check(".vq"); err == nil {
			t.Errorf("%+v is allowed, as %q", e, e.TargetKey(".vq"))
		}
	}
	for _, key := range []string{"a.png", "a//b.png", "...png", "a..b/c", ".pelmill.png", "pelmill/a", "x.pelmill/a", "\u201bFF.png", "\u201b\u201b2E.png", "a\u201b"} {
		if err := (Entry{Key: key}).Check(".vq"); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestChunksThatNoPlanHas(t *testing.T) {
	good := Chunk{Part: 1, Offset: 7, Length: 100, Objects: 1000, Bytes: 1 << 40}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Chunk){
		func(c *Chunk) { c.Part = -1 }, func(c *Chunk) { c.Offset = -1 }, func(c *Chunk) { c.Bytes = -1 },
		func(c *Chunk) { c.Length = 0 }, func(c *Chunk) { c.Length = 1 << 40 },
		func(c *Chunk) { c.Objects = 0 }, func(c *Chunk) { c.Objects = MaxChunkObjects + 1 },
	} {
		c := good
		change(&c)
		if c.Check() == nil {
			t.Errorf("%+v is allowed", c)
		}
	}
}

func TestParseTaskTakesAJobAndAChunkOnly(t *testing.T) {
	const id = "20260102-030405-abcd"
	for payload, want := range map[string]Task{
		`{"j":"` + id + `","i":7}`:                                     {id, 7},
		`{"j":"` + id + `","i":7,"c":{"p":1,"o":9,"l":9,"n":9,"b":9}}`: {id, 7},
	} {
		if got, err := ParseTask([]byte(payload)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", payload, got, err)
		}
	}
	for _, payload := range []string{``, `null`, `[]`, `{}`, `{"j":"../x","i":0}`, `{"j":"` + id + `","i":-1}`, `{"j":"` + id + `","i":1e9}`,
		`{"j":"` + id + `","i":0,"x":"` + strings.Repeat("x", maxTask) + `"}`} {
		if got, err := ParseTask([]byte(payload)); err == nil {
			t.Errorf("%.80s: %+v", payload, got)
		}
	}
}

// FuzzParseTask looks for payloads that name what could not be a key or a chunk.
func FuzzParseTask(f *testing.F) {
	f.Add([]byte(`{"j":"20260102-030405-abcd","i":7}`))
	f.Add([]byte(`{"j":"20260102-030405-abcd","i":0,"c":{"p":1,"o":2,"l":3,"n":4,"b":5}}`))
	f.Add([]byte(`{"J":"x","i":-1}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		task, err := ParseTask(payload)
		if err == nil && (!ValidID(task.Job) || task.Index < 0 || task.Index >= MaxChunks || strings.Count(task.ID(), ":") != 1) {
			t.Errorf("%q is task %+v", payload, task)
		}
	})
}

// FuzzEntryTarget looks for entries whose result could leave the target or get
// among pelmill's own objects.
func FuzzEntryTarget(f *testing.F) {
	f.Add("a.png", "", false)
	f.Add("a.png", "../x", true)
	f.Add(".pelmill/x", "", false)
	f.Add("a/../b", "a/../b.vq", false)
	f.Fuzz(func(t *testing.T, key, told string, full bool) {
		e := Entry{Key: key, PlannedTarget: told, Full: full}
		if e.Check(".vq") != nil {
			return
		}
		to := e.TargetKey(".vq")
		if !strings.HasSuffix(to, ".vq") || strings.HasPrefix(to, "/") || path.Clean(to) != strings.TrimSuffix(to, "/") && !strings.Contains(to, "//") ||
			strings.Contains("/"+strings.ToLower(to), "/"+Root) || strings.HasPrefix(path.Clean(to), "..") && strings.HasPrefix(path.Clean(to)+"/", "../") {
			t.Errorf("%+v goes to %q", e, to)
		}
	})
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
		r := Result{Outcome: outcomes[rng.IntN(len(outcomes))], Size: rng.Int64N(100), RawBytes: rng.Int64N(100), TargetSize: rng.Int64N(100)}
		if rng.IntN(2) == 0 {
			r.Class = class.Verify
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

// Results that do not say whether a second decoder read them, as those of earlier versions and of codecs without one, are in
// neither number of the share, and so is what is not in the target.
func TestTheSecondDecodersShare(t *testing.T) {
	agreed := Result{Outcome: OutcomeCompressed, SecondDecoder: "agreed"}
	leftOut := Result{Outcome: OutcomeCompressed, SecondDecoder: "left out"}
	failed := Result{Outcome: OutcomeFailed, SecondDecoder: "agreed"}
	silent := Result{Outcome: OutcomeCompressed}
	var sums, other Sums
	for _, r := range []Result{agreed, leftOut, leftOut, failed, silent} {
		sums.Add(&r)
	}
	other.Add(&agreed)
	sums.Plus(&other)
	if want := (SecondDecoder{Checked: 2, Of: 4}); sums.SecondDecoder != want {
		t.Errorf("the share is %+v, want %+v", sums.SecondDecoder, want)
	}
	line, err := json.Marshal(Sums{})
	if err != nil || string(line) != "{}" {
		t.Errorf("sums of nothing are %s (%v)", line, err)
	}
}

func TestFieldsNameEveryCounterAsJSONDoes(t *testing.T) {
	var c Counts
	n := int64(0)
	for _, value := range c.Fields() {
		n++
		*value = n
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if len(m) != int(n) || len(m) != reflect.TypeFor[Counts]().NumField() {
		t.Fatalf("%d fields, JSON has %d", int(n), len(m))
	}
	for name, value := range c.Fields() {
		if m[name] != *value {
			t.Errorf("field %q is %d in JSON, want %d", name, m[name], *value)
		}
	}
}

func TestNames(t *testing.T) {
	const id = "20260102-030405-abcd"
	for _, n := range []int{0, 7, 999_999, 1_000_000} {
		if got, ok := ParseResultKey(Folder(id).Result(n)); !ok || got != n {
			t.Errorf("chunk %d comes back as %d, %v", n, got, ok)
		}
	}
	for _, key := range []string{"", "results/", Folder(id).Results() + "x.jsonl.zst", Folder(id).Results() + "-1.jsonl.zst", Folder(id).Spec()} {
		if n, ok := ParseResultKey(key); ok {
			t.Errorf("%q is chunk %d", key, n)
		}
	}
	if got := (Task{Job: id, Index: 12}).ID(); got != id+":12" {
		t.Errorf("task id %q", got)
	}
}
