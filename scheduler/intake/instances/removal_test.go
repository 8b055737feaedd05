package instances

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// result is the record of a compressed instance.
func result(key string, data []byte) jobs.Result {
	return jobs.Result{Key: key, Size: int64(len(data)), SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Outcome: jobs.OutcomeCompressed, Target: key, TargetSize: 1, TargetSHA256: "0", PixelHash: "p", DecodedHash: "p", Exact: "dicom", Verified: "full", Codec: "jpeg2000"}
}

func TestResultsOfJobs(t *testing.T) {
	r := newRig(t, nil)
	a, b := faults.NewInstance(1, 0, 8, 8, patient), faults.NewInstance(1, 1, 8, 8, patient)
	var keys []string
	for _, in := range []faults.Instance{a, b} {
		rec, err := r.send(in.Data)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, rec.Key)
	}
	if _, err := storage.Put(t.Context(), r.spool, "MARK^NAME.dcm", []byte("broken"), nil); err != nil {
		t.Fatal(err)
	}
	good, bad := result(keys[0], a.Data), result(keys[1], b.Data)
	bad.Outcome, bad.Class = jobs.OutcomeFailed, class.Verify
	foreign := jobs.Result{Key: "MARK^NAME.dcm", Outcome: jobs.OutcomeRejected, Class: class.Malformed}
	limit := jobs.Result{Key: "large.dcm", Outcome: jobs.OutcomeRejected, Class: class.Limit}
	each := func(fn func(jobs.Result) error) error {
		for _, res := range []jobs.Result{good, bad, foreign, limit, {Key: "x", Outcome: jobs.OutcomeSkipped}} {
			if err := fn(res); err != nil {
				return err
			}
		}
		return nil
	}
	for range 2 { // a follow-up may be repeated
		if err := r.Results(t.Context(), &jobs.Spec{ID: "20260102-030405-aaaa"}, each); err != nil {
			t.Fatal(err)
		}
	}
	held := all(t, r.target, Quarantine)
	if held[Quarantine+"mismatch/"+path.Base(keys[1])] != string(b.Data) || held[Quarantine+"undecodable/"+r.Hash("key", foreign.Key)] != "broken" || len(held) != 4 {
		t.Errorf("%d objects in quarantine", len(held))
	}
	if n := len(all(t, r.spool, "")); n != 3 {
		t.Errorf("%d objects in the source", n)
	}
	lines := r.lines()
	if len(lines) != 2+2*4 {
		t.Fatalf("%d lines", len(lines))
	}
	if l := lines[2]; l.Action != "compress" || l.Outcome != "compressed" || l.Object != keys[0] || l.Instance != r.Hash("instance", a.UID) || l.SHA256 != good.SHA256 || l.Codec != "jpeg2000" {
		t.Errorf("%+v", l)
	}
	if text := fmt.Sprint(lines, held); strings.Contains(strings.ReplaceAll(text, string(b.Data), ""), "MARK") {
		t.Errorf("%s", text)
	}
}

func TestQuarantineIsReleasedOrDeleted(t *testing.T) {
	r := newRig(t, nil)
	a := faults.NewInstance(1, 0, 8, 8, patient)
	other, third := bytes.Clone(a.Data), bytes.Clone(a.Data)
	other[len(other)-1] ^= 1
	third[len(third)-1] ^= 2
	for _, data := range [][]byte{a.Data, other, third, []byte("GIF")} {
		r.send(data)
	}
	var names []string
	if err := r.Held(t.Context(), func(h Held) error {
		names = append(names, h.Name)
		if h.Reason != Reason(path.Dir(h.Name)) || h.Bytes == 0 || h.SHA256 == "" || h.Time.IsZero() {
			t.Errorf("%+v", h)
		}
		return nil
	}); err != nil || len(names) != 3 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range []string{"", "conflict", "conflict/none", "../intake/key", names[0] + ".json", "conflict/../../intake/key"} {
		if _, err := r.Release(t.Context(), name); !errors.Is(err, ErrNotHeld) {
			t.Errorf("%q: %v", name, err)
		}
	}
	released := all(t, r.target, Quarantine)[Quarantine+names[0]]
	key, err := r.Release(t.Context(), names[0])
	if err != nil || all(t, r.spool, received)[key] != released {
		t.Errorf("%q, %v", key, err)
	}
	if _, ok := Series(key); !ok {
		t.Errorf("%s is no key of a received instance", key)
	}
	if key, err := r.Release(t.Context(), names[2]); err != nil || all(t, r.spool, received)[key] != "GIF" {
		t.Errorf("%q, %v", key, err)
	}
	if err := r.Discard(t.Context(), names[1]); err != nil {
		t.Error(err)
	}
	if n := len(all(t, r.target, Quarantine)); n != 0 || len(all(t, r.spool, "")) != 3 {
		t.Errorf("%d objects in quarantine", n)
	}
	if got := r.outcomes(); !slices.Equal(got[4:], []string{"done conflict", "done not-dicom", "done conflict"}) {
		t.Errorf("audit trail: %q", got)
	}
	// Both versions of the instance are there now: what is sent again is known.
	for _, data := range [][]byte{a.Data, []byte(released)} {
		if rec, err := r.send(data); rec.Outcome != Duplicate {
			t.Errorf("%q, %v", rec.Outcome, err)
		}
	}
}

func TestOriginalsGoWithAProof(t *testing.T) {
	r := newRig(t, nil)
	var claims []jobs.Claim
	for i := range 10 {
		in := faults.NewInstance(1, i, 8, 8, patient)
		rec, err := r.send(in.Data)
		if err != nil {
			t.Fatal(err)
		}
		c := jobs.Claim{Job: "job", Result: result(rec.Key, in.Data)}
		switch i {
		case 1:
			c.SHA256 = strings.Repeat("0", 64) // of other bytes
		case 2:
			c.Target = "damaged"
		case 3:
			c.Target = "unseen"
		case 4:
			c.Outcome = jobs.OutcomeKept // no copy
		case 5:
			c.Job = "elsewhere"
		case 6:
			c.Owner = &jobs.Owner{}
		case 7:
			c.Exact = "" // only its picture was compared
		case 8:
			c.DecodedHash = "q" // lossy
		case 9:
			c.Target = strings.TrimSuffix(c.Key, ".dcm") + ".jp2"
		}
		claims = append(claims, c)
	}
	if _, err := storage.Put(t.Context(), r.spool, "own.dcm", []byte("x"), nil); err != nil {
		t.Fatal(err)
	}
	claims = append(claims, jobs.Claim{Job: "job", Result: result("own.dcm", []byte("x"))})
	opts := &RemoveOptions{Source: r.spool.URL, Retention: time.Hour,
		Claims: func(fn func(jobs.Claim) error) error {
			for _, c := range claims {
				if err := fn(c); err != nil {
					return err
				}
			}
			return nil
		},
		SourceOf: func(job string) (string, error) {
			if job == "job" {
				return r.spool.URL, nil
			}
			return "file:///elsewhere", nil
		},
		Verify: func(_ context.Context, claims []jobs.Claim) (map[string]error, error) {
			faults := map[string]error{}
			for _, c := range claims {
				if c.Target != "unseen" {
					faults[c.Target] = nil
				}
			}
			if _, ok := faults["damaged"]; ok {
				faults["damaged"] = errors.New("content")
			}
			return faults, nil
		},
	}
	for i, c := range []struct {
		retention time.Duration
		remove    bool
		want      Removal
	}{
		{time.Hour, true, Removal{Originals: 8, Waiting: 8}},
		{0, false, Removal{Originals: 8, Left: 7, Proved: 1, Bytes: claims[0].Size}},
		{0, true, Removal{Originals: 8, Left: 7, Proved: 1, Bytes: claims[0].Size, Removed: 1}},
		{0, true, Removal{Originals: 7, Left: 7}},
	} {
		opts.Retention, opts.Delete = c.retention, c.remove
		if got, err := r.Remove(t.Context(), opts); err != nil || got != c.want {
			t.Errorf("%d: %+v, %v; want %+v", i, got, err, c.want)
		}
	}
	left := all(t, r.spool, "")
	if _, ok := left[claims[0].Key]; ok || len(left) != 10 {
		t.Errorf("%d objects are left", len(left))
	}
	if got := r.outcomes(); got[len(got)-1] != "removed" || len(got) != 11 {
		t.Errorf("audit trail: %q", got)
	}
	for key, want := range map[string]bool{claims[0].Key: true, strings.TrimSuffix(claims[0].Key, ".dcm") + ".jp2": true, strings.TrimSuffix(claims[0].Key, ".dcm"): true, "a/b.jp2": false, "received/abcd/x.jp2": false} {
		if IsResult(key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}

// What is there only as a result still has its UID: other bytes are in conflict with it, and the same bytes are stored again.
func TestIdentityAfterRemoval(t *testing.T) {
	r := newRig(t, nil)
	a := faults.NewInstance(1, 0, 8, 8, patient)
	other := bytes.Clone(a.Data)
	other[len(other)-1] ^= 1
	rec, err := r.send(a.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, extension := range []string{".dcm", ".jp2"} {
		result := strings.TrimSuffix(rec.Key, ".dcm") + extension
		if _, err := storage.Put(t.Context(), r.target, result, []byte("result"), nil); err != nil {
			t.Fatal(err)
		}
		if err := storage.Delete(t.Context(), r.spool, rec.Key); err != nil {
			t.Fatal(err)
		}
		if rec, err := r.send(other); rec.Outcome != Conflict {
			t.Errorf("%s: other bytes: %q, %v", extension, rec.Outcome, err)
		}
		if _, ok, err := r.Committed(t.Context(), a.UID); !ok || err != nil { // by the bytes in conflict
			t.Errorf("%s: %v, %v", extension, ok, err)
		}
		if held := all(t, r.target, Quarantine); len(held) != 2 {
			t.Errorf("%s: %d objects in quarantine", extension, len(held))
		}
		r.Held(t.Context(), func(h Held) error { return r.Discard(t.Context(), h.Name) })
		if _, ok, err := r.Committed(t.Context(), a.UID); ok || err != nil {
			t.Errorf("%s: committed without an original: %v", extension, err)
		}
		if rec, err := r.send(a.Data); rec.Outcome != Stored {
			t.Errorf("%s: the same bytes: %q, %v", extension, rec.Outcome, err)
		}
		if err := storage.Delete(t.Context(), r.target, result); err != nil {
			t.Fatal(err)
		}
	}
}
