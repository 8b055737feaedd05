package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/jobs"
)

// A file that is cut anywhere is never compressed, and one with another byte anywhere is proved, left alone or rejected, never
// failed. Whatever becomes of them, neither the log nor the records' errors have a value of theirs.
func TestDICOMDamaged(t *testing.T) {
	file := mr(12, 9).file()
	var log bytes.Buffer
	j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, func(s *jobs.Spec) {
		s.Others, s.ChunkObjects = "copy", 500
	})
	sources := map[string][]byte{}
	step := 1
	if testing.Short() {
		step = 7
	}
	for i := 0; i < len(file); i += step {
		sources[fmt.Sprintf("patient-cut-%d.dcm", i)] = file[:i]
		damaged := bytes.Clone(file)
		damaged[i] ^= 0x55
		sources[fmt.Sprintf("patient-damaged-%d", i)] = damaged
	}
	for key, data := range sources {
		j.put(key, data)
	}
	j.plan()
	w := j.worker(Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, jpeg2000.Codec{})
	w.failures.limit.SetLimit(1e9)
	for i := range j.tasks {
		if err := j.chunk(w, i); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[jobs.Outcome]int{}
	for key, r := range j.results() {
		counts[r.Outcome]++
		cut := strings.HasPrefix(key, "patient-cut")
		switch {
		case r.Outcome == jobs.OutcomeFailed, cut && (r.Outcome == jobs.OutcomeCompressed || r.Outcome == jobs.OutcomeKept):
			t.Errorf("%s: %s: %s", key, r.Outcome, r.Error)
		case r.Outcome == jobs.OutcomeCompressed && (r.Exact != exactDICOM || r.DecodedHash != r.PixelHash):
			t.Errorf("%s: it is not proved: %+v", key, r)
		case r.Outcome == jobs.OutcomeUnsupported || r.Outcome == jobs.OutcomeRejected:
			if got, err := j.target.ReadAll(j.ctx, key); err != nil || !bytes.Equal(got, sources[key]) {
				t.Errorf("%s: the copy is another file: %v", key, err)
			}
		}
		if strings.Contains(r.Error+r.Note+fmt.Sprint(r.Facts), "PATIENT") || strings.Contains(r.Error, "1.2.3.4") {
			t.Errorf("%s: a value is in the record: %s", key, r.Error)
		}
	}
	for _, o := range []jobs.Outcome{jobs.OutcomeUnsupported, jobs.OutcomeRejected} {
		if counts[o] == 0 {
			t.Errorf("nothing is %s: %v", o, counts)
		}
	}
	for _, mark := range []string{"PATIENT", "1.2.3.4"} {
		if i := strings.Index(log.String(), mark); i >= 0 {
			t.Errorf("%q is in the log: %s", mark, log.String()[max(0, i-100):min(log.Len(), i+60)])
		}
	}
}
