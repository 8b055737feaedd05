package scheduler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/scheduler/report"
)

// TestReportPage: the page that is written when a job ends is the one that the client makes
// of its records.
func TestReportPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill(60)
	r.worker.start(t, 2)
	r.run(r.scheduler(nil))
	spec := r.submit(func(s *jobs.Spec) { s.ChunkObjects = 7 })
	r.ended(spec.ID)
	b := r.bucket(r.target)
	written, err := b.ReadAll(r.ctx, jobs.Folder(spec.ID).ReportPage())
	if err != nil {
		t.Fatal(err)
	}
	made, err := r.client.ReportPage(r.ctx, r.target, spec.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(written, made) {
		t.Errorf("written %d bytes, made %d others", len(written), len(made))
	}
	for _, want := range []string{spec.ID, "60", "What became of the objects", "Throughput over time", jobs.Folder(spec.ID).Merged(0), jobs.Folder(spec.ID).Report()} {
		if !bytes.Contains(written, []byte(want)) {
			t.Errorf("the page does not say %q", want)
		}
	}
	hashed, err := r.client.ReportPage(r.ctx, r.target, spec.ID, true)
	if err != nil || bytes.Contains(hashed, []byte(".png")) || !bytes.Contains(hashed, []byte("sha256:")) {
		t.Errorf("with hashed keys: %d bytes, %v", len(hashed), err)
	}
	if _, err := r.client.ReportPage(r.ctx, r.target, "20260102-030405-abcd", false); err == nil {
		t.Error("a page of no job")
	}
}

// BenchmarkReportPage makes the page of a job of 10,000,000 objects.
func BenchmarkReportPage(b *testing.B) {
	const n, each = 10_000_000, 1000
	r := newRigOn(b, "", b.TempDir(), b.TempDir())
	r.ctx = b.Context() // which has no limit
	spec := r.submit(nil)
	f := folder{b: r.bucket(r.target), id: spec.ID}
	totals := jobs.Report{Job: spec.ID, State: jobs.StateDone, Source: spec.Source, Target: spec.Target, Codec: spec.Codec, Started: spec.Created, Finished: spec.Created.Add(time.Hour), Seconds: 3600}
	out := merging{put: func(part int, data []byte) error {
		totals.Results = append(totals.Results, jobs.Folder(spec.ID).Merged(part))
		return f.put(r.ctx, jobs.Folder(spec.ID).Merged(part), data, true)
	}}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	for chunk := range n / each {
		h := jobs.Shard{Job: spec.ID, Chunk: chunk, Seconds: 40, At: spec.Created.Add(time.Duration(chunk) * time.Second)}
		var lines []byte
		for i := range each {
			rec := syntheticRecord(chunk*each + i)
			h.Counts.Add(&rec)
			line, err := json.Marshal(rec)
			if err != nil {
				b.Fatal(err)
			}
			lines = append(append(lines, line...), '\n')
		}
		totals.Counts.Plus(h.Counts)
		header, err := json.Marshal(h)
		if err == nil {
			err = f.put(r.ctx, jobs.Folder(spec.ID).Result(chunk), enc.EncodeAll(append(header, '\n'), nil), true)
		}
		if err == nil {
			err = out.add(lines)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := out.end(); err != nil {
		b.Fatal(err)
	}
	totals.Attempted, totals.Chunks = n/each, n/each
	if err := f.putJSON(r.ctx, jobs.Folder(spec.ID).Report(), totals, true); err != nil {
		b.Fatal(err)
	}
	out = merging{}
	for b.Loop() {
		debug.FreeOSMemory()
		resident()
		start := time.Now()
		page, err := r.client.ReportPage(r.ctx, r.target, spec.ID, false)
		if err != nil {
			b.Fatal(err)
		}
		elapsed, memory := time.Since(start), resident()
		b.ReportMetric(n/elapsed.Seconds(), "records/s")
		b.ReportMetric(float64(memory)/1e6, "MB-resident")
		b.ReportMetric(float64(len(page)), "page-bytes")
		fmt.Printf("\nreport.html of %d records: %.0f s, %.0f MB resident, required under 200, %d bytes, required under %d\n", n, elapsed.Seconds(), float64(memory)/1e6, len(page), report.MaxBytes)
		if memory >= 200e6 || len(page) >= report.MaxBytes {
			b.Error("the page takes more than it may")
		}
		if name := os.Getenv("PELMILL_ARTIFACTS"); name != "" {
			os.WriteFile(name+"/report-10000000.html", page, 0o644)
		}
	}
}

// syntheticRecord is the i-th of many, in key order.
func syntheticRecord(i int) jobs.Result {
	r := jobs.Result{
		Key: fmt.Sprintf("archive/%04d/%04d/scan-%08d.tif", i/100_000, i/1000, i), ETag: "0123456789abcdef0123456789abcdef", Size: 1<<20 + int64(i*7919)%(1<<20),
		SHA256: strings.Repeat("ab", 32), Outcome: jobs.OutcomeCompressed, Target: fmt.Sprintf("archive/%04d/%04d/scan-%08d.vq", i/100_000, i/1000, i),
		TargetSize: 1<<17 + int64(i*104729)%(1<<18), Fingerprint: strings.Repeat("cd", 32), PixelHash: strings.Repeat("01", 32), DecodedHash: strings.Repeat("02", 32),
		SourceFormat: "tiff", Codec: "vq", Version: 1, Options: "block=4x4,n=256", RawBytes: 3 << 20, PSNR: 30 + float64(i%1500)/100, SSIM: 0.9 + float64(i%1000)/10000,
		Verified: "full", Device: "cpu", Seconds: map[string]float64{"fetch": 0.01, "read": 0.02, "encode": 0.1, "verify": 0.05, "store": 0.01}, Attempts: 1,
	}
	r.Ratio = float64(r.RawBytes) / float64(r.TargetSize)
	if i%1009 == 0 {
		r.Outcome, r.Class, r.Error, r.Target, r.TargetSize, r.PSNR = jobs.OutcomeFailed, "storage", fmt.Sprintf("put %d: 503", i), "", 0, 0
	}
	return r
}
