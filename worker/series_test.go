package worker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// A series is refused where the codec makes no volumes, and its record says what the
// parts are now, so that one that has changed since it was listed is another source.
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
		if r := records[key]; r.Outcome != jobs.OutcomeFailed || r.Class != class.Missing || len(r.Parts) != 2 || r.SourceFormat != "" || !strings.Contains(r.Error, "part 2 ") {
			t.Errorf("%s: %+v", key, r)
		}
	}
}

// seriesJob is a job that makes volumes, and the entry of a series of files.
func seriesJob(t *testing.T, files [][]byte) (*job, jobs.Entry) {
	t.Helper()
	j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, func(s *jobs.Spec) {
		o, err := jpeg2000.Codec{}.Options([]string{"container=jp3d"})
		if err != nil {
			t.Fatal(err)
		}
		s.Options, s.Verify = o.String(), "off"
	})
	e := jobs.Entry{Key: "patient/ct"}
	for i, data := range files {
		key := fmt.Sprintf("patient/ct/IM%03d", i)
		j.put(key, data)
		e.Parts = append(e.Parts, jobs.Part{Key: key, Size: -1})
	}
	e.Sum()
	return j, e
}

// Every file of a series comes back bit by bit from one object, which verify reads, too,
// whatever --verify the job had.
func TestSeriesBothWays(t *testing.T) {
	files := seriestest.Slices(11, func(i int, m *seriestest.Made) {
		m.Slope, m.Bits = fmt.Sprint(i+1), 16
		if i == 0 {
			m.Kind = `DERIVED\SECONDARY\LOCALIZER`
		}
	})
	files = append(files, []byte("what a viewer left here"), files[3][:400])
	j, e := seriesJob(t, files)
	j.plan(e)
	j.compress(jpeg2000.Codec{})
	r := j.results()["patient/ct"]
	if r.Outcome != jobs.OutcomeCompressed || r.Target != "patient/ct.jp3d" || r.Exact != exactSeries || r.SourceFormat != "dicom" || r.Verified != "full" || r.Depth != 10 ||
		len(r.Parts) != 13 || r.Parts[12].SHA256 != sumOf(files[12]) || r.TargetSize >= r.Size || r.Facts["whole_files"] != "2" ||
		r.Note != "3 of 13 files are in no volume: 1 localizers, 2 no DICOM images, or damaged" {
		t.Fatalf("%+v", r)
	}
	report, err := VerifyTarget(t.Context(), j.target, claims(r), nil)
	if err != nil || report.Good != 1 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	back := j.open("mem://back")
	var results []jobs.Result
	counts, err := Decompress(t.Context(), j.target, back, &DecompressOptions{OnResult: func(r jobs.Result) { results = append(results, r) }})
	if err != nil || counts.Compressed != 1 || len(results) != 1 || len(results[0].Parts) != 13 {
		t.Fatalf("%+v, %v, %+v", counts, err, results)
	}
	for i, want := range files {
		got, err := storage.Get(t.Context(), back, e.Parts[i].Key, 1<<20, nil)
		if err != nil || !bytes.Equal(got.Data, want) {
			t.Errorf("%s: %v", e.Parts[i].Key, err)
		}
	}
	if counts, err := Decompress(t.Context(), j.target, back, nil); err != nil || counts.Skipped != 1 {
		t.Errorf("once more: %+v, %v", counts, err)
	}
	// As a picture, too: any reader of volumes sees the largest one.
	if counts, err := Decompress(t.Context(), j.target, j.open("mem://nifti"), &DecompressOptions{Format: "nii", OnResult: func(r jobs.Result) { results = append(results, r) }}); err != nil || counts.Compressed != 1 {
		t.Errorf("as NIfTI: %+v, %v, %s", counts, err, results[len(results)-1].Error)
	}
	// Damage is found, and no file is written.
	object, err := storage.Get(t.Context(), j.target, r.Target, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	object.Data[len(object.Data)/3] ^= 1
	damaged := j.open("mem://damaged")
	if _, err := storage.Put(t.Context(), damaged, r.Target, object.Data, nil); err != nil {
		t.Fatal(err)
	}
	if report, err := VerifyTarget(t.Context(), damaged, claims(r), nil); err != nil || report.Good != 0 {
		t.Errorf("verify of a damaged object: %+v, %v", report, err)
	}
	none := j.open("mem://none")
	if counts, err := Decompress(t.Context(), damaged, none, nil); err != nil || counts.Compressed != 0 || counts.Failed+counts.Rejected != 1 {
		t.Errorf("decompress of a damaged object: %+v, %v", counts, err)
	}
}

func claims(r jobs.Result) func(func(jobs.Claim) error) error {
	return func(fn func(jobs.Claim) error) error { return fn(jobs.Claim{Result: r}) }
}

// Slices that make no volume are images one by one, with the reason, down to one of them.
func TestSeriesWithoutVolume(t *testing.T) {
	j, good := seriesJob(t, seriestest.Slices(7, func(i int, m *seriestest.Made) {
		m.Height += i % 2
		if i == 6 {
			m.Position = ""
		}
	}))
	one := jobs.Entry{Key: "patient/one", Parts: slices.Clone(good.Parts[3:4])}
	one.Sum()
	j.plan(good, one)
	j.compress(jpeg2000.Codec{})
	records := j.results()
	if r := records["patient/ct"]; r.Outcome != jobs.OutcomeCompressed || r.Facts["volumes"] != "0" || r.Facts["single_images"] != "7" ||
		r.Note != "7 of 7 files are in no volume: 6 slices of a shape, spacing and orientation that fewer than 8 have, 1 slices without position or orientation" {
		t.Errorf("%+v", r)
	}
	if r := records["patient/one"]; r.Outcome != jobs.OutcomeCompressed || r.Facts["single_images"] != "1" {
		t.Errorf("%+v", r)
	}
	back := j.open("mem://back")
	if counts, err := Decompress(t.Context(), j.target, back, nil); err != nil || counts.Compressed+counts.Skipped != 2 {
		t.Fatalf("%+v, %v", counts, err)
	}
	for _, p := range good.Parts {
		want, err := storage.Get(t.Context(), j.source, p.Key, 1<<20, nil)
		got, err2 := storage.Get(t.Context(), back, p.Key, 1<<20, nil)
		if err != nil || err2 != nil || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %v, %v", p.Key, err, err2)
		}
	}
}

// A series without a native image is unsupported, one with a missing part is failed, and
// neither keeps others from their results. The other files of a series whose part has gone
// are not half a result, and errors do not say the names of files.
func TestSeriesThatFail(t *testing.T) {
	j, good := seriesJob(t, append(seriestest.Slices(8, nil), []byte("no image")))
	few := jobs.Entry{Key: "few", Parts: slices.Clone(good.Parts[8:])}
	few.Sum()
	good.Parts = good.Parts[:8]
	good.Sum()
	gone := jobs.Entry{Key: "gone", Parts: append(slices.Clone(good.Parts), jobs.Part{Key: "patient/ct/IM999", Size: -1})}
	gone.Sum()
	j.plan(few, gone, good)
	j.compress(jpeg2000.Codec{})
	records := j.results()
	if r := records["few"]; r.Outcome != jobs.OutcomeUnsupported || !strings.Contains(r.Error, "1 of 1 files are in no volume: 1 no DICOM images, or damaged") || r.Target != "" {
		t.Errorf("%+v", r)
	}
	if r := records["gone"]; r.Outcome != jobs.OutcomeFailed || r.Class != class.Missing || r.Target != "" || strings.Contains(r.Error, "IM999") {
		t.Errorf("%+v", r)
	}
	if r := records["patient/ct"]; r.Outcome != jobs.OutcomeCompressed {
		t.Errorf("%+v", r)
	}
}

// A result that does not give the files back is never stored.
func TestSeriesAreProved(t *testing.T) {
	wrong := wrongVolumes{}
	j, e := seriesJob(t, seriestest.Slices(8, nil))
	j.plan(e)
	j.compress(wrong)
	if r := j.results()["patient/ct"]; r.Outcome != jobs.OutcomeFailed || r.Class != class.Verify || r.Target != "" {
		t.Errorf("%+v", r)
	}
}

// wrongVolumes changes a sample of each image.
type wrongVolumes struct{ jpeg2000.Codec }

func (w wrongVolumes) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	out := w.Codec.Decode(ctx, run, files, assets)
	for _, d := range out {
		if d.Image != nil {
			d.Image.Pix[0] ^= 1
		}
	}
	return out
}
