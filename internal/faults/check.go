package faults

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// MinPSNR is what a result of the generated images reaches with the coarse codebooks of the fault tests; a wrong
// image of the same shape has 15 dB or less.
const MinPSNR = 22

// Checked is what [Check] found, for assertions of a single test.
type Checked struct {
	Spec    jobs.Spec
	Plan    jobs.Plan
	Report  jobs.Report
	Results map[string]jobs.Result // of this job, by source key
	Entries map[string]jobs.Entry  // planned in this job, by source key

	known map[string]jobs.Result // by source key, of earlier jobs
}

// Record is the record of a source, of this job or of an earlier one whose result the plan took as it is.
func (c *Checked) Record(key string) (r jobs.Result, ok bool) {
	if r, ok = c.Results[key]; !ok {
		r, ok = c.known[key]
	}
	return r, ok
}

// Check fails the test unless job id in target has ended in state done and says the truth about sources, which are
// all objects of its source:
//
//   - Every source has exactly one record, either in this job or, where the plan skipped it, in one of the earlier
//     jobs.
//   - The outcome is one that the source allows, and one that is not a success has a class and a sentence.
//   - A result has the recorded size and checksums, decodes to the recorded image, and that is the source's
//     image as far as the recorded PSNR says. What is no success has no object in the target.
//   - The records of the shards, of the merged files and of failed.jsonl agree; the counters of each shard and of the
//     report are sums over records.
//   - The target holds the results and, under .pelmill/, what jobs own; nothing else.
//
// The target is read directly, so it is to be opened past any [Proxy]. c decodes the results; nil: the codec that each
// record names. A source that its record says comes back does so.
func Check(t testing.TB, target *storage.Bucket, c codec.Codec, sources []Source, id string, earlier ...string) *Checked {
	t.Helper()
	return CheckTogether(t, target, c, Part{sources, id, earlier})[0]
}

// Part is one of the jobs that share a target, with its own source.
type Part struct {
	Sources []Source // all objects of the source
	ID      string
	Earlier []string // jobs of the same source that did what this one skipped
}

// CheckTogether is [Check] of a target into which the jobs of several sources have written. A result that two of them
// want is that of one, and the other has a record that says so.
func CheckTogether(t testing.TB, target *storage.Bucket, c codec.Codec, parts ...Part) (all []*Checked) {
	t.Helper()
	k := &check{t: t, ctx: context.Background(), target: target, codec: c, owner: map[string]string{}}
	for _, p := range parts {
		all = append(all, k.part(p))
	}
	for i, p := range parts {
		for _, s := range p.Sources {
			if r, ok := all[i].Results[s.Key]; ok {
				k.object(&all[i].Spec, s, r, all[i].Entries[s.Key])
			} else if r, ok := all[i].known[s.Key]; ok {
				k.object(&all[i].Spec, s, r, jobs.Entry{})
			}
		}
	}
	want := map[string]bool{}
	for key := range k.owner {
		want[key] = true
	}
	k.strays(want)
	return all
}

// part reads the records of a job, and whose each result is.
func (k *check) part(p Part) *Checked {
	k.t.Helper()
	found := k.job(p.ID)
	found.known = map[string]jobs.Result{}
	for _, e := range p.Earlier {
		for key, r := range k.job(e).Results {
			if r.Outcome == jobs.OutcomeCompressed || r.Outcome == jobs.OutcomeKept {
				found.known[key] = r
			}
		}
	}
	if found.Report.State != jobs.StateDone {
		k.t.Errorf("job %s ended as %q (%s), want done", p.ID, found.Report.State, found.Report.Reason)
	}
	if found.Plan.Objects != int64(len(p.Sources)) {
		k.t.Errorf("the plan has %d objects, want %d", found.Plan.Objects, len(p.Sources))
	}
	if int64(len(found.Results))+found.Plan.Skipped != int64(len(p.Sources)) {
		k.t.Errorf("%d records and %d skipped, want together %d", len(found.Results), found.Plan.Skipped, len(p.Sources))
	}
	for _, s := range p.Sources {
		r, ok := found.Results[s.Key]
		if !ok {
			if r, ok = found.known[s.Key]; !ok {
				k.t.Errorf("%s has no record", s.Key)
				continue
			}
		}
		if r.Outcome != jobs.OutcomeCompressed {
			continue
		}
		if other, twice := k.owner[r.Target]; twice {
			k.t.Errorf("%s is the result of two sources: of %s in job %s, and of %s", r.Target, s.Key, p.ID, other)
		}
		k.owner[r.Target] = s.Key + " in job " + p.ID
	}
	return found
}

type check struct {
	t      testing.TB
	ctx    context.Context
	target *storage.Bucket
	codec  codec.Codec
	owner  map[string]string // of each result: its source, by the key of the target
}

// job reads one job and checks that what it says of itself agrees.
func (k *check) job(id string) *Checked {
	k.t.Helper()
	f := &Checked{Results: map[string]jobs.Result{}, Entries: map[string]jobs.Entry{}}
	k.json(jobs.Folder(id).Spec(), &f.Spec)
	k.json(jobs.Folder(id).Plan(), &f.Plan)
	k.json(jobs.Folder(id).Report(), &f.Report)

	var merged []jobs.Result
	for _, key := range f.Report.Results {
		lines(k, key, func(r jobs.Result) error {
			merged = append(merged, r)
			return nil
		})
	}
	var total jobs.Counts
	for i := range merged {
		r := &merged[i]
		if _, twice := f.Results[r.Key]; twice {
			k.t.Errorf("job %s: %s has two records", id, r.Key)
		}
		f.Results[r.Key] = *r
		total.Add(r)
	}
	total.Skipped += f.Plan.Skipped
	total.Objects += f.Plan.Skipped
	if f.Report.Counts != total {
		k.t.Errorf("job %s: the report counts\n%+v, the records sum to\n%+v", id, f.Report.Counts, total)
	}
	k.shards(id, f, merged)
	k.failed(id, f, merged)
	k.entries(id, f)
	return f
}

// shards compares the shards with the merged records. A finished job may have dropped its shards, but not some.
func (k *check) shards(id string, f *Checked, merged []jobs.Result) {
	k.t.Helper()
	var all []jobs.Result
	var total jobs.Counts
	n := 0
	for _, key := range k.list(jobs.Folder(id).Results()) {
		chunk, ok := jobs.ParseResultKey(key)
		if !ok {
			k.t.Errorf("job %s: %s is no shard", id, key)
			continue
		}
		n++
		var head jobs.Shard
		var sum jobs.Counts
		var sums jobs.Sums
		line := 0
		lines(k, key, func(raw json.RawMessage) error {
			if line++; line == 1 {
				return json.Unmarshal(raw, &head)
			}
			var r jobs.Result
			if err := json.Unmarshal(raw, &r); err != nil {
				return err
			}
			sum.Add(&r)
			sums.Add(&r)
			all = append(all, r)
			return nil
		})
		if head.Job != id || head.Chunk != chunk || head.Counts != sum {
			k.t.Errorf("job %s: shard %s says %+v, its records sum to %+v", id, key, head, sum)
		}
		if head.Sums != nil && !reflect.DeepEqual(*head.Sums, sums) {
			k.t.Errorf("job %s: shard %s says %+v, its records have %+v", id, key, *head.Sums, sums)
		}
		if chunk < len(f.Plan.Chunks) && f.Plan.Chunks[chunk].Objects != int(sum.Objects) {
			k.t.Errorf("job %s: shard %s has %d records, its chunk %d objects", id, key, sum.Objects, f.Plan.Chunks[chunk].Objects)
		}
		total.Plus(sum)
	}
	if n == 0 {
		return
	}
	if n != f.Report.Attempted || f.Report.State == jobs.StateDone && n != len(f.Plan.Chunks) {
		k.t.Errorf("job %s: %d shards, %d chunks, %d attempted", id, n, len(f.Plan.Chunks), f.Report.Attempted)
	}
	if len(all) != len(merged) {
		k.t.Errorf("job %s: %d records in shards, %d merged", id, len(all), len(merged))
		return
	}
	for i := range all {
		if !reflect.DeepEqual(all[i], merged[i]) {
			k.t.Errorf("job %s: record %d is %+v in its shard and %+v merged", id, i, all[i], merged[i])
			return
		}
	}
}

// Records gives what the shards of a job say, which may not have ended, by source key.
func Records(t testing.TB, target *storage.Bucket, id string) map[string]jobs.Result {
	t.Helper()
	k := &check{t: t, ctx: context.Background(), target: target}
	found := map[string]jobs.Result{}
	for _, key := range k.list(jobs.Folder(id).Results()) {
		line := 0
		lines(k, key, func(raw json.RawMessage) error {
			if line++; line == 1 {
				return nil
			}
			var r jobs.Result
			err := json.Unmarshal(raw, &r)
			found[r.Key] = r
			return err
		})
	}
	return found
}

func (k *check) failed(id string, f *Checked, merged []jobs.Result) {
	k.t.Helper()
	var want, got []string
	for _, r := range merged {
		if r.Outcome == jobs.OutcomeRejected || r.Outcome == jobs.OutcomeFailed {
			want = append(want, r.Key)
		}
	}
	if f.Report.FailedList != "" {
		data, err := k.target.ReadAll(k.ctx, f.Report.FailedList)
		if err != nil {
			k.t.Errorf("job %s: failed list: %v", id, err)
		}
		names := sitekey.NewReader(k.ctx, k.target)
		for line := range bytes.Lines(data) {
			var r jobs.Result
			line, err := names.Line(line)
			if err == nil {
				err = json.Unmarshal(line, &r)
			}
			if err != nil {
				k.t.Errorf("job %s: failed list: %v", id, err)
				break
			}
			got = append(got, r.Key)
		}
	}
	if !slices.Equal(want, got) {
		k.t.Errorf("job %s: failed list %v, want %v", id, got, want)
	}
}

// entries reads the chunks of the plan.
func (k *check) entries(id string, f *Checked) {
	k.t.Helper()
	parts := map[int]bool{}
	for _, c := range f.Plan.Chunks {
		if parts[c.Part] {
			continue
		}
		parts[c.Part] = true
		lines(k, jobs.Folder(id).Chunks(c.Part), func(e jobs.Entry) error {
			if _, twice := f.Entries[e.Key]; twice {
				k.t.Errorf("job %s: %s is in two chunks", id, e.Key)
			}
			f.Entries[e.Key] = e
			return nil
		})
	}
}

// object compares one record with its source and its result.
func (k *check) object(spec *jobs.Spec, s Source, r jobs.Result, e jobs.Entry) {
	k.t.Helper()
	want := s.Want
	if want == nil {
		want = []jobs.Outcome{jobs.OutcomeCompressed}
	}
	if !slices.Contains(want, r.Outcome) {
		k.t.Errorf("%s: outcome %s (%s: %s), want %v", s.Key, r.Outcome, r.Class, r.Error, want)
		return
	}
	if r.Outcome != jobs.OutcomeCompressed && r.Outcome != jobs.OutcomeKept {
		if r.Class == "" || r.Error == "" {
			k.t.Errorf("%s: %s with class %q and text %q, want both", s.Key, r.Outcome, r.Class, r.Error)
		}
		if e.Key != "" && len(e.Old) == 0 && k.codec != nil {
			c, err := codecs.Resolve([]codec.Codec{k.codec}, spec.Codec, 0, spec.Options)
			if err != nil {
				k.t.Errorf("%s: options %q: %v", s.Key, spec.Options, err)
				return
			}
			key := e.TargetKey(c.Info().Extension)
			if k.owner[key] != "" {
				return // of another source
			}
			if ok, err := k.target.Exists(k.ctx, key); ok || err != nil {
				k.t.Errorf("%s: %s, but its target exists: %v, %v", s.Key, r.Outcome, ok, err)
			}
		}
		return
	}
	if err := k.success(spec, s, r); err != nil {
		k.t.Errorf("%s: %s: %v", s.Key, r.Outcome, err)
	}
}

func (k *check) success(spec *jobs.Spec, s Source, r jobs.Result) error {
	for _, v := range s.Also {
		if r.SHA256 == hexSHA256(v.Data) {
			s = v
		}
	}
	if sum := hexSHA256(s.Data); r.SHA256 != sum || r.Size != int64(len(s.Data)) {
		return fmt.Errorf("recorded source has %d bytes, SHA-256 %s; it has %d, %s", r.Size, r.SHA256, len(s.Data), sum)
	}
	c := k.codec
	if c == nil {
		var err error
		if c, err = codecs.Find(r.Codec); err != nil {
			return err
		}
	}
	exact, _ := c.(codec.SourceCodec)
	if exact == nil && r.PixelHash != s.Image.Hash() {
		return fmt.Errorf("pixel hash %s, the picture's is %s", r.PixelHash, s.Image.Hash())
	}
	if r.Width != s.Image.Width || r.Height != s.Image.Height || r.Channels != s.Image.Channels || r.Bits != s.Image.Bits {
		return fmt.Errorf("shape %d x %d x %d, %d bit, want %s", r.Width, r.Height, r.Channels, r.Bits, s.Image.Shape)
	}
	if r.Outcome == jobs.OutcomeKept {
		return nil
	}
	if want := spec.Fingerprint(jobs.Entry{ETag: r.ETag, Size: r.Size}); r.Fingerprint != want {
		return fmt.Errorf("fingerprint %s, want %s", r.Fingerprint, want)
	}
	data, err := k.target.ReadAll(k.ctx, r.Target)
	if err != nil {
		return err
	}
	if int64(len(data)) != r.TargetSize || hexSHA256(data) != r.TargetSHA256 {
		return fmt.Errorf("%s has %d bytes, SHA-256 %s; recorded are %d, %s", r.Target, len(data), hexSHA256(data), r.TargetSize, r.TargetSHA256)
	}
	if sum := md5.Sum(data); r.TargetMD5 != "" && r.TargetMD5 != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%s: MD5 differs from the recorded %s", r.Target, r.TargetMD5)
	}
	if exact != nil {
		return k.restored(exact, s, r, data)
	}
	if IsDICOM(s.Data) {
		if r.Exact != "dicom" {
			return fmt.Errorf("%s: recorded as exact %q, want dicom", r.Target, r.Exact)
		}
		m, err := decodeDICOM(data)
		if err == nil && m.Hash() != r.PixelHash {
			err = errors.New("it decodes to another picture")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Target, err)
		}
		return nil
	}
	out := c.Decode(k.ctx, codec.Run{}, [][]byte{data}, nil)[0]
	if out.Err != nil {
		return fmt.Errorf("%s: %w", r.Target, out.Err)
	}
	by, err := codecs.Resolve([]codec.Codec{c}, c.Info().Name, 0, optionsOf(spec))
	if err != nil {
		return fmt.Errorf("options %q: %w", spec.Options, err)
	}
	lossless := c.Info().KeepsImages(by.Options)
	onDevice := r.Verified == "device" && !lossless // a bit that changes on the way from a device changes hash and quality
	if h := out.Image.Hash(); h != r.DecodedHash && !(onDevice && r.DecodedHash == "") {
		return fmt.Errorf("%s decodes to %s, recorded is %s", r.Target, h, r.DecodedHash)
	}
	if lossless {
		if r.DecodedHash != r.PixelHash {
			return fmt.Errorf("%s: lossless, but it decodes to another picture", r.Target)
		}
		return nil
	}
	psnr, err := raster.PSNR(s.Image, out.Image)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Target, err)
	}
	if psnr < MinPSNR || math.Abs(psnr-r.PSNR) > 0.01 && !onDevice {
		return fmt.Errorf("%s: %.2f dB, recorded are %.2f dB, want at least %d", r.Target, psnr, r.PSNR, MinPSNR)
	}
	return nil
}

// optionsOf are those of the codec that a specification names. What is chosen by the source has default options.
func optionsOf(spec *jobs.Spec) string {
	if spec.Codec == codecs.Auto {
		return ""
	}
	return spec.Options
}

// restored checks a result that holds its source itself.
func (k *check) restored(c codec.SourceCodec, s Source, r jobs.Result, data []byte) error {
	if r.Exact != c.SourceFormat() {
		return fmt.Errorf("%s: recorded as exact %q, want %q", r.Target, r.Exact, c.SourceFormat())
	}
	out := c.Restore(k.ctx, codec.Run{}, [][]byte{data})[0]
	if out.Err == nil && !bytes.Equal(out.Data, s.Data) {
		return fmt.Errorf("%s: another source comes back", r.Target)
	}
	return out.Err
}

// IsDICOM reports whether a file is one of DICOM.
func IsDICOM(data []byte) bool { return len(data) > 132 && string(data[128:132]) == "DICM" }

func decodeDICOM(data []byte) (*raster.Image, error) {
	f, _, err := imageio.OpenDICOM(data, nil)
	if err != nil {
		return nil, err
	}
	return imageio.DecodeDICOM(f)
}

// strays looks for what should not be in the target.
func (k *check) strays(want map[string]bool) {
	k.t.Helper()
	for _, key := range Keys(k.t, k.target) {
		switch {
		case want[key]:
			delete(want, key)
		case strings.HasPrefix(key, jobs.JobsDir), strings.HasPrefix(key, jobs.Root+"assets/"), key == jobs.SiteKey, strings.HasPrefix(key, jobs.SiteKey+"."):
		default:
			k.t.Errorf("the target holds %s, which is nobody's result", key)
		}
	}
	for key := range want {
		k.t.Errorf("the target lacks %s", key)
	}
}

// Keys lists everything in a bucket; in a folder every file, whatever its name, except unfinished ones that a killed
// process left in .pelmill/tmp, which the next process that writes there sweeps.
func Keys(t testing.TB, b *storage.Bucket) []string {
	t.Helper()
	k := &check{t: t, ctx: context.Background(), target: b}
	if b.Kind() != "file" {
		return k.list("")
	}
	var keys []string
	err := filepath.WalkDir(b.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key, err := filepath.Rel(b.Dir(), path)
		if err == nil && !strings.HasPrefix(key, jobs.Root+"tmp/") {
			keys = append(keys, filepath.ToSlash(key))
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Errorf("walk %s: %v", b.Dir(), err)
	}
	return keys
}

// Whole fails the test unless every result in target, of a job that may still run, decodes. It is for the moment
// after an interruption. With c nil, the codec is the one that a result's name tells.
func Whole(t testing.TB, target *storage.Bucket, c codec.Codec) int {
	t.Helper()
	n := 0
	for _, key := range Keys(t, target) {
		if strings.HasPrefix(key, jobs.Root) {
			continue
		}
		own := c
		if c == nil {
			for _, o := range codecs.All() {
				if o.Info().Ending(key) != "" {
					own = o
				}
			}
		}
		data, err := target.ReadAll(context.Background(), key)
		dicom := IsDICOM(data)
		if !dicom && (own == nil || own.Info().Ending(key) == "") {
			t.Errorf("the target holds %s, which is no result", key)
			continue
		}
		n++
		if err == nil && dicom {
			_, err = decodeDICOM(data)
		} else if err == nil {
			err = own.Decode(context.Background(), codec.Run{}, [][]byte{data}, nil)[0].Err
		}
		if err != nil {
			t.Errorf("%s is no whole result: %v", key, err)
		}
	}
	return n
}

func (k *check) list(prefix string) (keys []string) {
	k.t.Helper()
	it := k.target.List(nil)
	for {
		o, err := it.Next(k.ctx)
		if errors.Is(err, io.EOF) {
			return keys
		}
		if err != nil {
			k.t.Errorf("list %s: %v", k.target.URL, err)
			return keys
		}
		if strings.HasPrefix(o.Key, prefix) && !strings.HasSuffix(o.Key, "/") {
			keys = append(keys, o.Key)
		}
	}
}

func (k *check) json(key string, v any) {
	k.t.Helper()
	data, err := k.target.ReadAll(k.ctx, key)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		k.t.Fatalf("read %s: %v", key, err)
	}
}

// lines calls fn for each line of an object of JSON lines.
func lines[T any](k *check, key string, fn func(T) error) {
	k.t.Helper()
	data, err := k.target.ReadAll(k.ctx, key)
	if err == nil {
		names := sitekey.NewReader(k.ctx, k.target)
		err = storage.DecodeLines(data, func(line json.RawMessage) error {
			var v T
			opened, err := names.Line(line)
			if err == nil {
				err = json.Unmarshal(opened, &v)
			}
			if err != nil {
				return err
			}
			return fn(v)
		})
	}
	if err != nil {
		k.t.Errorf("read %s: %v", key, err)
	}
}

func hexSHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
