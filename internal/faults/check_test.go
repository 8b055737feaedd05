package faults_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// plain is a codec whose files are a line with the shape, and the samples.
type plain struct{}

func (plain) Info() codec.Info {
	return codec.Info{Name: "plain", Extension: ".raw", Version: 1, Lossless: true}
}

func (plain) Options([]string) (codec.Options, error) { return nil, nil }
func (c plain) file(m *raster.Image) []byte {
	return append(fmt.Appendf(nil, "%d %d %d\n", m.Width, m.Height, m.Channels), m.Pix...)
}

func (c plain) Encode(_ context.Context, _ codec.Run, items []codec.Item, _ codec.Options) []codec.Encoded {
	batch := codec.Images(items)
	out := make([]codec.Encoded, len(batch))
	for i, m := range batch {
		out[i].Data = c.file(m)
	}
	return out
}

func (plain) Decode(_ context.Context, _ codec.Run, batch [][]byte, _ codec.Assets) []codec.Decoded {
	out := make([]codec.Decoded, len(batch))
	for i, data := range batch {
		head, pix, _ := strings.Cut(string(data), "\n")
		var w, h, c int
		if n, _ := fmt.Sscanf(head, "%d %d %d", &w, &h, &c); n != 3 || w*h*c != len(pix) {
			out[i].Err = codec.Malformedf("plain: bad file")
			continue
		}
		m := raster.New(w, h, 1, c, 8)
		copy(m.Pix, pix)
		out[i].Image = m
	}
	return out
}

// recorder is a test that only notes its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	panic(r)
}

// finished is a finished job as the checker wants it: two good images and a bad one in two chunks.
type finished struct {
	sources []faults.Source
	spec    jobs.Spec
	plan    jobs.Plan
	report  jobs.Report
	chunks  [][]jobs.Result
	objects map[string][]byte // of the target, besides the job's
}

const jobID = "20260102-030405-abcd"

func newFinished() *finished {
	f := &finished{objects: map[string][]byte{}}
	f.sources = append(faults.Images(1, 2, 16), faults.Poison(1, 1)...)
	f.spec = jobs.Spec{ID: jobID, Codec: "plain", Version: 1}
	f.plan = jobs.Plan{Job: jobID, Objects: 3, Chunks: []jobs.Chunk{{Objects: 2}, {Objects: 1}}}
	f.report = jobs.Report{Job: jobID, State: jobs.StateDone, Chunks: 2, Attempted: 2,
		Results: []string{jobs.Folder(jobID).Merged(0)}, FailedList: jobs.Folder(jobID).Failed()}
	var all []jobs.Result
	for _, s := range f.sources {
		r := jobs.Result{Key: s.Key, Size: int64(len(s.Data)), SHA256: sum(s.Data), Outcome: jobs.OutcomeRejected, Class: class.Malformed, Error: "cut"}
		if m := s.Image; m != nil {
			file := plain{}.file(m)
			r.Outcome, r.Class, r.Error = jobs.OutcomeCompressed, "", ""
			r.Target, r.TargetSize, r.TargetSHA256 = jobs.Stem(s.Key, ".raw")+".raw", int64(len(file)), sum(file)
			r.PixelHash, r.DecodedHash = m.Hash(), m.Hash()
			r.Width, r.Height, r.Depth, r.Channels, r.Bits = m.Width, m.Height, 1, m.Channels, 8
			r.Fingerprint = f.spec.Fingerprint(jobs.Entry{Size: r.Size})
			f.objects[r.Target] = file
		}
		all = append(all, r)
		f.report.Counts.Add(&r)
	}
	f.chunks = [][]jobs.Result{all[:2], all[2:]}
	return f
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// check stores f and returns what the checker says of it.
func (f *finished) check(t *testing.T, spoil func(put func(key string, data []byte))) (failures []string) {
	t.Helper()
	buckets := storage.NewBuckets()
	defer buckets.Close()
	b, err := buckets.Open(t.Context(), "mem://target")
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, data []byte) {
		if err := b.WriteAll(t.Context(), key, data, nil); err != nil {
			t.Fatal(err)
		}
	}
	for key, v := range map[string]any{jobs.Folder(jobID).Spec(): f.spec, jobs.Folder(jobID).Plan(): f.plan, jobs.Folder(jobID).Report(): f.report} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		put(key, data)
	}
	var merged, entries storage.Lines
	var failed []byte
	for i, chunk := range f.chunks {
		var shard storage.Lines
		head := jobs.Shard{Job: jobID, Chunk: i}
		for _, r := range chunk {
			head.Counts.Add(&r)
			frame(t, &merged, r)
			frame(t, &entries, jobs.Entry{Key: r.Key, Size: r.Size})
			if r.Outcome == jobs.OutcomeRejected {
				line, _ := json.Marshal(r)
				failed = append(failed, append(line, '\n')...)
			}
		}
		frame(t, &shard, head)
		frame(t, &shard, chunk...)
		put(jobs.Folder(jobID).Result(i), shard.Bytes())
	}
	put(jobs.Folder(jobID).Merged(0), merged.Bytes())
	put(jobs.Folder(jobID).Chunks(0), entries.Bytes())
	put(jobs.Folder(jobID).Failed(), failed)
	for key, data := range f.objects {
		put(key, data)
	}
	if spoil != nil {
		spoil(put)
	}
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		failures = r.failures
	}()
	faults.Check(r, b, plain{}, f.sources, jobID)
	return r.failures
}

func frame[T any](t *testing.T, l *storage.Lines, lines ...T) {
	t.Helper()
	if _, _, err := storage.Frame(l, lines); err != nil {
		t.Fatal(err)
	}
}

func TestCheckPassesAGoodJob(t *testing.T) {
	if failures := newFinished().check(t, nil); len(failures) != 0 {
		t.Errorf("failures: %q", failures)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	type put = func(key string, data []byte)
	for name, spoil := range map[string]func(f *finished) func(put){
		"a lost record": func(f *finished) func(put) {
			f.chunks[0] = f.chunks[0][:1]
			return nil
		},
		"a record twice": func(f *finished) func(put) {
			f.chunks[1] = append(f.chunks[1], f.chunks[0][0])
			return nil
		},
		"a wrong counter": func(f *finished) func(put) {
			f.report.Counts.BytesOut++
			return nil
		},
		"a job that did not end well": func(f *finished) func(put) {
			f.report.State = jobs.StateCancelled
			return nil
		},
		"a good picture rejected": func(f *finished) func(put) {
			r := &f.chunks[0][0]
			delete(f.objects, r.Target)
			f.report.Counts = jobs.Counts{}
			*r = jobs.Result{Key: r.Key, Size: r.Size, Outcome: jobs.OutcomeRejected, Class: class.Malformed, Error: "no"}
			for _, c := range f.chunks {
				for i := range c {
					f.report.Counts.Add(&c[i])
				}
			}
			return nil
		},
		"a failure without a reason": func(f *finished) func(put) {
			f.chunks[1][0].Error = ""
			return nil
		},
		"an object of a rejected source": func(f *finished) func(put) {
			f.objects[jobs.Stem(f.sources[2].Key, ".raw")+".raw"] = []byte("x")
			return nil
		},
		"half a result": func(f *finished) func(put) {
			r := f.chunks[0][0]
			f.objects[r.Target] = f.objects[r.Target][:50]
			return nil
		},
		"the wrong picture": func(f *finished) func(put) {
			a, b := &f.chunks[0][0], &f.chunks[0][1]
			a.Target, b.Target = b.Target, a.Target
			a.TargetSize, b.TargetSize = b.TargetSize, a.TargetSize
			a.TargetSHA256, b.TargetSHA256 = b.TargetSHA256, a.TargetSHA256
			return nil
		},
		"a wrong fingerprint": func(f *finished) func(put) {
			f.chunks[0][1].Fingerprint = "00"
			return nil
		},
		"a missing result": func(f *finished) func(put) {
			delete(f.objects, f.chunks[0][1].Target)
			return nil
		},
		"a stray file": func(f *finished) func(put) {
			return func(p put) { p("a/00000.raw.tmp", nil) }
		},
		"a shard that disagrees": func(f *finished) func(put) {
			return func(p put) {
				var l storage.Lines
				frame(t, &l, jobs.Shard{Job: jobID, Chunk: 1, Counts: jobs.Counts{Objects: 1, Rejected: 1}})
				r := f.chunks[1][0]
				r.Error = "something else"
				frame(t, &l, r)
				p(jobs.Folder(jobID).Result(1), l.Bytes())
			}
		},
		"an empty failed list": func(f *finished) func(put) {
			return func(p put) { p(jobs.Folder(jobID).Failed(), nil) }
		},
		"no report": func(f *finished) func(put) {
			return func(p put) { p(jobs.Folder(jobID).Report(), nil) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFinished()
			failures := f.check(t, spoil(f))
			if len(failures) == 0 {
				t.Error("the checker found nothing")
			}
			t.Logf("%q", failures)
		})
	}
}

func (plain) Header([]byte) (codec.Header, error)                            { return codec.Header{}, nil }
func (plain) Memory(raster.Shape, *raster.Image, codec.Options) codec.Memory { return codec.Memory{} }
