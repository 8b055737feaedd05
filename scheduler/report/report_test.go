package report

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

var update = flag.Bool("update", false, "write the golden files")

const id = "20260102-030405-abcd"

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// sample gives a lossy job with everything that a page can show.
func sample(n int) (*Page, Job) {
	p := New()
	r := rand.New(rand.NewPCG(1, 2))
	totals := jobs.Report{
		Job: id, State: jobs.StateDone, Source: "s3://scans", Target: "s3://scans-vq", Codec: "vq", Version: 1, Options: "block=4x4,n=256",
		Left: map[jobs.Outcome]int64{}, Started: began, Finished: began.Add(time.Hour), Seconds: 3600,
	}
	for i := range n {
		rec := record(i, r)
		if rec.Target == "" {
			totals.Left[rec.Outcome]++
		}
		totals.Counts.Add(&rec)
		p.Record(&rec)
		if i%100 == 99 {
			p.Chunk(&jobs.Shard{Job: id, Chunk: i / 100, Seconds: 40, At: began.Add(time.Duration(i+1) * time.Hour / time.Duration(n)), Counts: jobs.Counts{Objects: 100, BytesAttempted: 100 << 20}})
		}
	}
	p.File(jobs.Folder(id).Merged(0), 1234567, strings.Repeat("ab", 32))
	spec := jobs.Spec{ID: id, Created: began.Add(-time.Minute), Verify: "full", MinPSNR: 30, Device: "auto", Larger: "leave", Others: "leave"}
	return p, Job{Spec: spec, Report: totals, Version: "development"}
}

// record is the i-th one, in key order.
func record(i int, r *rand.Rand) jobs.Result {
	rec := jobs.Result{
		Key: fmt.Sprintf("archive/box-%02d/scan-%07d.tif", i/150, i), Size: 1<<20 + r.Int64N(1<<20), Outcome: jobs.OutcomeCompressed, SourceFormat: "tiff",
		Target: "x", RawBytes: 3 << 20, Verified: "full", Device: "cpu", Attempts: 1,
		Seconds: map[string]float64{"fetch": 0.01, "read": 0.02, "encode": 0.1 + r.Float64(), "verify": 0.05, "store": 0.01},
	}
	switch {
	case i%97 == 0:
		rec.Outcome, rec.Class, rec.Error, rec.Target, rec.Verified = jobs.OutcomeRejected, "malformed", "tiff: 3 strips: <script>alert(1)</script>", "", ""
	case i%89 == 0:
		rec.Outcome, rec.Class, rec.Error, rec.Target, rec.Verified = jobs.OutcomeUnsupported, "format", "no picture", "", ""
		rec.SourceFormat, rec.Key = "", strings.TrimSuffix(rec.Key, "tif")+"txt"
	default:
		rec.TargetSize = 200_000 + r.Int64N(300_000)
		rec.Ratio = float64(rec.RawBytes) / float64(rec.TargetSize)
		rec.PSNR, rec.SSIM = 30+15*r.Float64(), 0.9+0.1*r.Float64()
	}
	return rec
}

func render(t testing.TB, p *Page, j Job) string {
	t.Helper()
	html, err := p.Render(j)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func TestPageIsTheGoldenOne(t *testing.T) {
	p, j := sample(1000)
	got := render(t, p, j)
	name := filepath.Join("testdata", "report.html")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		other := filepath.Join(t.TempDir(), "report.html")
		os.WriteFile(other, []byte(got), 0o644)
		t.Errorf("the page is another one than %s, see %s; -update accepts it", name, other)
	}
}

// TestPageNeedsNothingElse: no address but that of the empty icon, no script, no style beside
// the one in the head.
func TestPageNeedsNothingElse(t *testing.T) {
	p, j := sample(1000)
	got := render(t, p, j)
	if m := regexp.MustCompile(`(?i)<script|\b(src|style|on[a-z]+)=|url\(|@import|https?:|//[a-z]`).FindString(strings.ReplaceAll(got, "s3://scans", "")); m != "" {
		t.Errorf("the page has %q", m)
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(got, -1) {
		if m[1] != "data:," {
			t.Errorf("the page names %q", m[1])
		}
	}
	if strings.Count(got, "<style>") != 1 {
		t.Error("want one style sheet")
	}
}

// TestHostileRecords: the longest and strangest texts do not make the page large or wrong,
// and numbers that no record has end nothing.
func TestHostileRecords(t *testing.T) {
	p, j := sample(0)
	nasty := strings.Repeat("<&\"'\x00\u202e", 170)
	for i := range 3000 {
		text := fmt.Sprintf("%05d/%s%d", i, nasty, i)
		r := jobs.Result{
			Key: text, Size: int64(i) << 20, Outcome: jobs.OutcomeCompressed, SourceFormat: text, Device: text, Verified: text, Ratio: math.Inf(1), PSNR: float64(i), SSIM: math.Inf(-1),
			Seconds: map[string]float64{text: 1e300}, TargetSize: 1,
		}
		if i%2 == 0 {
			r.Outcome, r.Class, r.Error = jobs.OutcomeFailed, text, text
		}
		p.Record(&r)
		p.Chunk(&jobs.Shard{At: time.Unix(int64(i)*1e8-1e11, 0), Seconds: 1e300, Counts: jobs.Counts{Objects: 1}})
		p.File(text, 1, strings.Repeat("f", 64))
	}
	j.Report.Source, j.Report.Reason, j.Report.Options = nasty, nasty, nasty
	got := render(t, p, j)
	t.Logf("%d bytes", len(got))
	if len(got) >= MaxBytes {
		t.Errorf("%d bytes", len(got))
	}
	for _, bad := range []string{"\x00", "\u202e", "<&"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// TestKeysOfPatientsAreHashed for DICOM and NIfTI sources, and where it is asked for.
func TestKeysOfPatientsAreHashed(t *testing.T) {
	for _, c := range []struct {
		format string
		asked  bool
		want   bool
	}{{"dicom", false, true}, {"nifti", false, true}, {"tiff", true, true}, {"tiff", false, false}} {
		p, j := sample(0)
		j.HashKeys = c.asked
		p.Record(&jobs.Result{Key: "marked/one.marked", Outcome: jobs.OutcomeFailed, Class: "storage", Error: "marked", Size: 1})
		p.Record(&jobs.Result{Key: "marked/two", Outcome: jobs.OutcomeCompressed, SourceFormat: c.format, Size: 3, TargetSize: 2, Seconds: map[string]float64{"read": 1}})
		got := render(t, p, j)
		if hashed := !strings.Contains(got, "marked"); hashed != c.want {
			t.Errorf("%s, asked %v: hashed %v, want %v", c.format, c.asked, hashed, c.want)
		}
		if c.want && !strings.Contains(got, "sha256:a") && !strings.Contains(got, "sha256:") {
			t.Error("no hash")
		}
	}
}

func TestVerdicts(t *testing.T) {
	lossless := jobs.Result{Outcome: jobs.OutcomeCompressed, Verified: "full", PixelHash: "p", DecodedHash: "p", Size: 2, TargetSize: 1}
	unchecked := jobs.Result{Outcome: jobs.OutcomeCompressed, Verified: "off", Size: 2, TargetSize: 1}
	wrong := jobs.Result{Outcome: jobs.OutcomeFailed, Class: "verify", Error: "another picture"}
	twice, once := lossless, lossless
	twice.SecondDecoder, once.SecondDecoder = "agreed", "left out"
	for _, c := range []struct {
		name    string
		state   jobs.State
		records []jobs.Result
		level   string
		want    []string
	}{
		{"all verified", jobs.StateDone, []jobs.Result{lossless, lossless}, "good", []string{"2 of 2 results verified", "the same as its source, sample by sample"}},
		{"one not", jobs.StateDone, []jobs.Result{lossless, unchecked}, "attention", []string{"1 of 2 results verified", "1 result not verified, as the job asked"}},
		{"a mismatch", jobs.StateDone, []jobs.Result{lossless, wrong}, "bad", []string{"1 of 1 result verified", "1 result did not decode", "1 of 2 objects failed"}},
		{"cancelled", jobs.StateCancelled, []jobs.Result{lossless}, "bad", []string{"1 of 1 result verified", "cancelled before its end"}},
		{"two decoders", jobs.StateDone, []jobs.Result{twice, once, once}, "good", []string{"A second decoder, of other authors, made the same picture of 1 of 3 results.", ">1 of 3<"}},
		{"nothing", jobs.StateDone, nil, "good", []string{"No new results"}},
	} {
		p, j := sample(0)
		j.Report.State, j.Spec.MinPSNR = c.state, 0
		for i, r := range c.records {
			r.Key = fmt.Sprint(i)
			j.Report.Counts.Add(&r)
			p.Record(&r)
		}
		got := render(t, p, j)
		for _, want := range append(c.want, `class="verdict `+c.level+`"`) {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the page does not say %q", c.name, want)
			}
		}
	}
}

// TestFoldersAreExact against a map, at each depth, for keys in order.
func TestFoldersAreExact(t *testing.T) {

	keys := []string{"a.png", "b.png", "b/1/x/1.png", "b/1/x/2.png", "b/1/y.png", "b/1z.png", "b/2/1.png", "c/1.png", "c/d/e/f/g/h.png", "c/d/e/f/g/i.png", "z"}
	for depth := 1; depth <= deepest; depth++ {
		f, want := folders{depth: depth}, map[string]int64{}
		for i, key := range keys {
			size := int64(1) << i
			f.add(&jobs.Result{Key: key, Size: size, Outcome: jobs.OutcomeCompressed})
			parts := strings.SplitAfter(key, "/")
			parts = parts[:min(len(parts)-1, depth)]
			name := strings.Join(parts, "")
			if name == "" {
				name = "(no folder)"
			}
			want[name] += size
		}
		f.close()
		if int(f.count) != len(want) || len(f.top) != len(want) {
			t.Errorf("depth %d: %d folders, want %d", depth, f.count, len(want))
		}
		for _, g := range f.top {
			if g.in != want[g.name] {
				t.Errorf("depth %d: %s has %d bytes, want %d", depth, g.name, g.in, want[g.name])
			}
		}
	}
}

// TestNothingGrows: what a page keeps is the same after many records as after few, whatever
// differs among them.
func TestNothingGrows(t *testing.T) {
	p := New()
	for i := range 50_000 {
		p.Record(&jobs.Result{
			Key: fmt.Sprintf("%06d/%d/%d.e%d", i, i, i, i), Size: int64(i), Outcome: jobs.Outcomes()[i%6], Class: fmt.Sprint(i), SourceFormat: "", Device: fmt.Sprint(i),
			Seconds: map[string]float64{fmt.Sprint(i): 1}, PSNR: float64(i % 50), SSIM: 0.5, Ratio: float64(i), TargetSize: 1, Verified: fmt.Sprint(i),
		})
		p.Chunk(&jobs.Shard{At: began.Add(time.Duration(i) * time.Hour), Seconds: 60, Counts: jobs.Counts{Objects: 1}})
	}
	for name, n := range map[string]int{
		"types": len(p.types), "devices": len(p.devices), "stages": len(p.stages), "reasons": len(p.reasons), "bins of time": len(p.timeline.bins), "verified": len(p.verified),
		"folders": len(p.folders[0].top) + len(p.folders[0].open), "deep folders": len(p.folders[3].top) + len(p.folders[3].open), "ranking": len(p.largest.list),
	} {
		if n == 0 || n > mostBins {
			t.Errorf("%s: %d", name, n)
		}
	}
	if p.folders[0].count != 49_999 {
		t.Errorf("%d folders have ended", p.folders[0].count)
	}
}

// TestTimelineLosesNothing while its bins become wider, in whatever order chunks come.
func TestTimelineLosesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var line timeline
	for i := range 1000 {
		to := began.Add(time.Duration(r.Int64N(int64(1000*time.Hour))) - 500*time.Hour)
		line.add(to.Add(-time.Duration(r.Int64N(int64(2*time.Hour)))), to, work{1, 10})
		var sum work
		for _, b := range line.bins {
			sum.objects += b.objects
			sum.bytes += b.bytes
		}
		if len(line.bins) > mostBins || math.Abs(sum.objects-float64(i+1)) > 1e-6 || math.Abs(sum.bytes-float64(10*(i+1))) > 1e-5 {
			t.Fatalf("after %d: %d bins with %+v", i+1, len(line.bins), sum)
		}
	}
}

func TestHistogram(t *testing.T) {
	h := newHistogram(0, 1, 100)
	for i := range 100 {
		h.add(float64(i) + 0.5)
	}
	h.add(math.NaN())
	h.add(-5)
	h.add(1e9)
	var n int64
	for _, b := range h.bars() {
		n += b.n
	}
	if bars := len(h.bars()); n != 102 || bars > mostBars || h.n != 102 || h.min != -5 || h.max != 1e9 {
		t.Errorf("%d values in %d bars, %d counted, from %v to %v", n, bars, h.n, h.min, h.max)
	}
	if m := h.quantile(0.5); math.Abs(m-50) > 1 {
		t.Errorf("median %v", m)
	}
}

func TestIdenticalIsNoPSNR(t *testing.T) {
	p, j := sample(0)
	p.Record(&jobs.Result{Key: "a", Outcome: jobs.OutcomeCompressed, PSNR: raster.Identical, SSIM: 1, Size: 2, TargetSize: 1, Ratio: 2})
	if got := render(t, p, j); strings.Contains(got, "999 dB") || strings.Contains(got, "999.0") || bytes.Contains([]byte(got), []byte("NaN")) {
		t.Error("the page shows the number that stands for identical images")
	}
}
