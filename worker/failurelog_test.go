package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

func TestTheLogNamesFailures(t *testing.T) {
	var log bytes.Buffer
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil).queued()
	w := j.worker(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, &fake{})
	j.put("broken.png", []byte("\x89PNG\r\n\x1a\n and no more"))
	j.photos(3, 8).plan()
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`level=WARN msg="object rejected" job=` + j.spec.ID + ` key=broken.png outcome=rejected class=malformed`, `msg="chunk done"`, "compressed=3", "rejected=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log.String())
		}
	}

	// Many failures give few lines, of which the next says how many were left out.
	log.Reset()
	for i := range 1000 {
		w.report("job", &jobs.Result{Key: fmt.Sprint(i), Outcome: jobs.OutcomeFailed, Class: class.Codec, Error: "it failed"})
	}
	if n := strings.Count(log.String(), "object failed"); n < failureLines-1 || n > failureLines+20 {
		t.Errorf("%d lines", n)
	}
	w.failures.limit.SetLimit(1e9)
	w.report("job", &jobs.Result{Key: "last", Outcome: jobs.OutcomeFailed, Class: class.Codec, Error: "it failed"})
	if !strings.Contains(log.String(), "left_out_before=9") {
		t.Errorf("nothing is said of lines that were left out:\n%s", log.String()[log.Len()-200:])
	}

	// With hashed keys not even the text of an error is there, which may have one.
	log.Reset()
	w.opts.HashKeys = true
	w.report("job", &jobs.Result{Key: "patient-7.png", Outcome: jobs.OutcomeFailed, Class: class.Changed, Error: "\"patient-7.png\" changed"})
	if text := log.String(); !strings.Contains(text, "class=changed") || strings.Contains(text, "patient") {
		t.Errorf("%s", text)
	}
}
