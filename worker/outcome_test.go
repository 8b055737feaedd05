package worker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// Widths that make the fake codec of TestEveryObjectGetsItsOutcome misbehave.
const (
	panics = 100 + iota
	panicsOnce
	fails
	failsOnce
	empty
	wrongImage
	noImage
	wrongShape
	panicsDecoding
	slow
	unresponsive
	larger
)

// misbehaving is a codec that does what the width of an image says.
func misbehaving(release <-chan struct{}) *fake {
	var once sync.Map
	first := func(m *raster.Image) bool {
		_, seen := once.LoadOrStore(m.Width, true)
		return !seen
	}
	return &fake{
		encode: func(ctx context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
			switch m.Width {
			case panics:
				panic("boo")
			case panicsOnce:
				if first(m) {
					panic("boo")
				}
			case fails:
				return nil, errors.New("cannot"), true
			case failsOnce:
				if first(m) {
					return nil, errors.New("cannot"), true
				}
			case empty:
				return nil, nil, true
			case slow:
				<-ctx.Done()
				return nil, ctx.Err(), true
			case unresponsive:
				<-release
			case larger:
				return make([]byte, 1<<20), nil, true
			}
			return nil, nil, false
		},
		decode: func(m *raster.Image) (*raster.Image, error, bool) {
			switch m.Width {
			case wrongImage:
				o := *m
				o.Pix = bytes.Clone(m.Pix)
				o.Pix[0] ^= 1
				return &o, nil, true
			case noImage:
				return nil, nil, true
			case wrongShape:
				return raster.New(1, 1, 1, 1, 8), nil, true
			case panicsDecoding:
				panic("boo")
			}
			return nil, nil, false
		},
	}
}

func TestEveryObjectGetsItsOutcome(t *testing.T) { inNoTime(everyObjectGetsItsOutcome)(t) }

func everyObjectGetsItsOutcome(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	c := misbehaving(release)
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Limits.Side = 500 })
	image := func(width int) []byte { return png(t, photo(uint64(width), width, 20, 3)) }

	opaque, clear := photo(1, 30, 20, 4), photo(2, 30, 20, 4)
	for i := 3; i < len(opaque.Pix); i += 4 {
		opaque.Pix[i] = 255
	}
	deep := raster.New(9, 9, 1, 1, 16)
	good := image(50)
	taken := []byte("somebody else's")
	j.write("taken.fake", taken)

	type want struct {
		outcome  jobs.Outcome
		class    string
		attempts int
	}
	ok := want{jobs.OutcomeCompressed, "", 1}
	failed := func(class string, attempts int) want { return want{jobs.OutcomeFailed, class, attempts} }
	wants, sums := map[string]want{}, map[string]string{}
	add := func(key string, data []byte, w want) {
		wants[key], sums[key] = w, sumOf(data)
		j.put(key, data)
	}
	add("good.png", good, ok)
	add("sub/folder/good.jpg.png", good, ok)
	add("grey.png", png(t, photo(3, 1, 1, 1)), want{jobs.OutcomeCompressed, "", 1})
	add("opaque.png", png(t, opaque), ok)
	add("clear.png", png(t, clear), want{jobs.OutcomeUnsupported, class.Image, 1})
	add("deep.png", png(t, deep), want{jobs.OutcomeUnsupported, class.Image, 1})
	add("wide.png", image(501), want{jobs.OutcomeRejected, class.Limit, 1})
	add("text.png", []byte("this is no picture"), want{jobs.OutcomeUnsupported, class.Format, 1})
	add("empty.png", nil, want{jobs.OutcomeRejected, class.Malformed, 1})
	add("cut.png", good[:len(good)/2], want{jobs.OutcomeRejected, class.Malformed, 1})
	add("taken.png", good, failed(class.Exists, 1))
	add("panics.png", image(panics), failed(class.Codec, 3))
	add("panicsOnce.png", image(panicsOnce), want{jobs.OutcomeCompressed, "", 2})
	add("fails.png", image(fails), failed(class.Codec, 3))
	add("failsOnce.png", image(failsOnce), want{jobs.OutcomeCompressed, "", 2})
	add("emptyFile.png", image(empty), failed(class.Codec, 3))
	add("wrongPicture.png", image(wrongImage), failed(class.Verify, 3))
	add("noPicture.png", image(noImage), failed(class.Verify, 3))
	add("wrongShape.png", image(wrongShape), failed(class.Verify, 3))
	add("panicsDecoding.png", image(panicsDecoding), failed(class.Codec, 3))
	add("slow.png", image(slow), failed(class.Timeout, 1))
	add("unresponsive.png", image(unresponsive), failed(class.Timeout, 1))
	add("larger.png", image(larger), want{jobs.OutcomeKept, "", 1})

	var entries []jobs.Entry
	if err := storage.Walk(j.ctx, j.source, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			entries = append(entries, jobs.Entry{Key: o.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	entries = append(entries, jobs.Entry{Key: "x-gone.png", Size: 5, ETag: "1"}, jobs.Entry{Key: "x-missing.png", Size: -1, Missing: true})
	wants["x-gone.png"], wants["x-missing.png"] = failed(class.Missing, 1), failed(class.Missing, 1)
	j.plan(entries...)

	var reported []jobs.Result
	w := j.worker(Options{CPU: 3, ObjectTimeout: 300 * time.Millisecond, OnResult: func(r jobs.Result) { reported = append(reported, r) }}, c)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	got := j.results()
	if len(got) != len(wants) || len(reported) != len(wants) {
		t.Errorf("%d records, %d reported, want %d", len(got), len(reported), len(wants))
	}
	for key, want := range wants {
		r := got[key]
		if r.Outcome != want.outcome || r.Class != want.class || r.Attempts != want.attempts {
			t.Errorf("%s: %s %q after %d attempts (%s), want %+v", key, r.Outcome, r.Class, r.Attempts, r.Error, want)
		}
		if (r.Class == "") != (r.Error == "") {
			t.Errorf("%s: class %q with text %q", key, r.Class, r.Error)
		}
		exists, err := j.target.Exists(j.ctx, jobs.Stem(key, ".fake")+".fake")
		if err != nil || exists != (r.Outcome == jobs.OutcomeCompressed || key == "taken.png") {
			t.Errorf("%s: %s, target exists: %v, %v", key, r.Outcome, exists, err)
		}
		if r.Outcome == jobs.OutcomeCompressed && (r.Verified != "full" || r.DecodedHash != r.PixelHash || r.Fingerprint == "" || r.TargetSHA256 == "") {
			t.Errorf("%s: record lacks proof: %+v", key, r)
		}
		if r.SHA256 != sums[key] { // also of what was not read
			t.Errorf("%s: SHA-256 %q of the source, want %q", key, r.SHA256, sums[key])
		}
	}
	if r := got["opaque.png"]; r.Note == "" || r.Channels != 3 {
		t.Errorf("opaque alpha: %+v", r)
	}
	equalBytes(t, j.target, "taken.fake", taken)
	if n := w.guards.stuck.Load(); n != 1 {
		t.Errorf("%d encoders are stuck, want 1", n)
	}
	if most := c.most.Load(); most > 3 {
		t.Errorf("%d encoders at once, want at most 3", most)
	}
	if counts := w.unready(j.ctx); len(counts) == 0 {
		t.Error("a worker with a stuck encoder calls itself ready")
	}
}

func TestKeptSources(t *testing.T) {
	c := misbehaving(nil)
	for _, mode := range []string{"leave", "copy"} {
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Larger = mode })
		data := png(t, photo(1, larger, 9, 3))
		j.put("a/b.png", data)
		j.plan()
		j.compress(c)
		r := j.results()["a/b.png"]
		if r.Outcome != jobs.OutcomeKept || r.Ratio != 0 {
			t.Errorf("%s: %+v", mode, r)
		}
		if mode == "copy" {
			equalBytes(t, j.target, "a/b.png", data)
			if r.Target != "a/b.png" || r.TargetSHA256 != r.SHA256 {
				t.Errorf("copy: %+v", r)
			}
		} else if ok, _ := j.target.Exists(j.ctx, "a/b.png"); ok || r.Target != "" {
			t.Errorf("leave: target %q, exists %v", r.Target, ok)
		}
	}
}

func TestWhatIsReplaced(t *testing.T) {
	c := &fake{}
	for name, test := range map[string]struct {
		entry     jobs.Entry
		overwrite bool
		meta      map[string]string
		want      jobs.Outcome
	}{
		"stranger":        {want: jobs.OutcomeFailed},
		"ledger says so":  {entry: jobs.Entry{Old: []jobs.Version{{Size: 3, SHA256: "cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"}}}, want: jobs.OutcomeCompressed},
		"user says so":    {overwrite: true, want: jobs.OutcomeCompressed},
		"unknown owner":   {meta: map[string]string{"pelmill_fingerprint": "0123"}, want: jobs.OutcomeFailed},
		"strange target":  {entry: jobs.Entry{Full: true}, want: jobs.OutcomeCompressed},
		"other metadata":  {meta: map[string]string{"fingerprint": "0123"}, want: jobs.OutcomeFailed},
		"unknown version": {entry: jobs.Entry{Size: -1}, want: jobs.OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Overwrite = test.overwrite })
			data := png(t, photo(1, 20, 20, 3))
			j.put("a.png", data)
			old := []byte("old")
			if _, err := storage.Put(j.ctx, j.target, "a.fake", old, &storage.PutOptions{Metadata: test.meta}); err != nil {
				t.Fatal(err)
			}
			e := test.entry
			e.Key = "a.png"
			if e.Size == 0 {
				e.Size = int64(len(data))
			}
			j.plan(e)
			j.compress(c)
			r := j.results()["a.png"]
			if r.Outcome != test.want {
				t.Errorf("%s (%s), want %s", r.Outcome, r.Error, test.want)
			}
			if test.want == jobs.OutcomeFailed {
				equalBytes(t, j.target, "a.fake", old)
			} else if _, meta, err := storage.Stat(j.ctx, j.target, r.Target); err != nil || meta["pelmill_fingerprint"] != r.Fingerprint {
				t.Errorf("%s: metadata %v, %v", r.Target, meta, err)
			}
		})
	}
}

// A source that changed since it was listed is compressed as it is now, and
// recorded as that.
func TestChangedSource(t *testing.T) {
	c := &fake{}
	for _, source := range []string{"mem://source", t.TempDir()} {
		j := newJob(t, source, "mem://target", c, nil)
		j.put("a.png", png(t, photo(1, 20, 20, 3)))
		j.put("b.png", nil)
		j.plan()
		fresh := png(t, photo(2, 31, 20, 3))
		j.put("a.png", fresh)
		j.put("b.png", fresh)
		j.compress(c)
		for _, key := range []string{"a.png", "b.png"} {
			now, _, err := storage.Stat(j.ctx, j.source, key)
			if err != nil {
				t.Fatal(err)
			}
			r := j.results()[key]
			want := j.spec.Fingerprint(jobs.Entry{ETag: now.ETag, Size: now.Size})
			if r.Outcome != jobs.OutcomeCompressed || r.ETag != now.ETag || r.Size != now.Size || r.Fingerprint != want || r.Width != 31 {
				t.Errorf("%s: %+v, the source is %+v", key, r, now)
			}
		}
	}
}

func TestVerifyModes(t *testing.T) {
	c := misbehaving(nil)
	for verify, want := range map[string]struct {
		outcome  jobs.Outcome
		verified string
	}{
		"full":     {jobs.OutcomeFailed, ""},
		"device":   {jobs.OutcomeFailed, ""},
		"sample:1": {jobs.OutcomeFailed, ""},
		"sample:0": {jobs.OutcomeCompressed, "off"},
		"off":      {jobs.OutcomeCompressed, "off"},
	} {
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = verify })
		j.put("a.png", png(t, photo(1, wrongImage, 9, 3)))
		j.plan()
		j.compress(c)
		if r := j.results()["a.png"]; r.Outcome != want.outcome || r.Verified != want.verified {
			t.Errorf("%s: %s, verified %q, want %+v", verify, r.Outcome, r.Verified, want)
		}
	}
	n := 0
	for i := range 10000 {
		if wanted("sample:0.25", "some/key/"+string(rune('a'+i%26))+"/"+time.Duration(i).String()) {
			n++
		}
	}
	if n < 2200 || n > 2800 {
		t.Errorf("sample:0.25 takes %d of 10000 keys", n)
	}
}

func TestQualityFloor(t *testing.T) {
	c := misbehaving(nil)
	c.lossy = true
	for floor, want := range map[float64]jobs.Outcome{0: jobs.OutcomeCompressed, 40: jobs.OutcomeCompressed, 98: jobs.OutcomeRejected} {
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.MinPSNR = floor })
		j.put("a.png", png(t, photo(1, wrongImage, 9, 3)))
		j.plan()
		j.compress(c)
		r := j.results()["a.png"]
		if r.Outcome != want || r.PSNR < 40 && want == jobs.OutcomeCompressed {
			t.Errorf("floor %v: %s with %v dB (%s), want %s", floor, r.Outcome, r.PSNR, r.Error, want)
		}
		if want == jobs.OutcomeRejected && (r.Class != class.Quality || r.Attempts != 1 || r.Verdict != j.spec.QualityVerdict(jobs.Entry{ETag: r.ETag, Size: r.Size})) {
			t.Errorf("floor %v: class %s after %d attempts, verdict %s", floor, r.Class, r.Attempts, r.Verdict)
		}
	}
}

// A lossless codec with options that change images is held to the floor like a lossy one.
func TestOptionsThatChangeImages(t *testing.T) {
	c := misbehaving(nil)
	for options, want := range map[string]jobs.Outcome{"level=1": jobs.OutcomeFailed, "level=0": jobs.OutcomeCompressed} {
		j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Options = options })
		j.put("a.png", png(t, photo(1, wrongImage, 9, 3)))
		j.plan()
		j.compress(c)
		r := j.results()["a.png"]
		if r.Outcome != want || want == jobs.OutcomeCompressed && (r.PSNR < 20 || r.DecodedHash == r.PixelHash) {
			t.Errorf("%s: %s with %v dB (%s), want %s", options, r.Outcome, r.PSNR, r.Error, want)
		}
	}
}

// Options choose what files are called and which images are taken, and the record keeps
// what the codec says of a file.
func TestOptionsThatChooseFiles(t *testing.T) {
	c := misbehaving(nil)
	for options, ext := range map[string]string{"level=1": ".fake", "level=3": ".false"} {
		for _, verify := range []string{"full", "off"} {
			j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Options, s.Verify = options, verify })
			j.put("a.png", png(t, photo(1, 50, 9, 3)))
			page := []byte("P5\n9 9\n255\n" + strings.Repeat("a", 81))
			j.put("pages.pgm", bytes.Repeat(page, 3))
			j.plan()
			j.compress(c)
			r := j.results()["a.png"]
			if r.Outcome != jobs.OutcomeCompressed || r.Target != "a"+ext || r.Facts["hash"] != r.PixelHash || len(r.Facts) != 1 {
				t.Errorf("%s: %s as %s (%s), facts %v", options, r.Outcome, r.Target, r.Error, r.Facts)
			}
			want := jobs.OutcomeUnsupported
			if options == "level=3" {
				want = jobs.OutcomeCompressed
			}
			if r := j.results()["pages.pgm"]; r.Outcome != want || (r.Facts != nil) != (want == jobs.OutcomeCompressed) {
				t.Errorf("%s: frames are %s (%s), want %s", options, r.Outcome, r.Error, want)
			}
		}
	}
}

// An encoder that changes the image which it gets is noticed, although its result decodes to what is there then: it is
// held against the samples that were read.
func TestAnEncoderThatChangesItsImage(t *testing.T) {
	c := &fake{encode: func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		m.Pix[len(m.Pix)/2] ^= 1
		return nil, nil, false
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	j.put("a.png", png(t, photo(1, 9, 7, 3)))
	j.plan()
	if err := j.chunk(j.worker(Options{}, c), 0); err != nil {
		t.Fatal(err)
	}
	r := j.results()["a.png"]
	if r.Outcome != jobs.OutcomeFailed || r.Class != class.Verify || r.Target != "" {
		t.Errorf("%s, class %q: %s; target %q", r.Outcome, r.Class, r.Error, r.Target)
	}
}

// What is not hashed again has the hash of what was read, and one sample that differs is another hash.
func TestSameSamples(t *testing.T) {
	m := photo(1, 9, 7, 3)
	o := &object{image: m, sum: pixelSum(m)}
	same := *m
	same.Pix = bytes.Clone(m.Pix)
	if !o.sameSamples(&same) {
		t.Error("a copy is said to be other than what was read")
	}
	for i := range same.Pix {
		same.Pix[i] ^= 0x80
		if o.sameSamples(&same) {
			t.Errorf("sample %d differs, and it is said to be the same", i)
		}
		same.Pix[i] ^= 0x80
	}
	m.Pix[0] ^= 1
	same.Pix[0] ^= 1
	if o.sameSamples(&same) {
		t.Error("both were changed since the image was read, and it is said to be the same")
	}
	if (&object{image: m}).sameSamples(m) {
		t.Error("no sum was taken of the image, and it is said to be the same")
	}
}
