package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

func TestSelfTest(t *testing.T) {
	if err := SelfTest(t.Context(), vq.Codec{}, nil); err != nil {
		t.Error(err)
	}
	if err := SelfTest(t.Context(), &fake{}, &gpu.Device{}); err != nil {
		t.Error(err)
	}
	var onDevice atomic.Int64
	for name, c := range map[string]*fake{
		"panics": {encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) { panic("boo") }},
		"fails": {encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
			return nil, errors.New("no"), true
		}},
		"another picture": {decode: func(m *raster.Image) (*raster.Image, error, bool) {
			return raster.New(m.Width, m.Height, m.Depth, m.Channels, m.Bits), nil, true
		}},
		"another shape": {decode: func(m *raster.Image) (*raster.Image, error, bool) { return raster.New(1, 1, 1, 1, 8), nil, true }},
		"nothing":       {decode: func(m *raster.Image) (*raster.Image, error, bool) { return nil, nil, true }},
		"another file on the device": {encode: func(_ context.Context, dev *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
			return []byte("other"), nil, dev != nil
		}},
		"another file on the device for one of several": {encode: func(_ context.Context, dev *gpu.Device, _ *raster.Image) ([]byte, error, bool) {
			return []byte("other"), nil, dev != nil && onDevice.Add(1) == selfTestBatch
		}},
	} {
		if err := SelfTest(t.Context(), c, &gpu.Device{}); err == nil {
			t.Errorf("a codec that gives %s passes", name)
		} else if !strings.Contains(err.Error(), "fake") {
			t.Errorf("%v: want the codec's name in it", err)
		}
	}
	c := &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
		return nil, errors.New("no"), true
	}}
	j := newJob(t, "mem://source", "mem://target", c, nil).queued()
	if err := j.worker(Options{}, c).Run(t.Context()); err == nil {
		t.Error("a worker serves with a codec that fails its self-test")
	}
}

// With TestOnUse a codec is tested once, when the first job that needs it is seen: one that is registered before it has a
// chunk. A codec that no job needs is not tested, and one that fails ends the worker before it has done anything.
func TestSelfTestOnUse(t *testing.T) {
	tested := int64(len((&fake{}).Info().Accepts.Channels)) // images of the self-test
	for name, works := range map[string]bool{"a codec that works": true, "a codec that fails": false} {
		t.Run(name, func(t *testing.T) {
			c := &fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				return nil, errors.New("no"), !works
			}}
			j := newJob(t, "mem://source", "mem://target", c, nil).queued()
			j.photos(3, 8).plan()
			w := j.worker(Options{TestOnUse: true}, c, renamed{&fake{encode: func(context.Context, *gpu.Device, *raster.Image) ([]byte, error, bool) {
				t.Error("a codec is tested that no job needs")
				return nil, nil, false
			}}})
			ctx, cancel := context.WithCancel(j.ctx)
			over := make(chan error, 1)
			go func() { over <- w.Run(ctx) }()
			defer cancel()
			if !works {
				if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil {
					t.Fatal(err)
				}
				if err := <-over; err == nil || !strings.Contains(err.Error(), "self-test of codec fake") {
					t.Errorf("the worker ends with %v, want the self-test that failed", err)
				}
				if done, err := j.conn.Job(j.spec.ID).IsDone(j.ctx, 0); done || err != nil {
					t.Errorf("the chunk is done: %v, %v", done, err)
				}
				return
			}
			until(t, "the self-test before the first chunk", func() bool { return c.encoded.Load() == tested })
			for range 2 {
				if err := j.conn.Tasks(0).Enqueue(j.ctx, j.tasks[0]); err != nil && !errors.Is(err, queue.ErrQueued) {
					t.Fatal(err)
				}
			}
			if counts := j.wait(); counts.Compressed != 3 {
				t.Errorf("%+v, want 3 compressed", counts)
			}
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
			if n := c.encoded.Load(); n != tested+3 {
				t.Errorf("%d images were encoded, want %d of the self-test and 3 of the job", n, tested)
			}
		})
	}
}

// renamed is a codec under another name.
type renamed struct{ *fake }

func (r renamed) Info() codec.Info {
	info := r.fake.Info()
	info.Name = "renamed"
	return info
}

func TestHealth(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil).queued()
	j.photos(3, 8).plan()
	w := j.worker(Options{MetricsListen: ":0"}, &fake{})
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	if code, body := get("/readyz"); code != 503 || !strings.Contains(body, "self-test") {
		t.Errorf("before the start: %d %s", code, body)
	}
	w.tested.Store(true)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/livez":         "ok",
		"/readyz":        "ok",
		"/metrics":       `pelmill_objects_total{class="",codec="fake",device="cpu",mode="encode",outcome="compressed"} 3`,
		"/debug/pprof/":  "goroutine",
		"/metrics?again": `pelmill_stage_seconds_count{stage="store"} 3`,
		"/metrics?gpu":   "pelmill_gpu_pictures_total 0",
		"/metrics?store": "pelmill_storage_retries_total 0",
	} {
		if code, body := get(path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, want 200 with %s", path, code, want)
		}
	}
	j.conn.Close()
	if code, _ := get("/readyz"); code != 503 {
		t.Errorf("without Redis: %d, want 503", code)
	}
	if code, _ := get("/livez"); code != 200 {
		t.Errorf("livez without Redis: %d, want 200", code)
	}
}

func TestListenIsLoopback(t *testing.T) {
	for _, address := range []string{":0", "0", "127.0.0.1:0"} {
		w, err := New(nil, storage.NewBuckets(), &Options{MetricsListen: address, Codecs: []codec.Codec{&fake{}}})
		if err != nil {
			t.Fatal(err)
		}
		stop, err := w.listen()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(w.address, "127.0.0.1:") {
			t.Errorf("%q listens at %s, want loopback", address, w.address)
		}
		stop()
	}
}

func TestLogKeys(t *testing.T) {
	w := &Worker{}
	if k := w.logKey("patient.png", "png"); k != "patient.png" {
		t.Errorf("%q", k)
	}
	hidden := func(key, format string) {
		if k := w.logKey(key, format); strings.Contains(k, "patient") || w.logKey("other"+key, format) == k || w.logKey(key, format) != k {
			t.Errorf("%q", k)
		}
	}
	hidden("patient.DCM", "")
	hidden("patient", "dicom")
	w.opts.HashKeys = true
	hidden("patient.png", "png")
	w.opts.LogKey = strings.ToUpper
	if k := w.logKey("patient.png", "png"); k != "PATIENT.PNG" {
		t.Errorf("%q", k)
	}
}

func TestDecompress(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", vq.Codec{}, nil)
	for _, key := range []string{"a.png", "f/b.png", "f/c.png", "taken.png"} {
		j.put(key, png(t, photo(3, 65, 33, 3)))
	}
	j.put("grey.png", png(t, photo(4, 131, 97, 1)))
	j.plan()
	j.compress(vq.Codec{})
	records := j.results()
	file, err := j.target.ReadAll(j.ctx, "a.vq")
	if err != nil {
		t.Fatal(err)
	}
	j.write("full.jpg.VQ", file)
	j.write("cut.vq", file[:len(file)/2])
	j.write("text.vq", []byte("text"))
	j.write("other.txt", []byte("text"))
	j.write("unnamed", file)
	j.write(".vq", file)

	out := j.open(t.TempDir())
	if _, err := storage.Put(j.ctx, out, "taken.png", []byte("mine"), nil); err != nil {
		t.Fatal(err)
	}
	results := map[string]jobs.Result{}
	counts, err := Decompress(j.ctx, j.target, out, &DecompressOptions{OnResult: func(r jobs.Result) { results[r.Key] = r }})
	if err != nil {
		t.Fatal(err)
	}
	want := jobs.Counts{Objects: 8, Compressed: 5, Rejected: 2, Failed: 1}
	if counts.Objects != want.Objects || counts.Compressed != want.Compressed || counts.Rejected != want.Rejected || counts.Failed != want.Failed {
		t.Errorf("counts %+v, want %+v", counts, want)
	}
	for key, target := range map[string]string{"a.vq": "a.png", "f/b.vq": "f/b.png", "full.jpg.VQ": "full.jpg.png", "grey.vq": "grey.png"} {
		r := results[key]
		data, err := out.ReadAll(j.ctx, target)
		if err != nil || r.Target != target || r.Outcome != jobs.OutcomeCompressed {
			t.Errorf("%s: %+v, %v", key, r, err)
			continue
		}
		if r.TargetSHA256 != sumOf(data) {
			t.Errorf("%s: SHA-256 %s of the picture file, want %s", key, r.TargetSHA256, sumOf(data))
		}
		m, err := imageio.Decode(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		if rec := records[jobs.Stem(key, ".vq")+".png"]; rec.Key != "" && m.Hash() != rec.DecodedHash {
			t.Errorf("%s is not the picture that was verified", target)
		}
	}
	for key, r := range results {
		if data, err := j.target.ReadAll(j.ctx, key); err != nil || r.SHA256 != sumOf(data) {
			t.Errorf("%s: SHA-256 %s, want %s, %v", key, r.SHA256, sumOf(data), err)
		}
	}
	if r := results["taken.vq"]; r.Class != class.Exists {
		t.Errorf("taken.vq: %+v", r)
	}
	equalBytes(t, out, "taken.png", []byte("mine"))

	again, err := Decompress(j.ctx, j.target, out, &DecompressOptions{Sniff: true, Overwrite: true, Format: "pnm",
		Filter: func(key string) bool { return !strings.HasPrefix(key, "f/") }})
	if err != nil || again.Compressed != 6 || again.Unsupported != 1 || again.Rejected != 2 {
		t.Errorf("with sniff: %+v, %v", again, err)
	}
	third, err := Decompress(j.ctx, j.target, out, &DecompressOptions{Filter: func(key string) bool { return strings.HasPrefix(key, "f/") }})
	if err != nil || third.Skipped != 2 || third.Objects != 2 {
		t.Errorf("again: %+v, %v, want both skipped", third, err)
	}
	if _, err := Decompress(j.ctx, j.target, out, &DecompressOptions{Format: "jpeg"}); err == nil {
		t.Error("format jpeg is accepted")
	}
	if _, err := Decompress(j.ctx, j.open("/nonexistent/folder"), out, nil); !storage.IsNotExist(err) {
		t.Errorf("%v, want that the folder does not exist", err)
	}
}

// Files that name a shared codebook find it in their own bucket.
func TestSharedCodebook(t *testing.T) {
	c := vq.Codec{}
	options, err := c.Options([]string{"codebook=job", "n=16"})
	if err != nil {
		t.Fatal(err)
	}
	asset, err := c.Train(t.Context(), codec.Run{}, []*raster.Image{photo(1, 64, 64, 3)}, options)
	if err != nil {
		t.Fatal(err)
	}
	with, err := options.(codec.SharedOptions).WithAsset(asset)
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Options = with.String() }).queued()
	j.photos(3, 40).plan()
	if err := j.chunk(j.worker(Options{}, c), 0); err == nil {
		t.Error("a chunk without its codebook succeeds")
	}
	_, hash, _ := strings.Cut(with.String(), "sha256:")
	hash, _, _ = strings.Cut(hash, " ")
	j.write(jobs.AssetKey(hash), asset)
	if counts := j.run(j.worker(Options{}, c)); counts.Compressed != 3 {
		t.Errorf("%+v, want 3 compressed", counts)
	}
	if counts, err := Decompress(j.ctx, j.target, j.open("mem://out"), nil); err != nil || counts.Compressed != 3 {
		t.Errorf("decompress: %+v, %v", counts, err)
	}
	if report, err := VerifyTarget(j.ctx, j.target, j.each, nil); err != nil || report.Good != 3 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

// each calls fn with all records, as a scheduler's client does.
func (j *job) each(fn func(jobs.Claim) error) error {
	for _, r := range j.results() {
		if err := fn(jobs.Claim{Result: r}); err != nil {
			return err
		}
	}
	return nil
}

func TestVerifyTarget(t *testing.T) {
	c := misbehaving(nil)
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Larger = "copy"; s.Verify = "off" })
	for _, key := range []string{"good", "gone", "longer", "shorter", "content", "damaged", "strange", "taken"} {
		j.put(key+".png", png(t, photo(1, 20, 20, 3)))
	}
	j.put("other.png", png(t, photo(1, wrongImage, 20, 3)))
	j.put("panics.png", png(t, photo(1, panicsDecoding, 20, 3)))
	j.put("kept.png", png(t, photo(1, larger, 20, 3)))
	j.put("bad.png", []byte("bad"))
	j.plan()
	j.compress(c)
	records := j.results()
	change := func(key string, data []byte, alsoRecord bool) {
		put, err := storage.Put(j.ctx, j.target, key+".fake", data, &storage.PutOptions{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		if r := records[key+".png"]; alsoRecord {
			r.TargetSize, r.TargetSHA256 = put.Size, hexOf(put.SHA256)
			records[key+".png"] = r
		}
	}
	file, err := j.target.ReadAll(j.ctx, "good.fake")
	if err != nil {
		t.Fatal(err)
	}
	change("longer", append(file, 1), false)
	change("shorter", file[1:], false)
	change("content", append([]byte("F"), file[1:]...), false)
	change("damaged", []byte("nothing"), true)
	if err := storage.Delete(j.ctx, j.target, "gone.fake"); err != nil {
		t.Fatal(err)
	}
	strange := records["strange.png"]
	strange.Codec = "nosuch"
	records["strange.png"] = strange
	each := func(fn func(jobs.Claim) error) error {
		for key, r := range records {
			claim := jobs.Claim{Result: r}
			if key == "taken.png" {
				claim.Owner = &jobs.Owner{Job: "20260102-030405-abcd", Source: "file:///other"}
			}
			if err := fn(claim); err != nil {
				return err
			}
		}
		return nil
	}
	got := map[string]string{}
	report, err := VerifyTarget(j.ctx, j.target, each, &VerifyOptions{Codecs: []codec.Codec{c}, OnDone: func(v Verdict) { got[v.Key] = v.Problem }})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"good.png": "", "kept.png": "", "gone.png": ProblemMissing, "longer.png": ProblemSize, "shorter.png": ProblemSize,
		"content.png": ProblemContent, "damaged.png": ProblemDecode, "panics.png": ProblemDecode, "other.png": ProblemImage, "strange.png": ProblemUnknown,
		"taken.png": ProblemReplaced}
	for key, problem := range want {
		if p, ok := got[key]; !ok || p != problem {
			t.Errorf("%s: problem %q, want %q", key, p, problem)
		}
	}
	if report.Records != 12 || report.Without != 1 || report.Objects != 11 || report.Good != 2 || report.Bad() != 9 {
		t.Errorf("report %+v", report)
	}
	report, err = VerifyTarget(j.ctx, j.target, each, &VerifyOptions{Codecs: []codec.Codec{c}, Sample: 1e-9})
	if err != nil || report.Left != 11 || report.Objects != 0 {
		t.Errorf("sample: %+v, %v", report, err)
	}
	broken := errors.New("no records")
	if _, err := VerifyTarget(j.ctx, j.target, func(func(jobs.Claim) error) error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }
