package worker

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/jpegxl"
	"github.com/pelmill/pelmill/codecs/webp"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// auto makes a job that has the codec chosen for each source.
func auto(s *jobs.Spec) {
	r, err := codecs.Resolve(nil, codecs.Auto, 0, "")
	if err != nil {
		panic(err)
	}
	s.Codec, s.Version, s.Options = codecs.Auto, r.Info().Version, ""
}

// sixteen is a slope whose samples need 16 bits.
func sixteen(width, height int) *raster.Image {
	m := raster.New(width, height, 1, 1, 16)
	for i := range width * height {
		binary.NativeEndian.PutUint16(m.Pix[2*i:], uint16(i%width*301+i/width*77+i*i%5))
	}
	return m
}

func TestAutoChoosesForEachSource(t *testing.T) {
	jpeg := jpegxl.Codec{}.SourceSample()
	j := newJob(t, "mem://auto-source", "mem://auto-target", webp.Codec{}, auto)
	j.put("jpeg.png", jpeg) // what the file holds counts
	j.put("photo.png", png(t, photo(1, 90, 70, 3)))
	j.put("deep.png", png(t, sixteen(90, 70)))
	j.put("scan", mr(40, 30).file())
	j.put("text.txt", []byte("a text"))
	j.put("damaged.jpg", append(bytes.Clone(jpeg[:len(jpeg)/2]), make([]byte, 2000)...))
	j.plan()
	if err := j.chunk(j.worker(Options{}), 0); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		outcome              jobs.Outcome
		codec, target, exact string
	}{
		"jpeg.png":    {jobs.OutcomeCompressed, "jpegxl", "jpeg.jxl", "jpeg"},
		"photo.png":   {jobs.OutcomeCompressed, "webp", "photo.webp", ""},
		"deep.png":    {jobs.OutcomeCompressed, "jpeg2000", "deep.jp2", ""},
		"scan":        {jobs.OutcomeCompressed, "jpeg2000", "scan", "dicom"},
		"text.txt":    {jobs.OutcomeUnsupported, "auto", "", ""},
		"damaged.jpg": {jobs.OutcomeRejected, "jpegxl", "", ""},
	} {
		r := j.results()[key]
		if r.Outcome != want.outcome || r.Codec != want.codec || r.Target != want.target || r.Exact != want.exact {
			t.Errorf("%s: %s by %s, target %q, exact %q: %s; want %+v", key, r.Outcome, r.Codec, r.Target, r.Exact, r.Error, want)
		}
		if r.Outcome != jobs.OutcomeCompressed {
			continue
		}
		if r.Verified != verifyFull || want.exact == "" && (r.DecodedHash == "" || r.DecodedHash != r.PixelHash) {
			t.Errorf("%s: verified %q, %s decodes to %s", key, r.Verified, r.PixelHash, r.DecodedHash)
		}
		resolved, err := codecs.Resolve(nil, r.Codec, r.Version, r.Options)
		if err != nil || resolved.Info().Name != r.Codec {
			t.Errorf("%s: its record names codec %s %d %q: %v", key, r.Codec, r.Version, r.Options, err)
		}
	}

	// A delivery that was killed before its shard was written finds its results.
	before := j.results()
	if err := storage.Delete(j.ctx, j.target, jobs.Folder(j.spec.ID).Result(0)); err != nil {
		t.Fatal(err)
	}
	if err := j.chunk(j.worker(Options{}), 0); err != nil {
		t.Fatal(err)
	}
	for key, r := range j.results() {
		if old := before[key]; r.Outcome != old.Outcome || r.TargetSHA256 != old.TargetSHA256 || r.Target != old.Target {
			t.Errorf("%s: %s %s in the second delivery, %s %s in the first", key, r.Outcome, r.Target, old.Outcome, old.Target)
		}
	}
}

// A source that has become of another kind has one result: the new one. What somebody has put
// in the place of the old one stays, and so does the source where it lies among the results.
func TestAutoReplacesTheResultOfAnotherKind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change []byte // of what lies under the old name
		stays  bool
	}{{"recorded", nil, false}, {"changed", []byte("the user's own"), true}} {
		t.Run(tt.name, func(t *testing.T) {
			j := newJob(t, "mem://auto-source", "mem://auto-target", webp.Codec{}, auto)
			j.put("a.png", png(t, photo(1, 90, 70, 3)))
			j.plan()
			if err := j.chunk(j.worker(Options{}), 0); err != nil {
				t.Fatal(err)
			}
			old := j.results()["a.png"]
			if old.Target != "a.webp" {
				t.Fatalf("target %q: %s", old.Target, old.Error)
			}
			j.write(jobs.Folder(j.spec.ID).Report(), []byte(`{"state":"done"}`))
			if tt.change != nil {
				if _, err := storage.Put(j.ctx, j.target, "a.webp", tt.change, &storage.PutOptions{Overwrite: true}); err != nil {
					t.Fatal(err)
				}
			}

			next := newJobIn(t, j.buckets, j.spec.Source, j.spec.Target, webp.Codec{}, auto)
			next.spec.ID = "20991231-235959-aaaa"
			next.put("a.png", jpegxl.Codec{}.SourceSample())
			made := jobs.Version{Job: j.spec.ID, Size: old.TargetSize, SHA256: old.TargetSHA256}
			next.plan(jobs.Entry{Key: "a.png", Size: int64(len(jpegxl.Codec{}.SourceSample())), Old: []jobs.Version{made}})
			if err := next.chunk(next.worker(Options{}), 0); err != nil {
				t.Fatal(err)
			}
			if r := next.results()["a.png"]; r.Outcome != jobs.OutcomeCompressed || r.Target != "a.jxl" {
				t.Fatalf("%s, target %q: %s", r.Outcome, r.Target, r.Error)
			}
			if there, err := next.target.Exists(next.ctx, "a.webp"); err != nil || there != tt.stays {
				t.Errorf("the old result is there: %v, want %v (%v)", there, tt.stays, err)
			}
			lists := 0
			err := storage.Walk(next.ctx, next.target, &storage.WalkOptions{Prefix: jobs.DeletedDir}, func(p storage.Page) error {
				lists += len(p.Objects)
				return nil
			})
			if err != nil || (lists == 1) == tt.stays {
				t.Errorf("%d lists of deleted results (%v)", lists, err)
			}
		})
	}
}
