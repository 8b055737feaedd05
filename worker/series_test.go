package worker

import (
	"slices"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// A series is refused, and its record says what the parts are now, so that one that
// has changed since it was listed is another source.
func TestSeriesAreRefusedByTheirPartsOfNow(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", misbehaving(nil), nil).queued()
	for _, key := range []string{"1.dcm", "2.dcm"} {
		j.put(key, []byte("slice "+key))
	}
	e := jobs.Entry{Key: "scan", Parts: []jobs.Part{{Key: "2.dcm", Size: 11, ETag: "old"}, {Key: "1.dcm", Size: 4, ETag: "old"}}}
	e.Sum()
	gone := jobs.Entry{Key: "tail", Parts: []jobs.Part{{Key: "1.dcm", ETag: "old"}, {Key: "3.dcm", ETag: "old"}}}
	lost := jobs.Entry{Key: "unlisted", Parts: []jobs.Part{{Key: "1.dcm", ETag: "old"}, {Key: "4.dcm", Missing: true}}}
	j.plan(e, gone, lost)
	j.run(j.worker(Options{}, misbehaving(nil)))
	records := j.results()
	r := records["scan"]
	if r.Outcome != jobs.OutcomeUnsupported || r.Class != class.Format || r.Target != "" {
		t.Errorf("%+v", r)
	}
	keys := func(parts []jobs.Part) (out []string) {
		for _, p := range parts {
			out = append(out, p.Key)
		}
		return out
	}
	if !slices.Equal(keys(r.Parts), []string{"2.dcm", "1.dcm"}) || r.Parts[0].ETag == "old" || r.Size != 22 {
		t.Errorf("the record says %+v, %d bytes", r.Parts, r.Size)
	}
	now := jobs.Entry{Key: "scan", Parts: r.Parts, Size: r.Size}
	if j.spec.Fingerprint(now) == j.spec.Fingerprint(e) {
		t.Error("the parts have changed and the fingerprint has not")
	}
	for _, key := range []string{"tail", "unlisted"} {
		if r := records[key]; r.Outcome != jobs.OutcomeFailed || r.Class != class.Missing || len(r.Parts) != 2 {
			t.Errorf("%s: %+v", key, r)
		}
	}
}
