package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/worker"
)

// buffer is a bytes.Buffer that several goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var half = snapshot{
	job: "20260102-030405-abcd", state: jobs.StateRunning, total: 2000, chunks: 4, chunksDone: 2,
	counts: jobs.Counts{Objects: 1000, Compressed: 990, Failed: 10, BytesIn: 4 << 20, BytesOut: 1 << 20},
}

func TestProgressLines(t *testing.T) {
	var out, errs buffer
	p := &program{stdout: &out, stderr: &errs}
	d := p.display(time.Hour)
	d.update(half)
	if errs.String() != "" {
		t.Errorf("a line before its time: %q", errs.String())
	}
	d.every = 0
	d.update(half)
	d.close()
	if want := "1,000 of 2,000, saving 75.0 %, 10 failed\n"; errs.String() != want || out.String() != "" {
		t.Errorf("stderr %q, stdout %q; want %q on stderr", errs.String(), out.String(), want)
	}
}

func TestProgressSaysWhyNothingMoves(t *testing.T) {
	var errs buffer
	d := (&program{stderr: &errs}).display(0)
	d.update(snapshot{state: jobs.StatePaused, why: "paused by the operator", total: 10})
	if want := "paused, 0 of 10, paused by the operator\n"; errs.String() != want {
		t.Errorf("%q, want %q", errs.String(), want)
	}
}

func TestQuietShowsNothing(t *testing.T) {
	var out, errs buffer
	d := (&program{stdout: &out, stderr: &errs, quiet: true, screen: &errs}).display(0)
	d.update(half)
	d.object(jobs.Result{Key: "a.png", Outcome: jobs.OutcomeFailed, Error: "broken"})
	d.close()
	if out.String() != "" || errs.String() != "" {
		t.Errorf("stdout %q, stderr %q", out.String(), errs.String())
	}
}

func TestBar(t *testing.T) { synctest.Test(t, bar) }

func bar(t *testing.T) {
	var out, errs buffer
	d := (&program{stdout: &out, stderr: &errs, screen: &errs}).display(time.Hour)
	d.update(half)
	d.object(jobs.Result{Key: "a.png", Outcome: jobs.OutcomeRejected, Error: "png: cut short"})
	time.Sleep(400 * time.Millisecond) // two refreshes, on the clock of the bubble
	d.close()
	d.say("after the end")
	for _, want := range []string{"[====", "1,000 of 2,000", "rejected: a.png: png: cut short\n", "after the end\n"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is missing in %q", want, errs.String())
		}
	}
	if out.String() != "" {
		t.Errorf("stdout %q", out.String())
	}
}

func TestProgressEvents(t *testing.T) {
	var out, errs buffer
	d := (&program{stdout: &out, stderr: &errs, json: true, screen: &errs}).display(time.Hour)
	d.update(half) // the first one of a state comes at once
	d.update(half)
	d.object(jobs.Result{Key: "a.png", Outcome: jobs.OutcomeCompressed})
	d.object(jobs.Result{Key: "b.png", Outcome: jobs.OutcomeFailed, Class: class.Storage})
	d.close()
	var types []string
	for line := range strings.Lines(out.String()) {
		var v struct {
			Type    string
			Objects int
			Total   int
			Key     string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, v.Type)
		if v.Type == "progress" && (v.Objects != 1000 || v.Total != 2000) || v.Type == "object" && v.Key != "b.png" {
			t.Errorf("%s", line)
		}
	}
	if got := strings.Join(types, " "); got != "progress object" || errs.String() != "" {
		t.Errorf("events %q, stderr %q", got, errs.String())
	}
}

func TestFailuresAreNamedUpToALimit(t *testing.T) {
	var errs buffer
	d := (&program{stderr: &errs}).display(time.Hour)
	for range 100 {
		d.object(jobs.Result{Key: "a.png", Outcome: jobs.OutcomeFailed, Error: "broken"})
	}
	if n := strings.Count(errs.String(), "\n"); n != shownFailures+1 {
		t.Errorf("%d lines, want %d", n, shownFailures+1)
	}
}

// What is no job, such as decompress, has no total.
func TestRateOfWorkThatIsNoJob(t *testing.T) { synctest.Test(t, rateWithoutJob) }

func rateWithoutJob(t *testing.T) {
	var errs buffer
	d := (&program{stderr: &errs}).display(time.Hour)
	for i := range 20 {
		n := int64(10 * i)
		d.update(snapshot{counts: jobs.Counts{Objects: 500 + n, Skipped: 500, BytesAttempted: n << 20}})
		time.Sleep(time.Second)
	}
	if !strings.Contains(d.text(), "10.") || !strings.Contains(d.text(), "10.") || strings.Contains(d.text(), "ETA") {
		t.Errorf("%q, want about 10 objects and 10 MiB a second", d.text())
	}
}

func TestThinSpreads(t *testing.T) {
	if got := strings.Join(thin(strings.Split("abcdefghij", ""), 3), ""); got != "adg" {
		t.Errorf("%q", got)
	}
	if got := thin([]string{"a"}, 3); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestDisplayHasNoNamesOfMedicalImages: what is shown while work goes on ends in logs.
func TestDisplayHasNoNamesOfMedicalImages(t *testing.T) {
	for _, r := range []jobs.Result{
		{Key: "DOE^JANE.dcm", Outcome: jobs.OutcomeRejected, Class: "malformed", Error: "it goes over the end"},
		{Key: "a/DOE^JANE", SourceFormat: "dicom", Outcome: jobs.OutcomeUnsupported, Class: "format", Error: "padding-bits: bits are used"},
		{Key: "a/DOE^JANE", SourceFormat: "dicom", Outcome: jobs.OutcomeFailed, Class: "storage", Error: "get \"a/DOE^JANE\": away"},
		{Key: "a/DOE^JANE", SourceFormat: "dicom", Outcome: jobs.OutcomeUnsupported, Class: "key", Error: "no room for DOE"},
		{Key: "a/DOE^JANE.nii.gz", Outcome: jobs.OutcomeRejected, Class: "malformed", Error: "DOE^JANE.nii.gz is damaged"},
		{Key: "DOE^JANE.dcm", Target: "DOE^JANE.dcm", Outcome: jobs.OutcomeCompressed},
		{Key: "DOE^JANE.dcm", Target: "DOE^JANE.dcm", Outcome: jobs.OutcomeKept, Note: "DOE^JANE.dcm was there"},
	} {
		var errs buffer
		d := (&program{stderr: &errs, verbose: true}).display(time.Hour)
		d.object(r)
		d.close()
		text := errs.String()
		if strings.Contains(text, "DOE") || !strings.Contains(text, worker.HashKey(r.Key)) {
			t.Errorf("%q", text)
		}
		if content := r.Outcome != jobs.OutcomeFailed && r.Class != "key" && !strings.Contains(r.Error, "DOE"); content != strings.Contains(text, r.Error) {
			t.Errorf("%q", text)
		}
	}
}
