package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/storage"
)

// VerifyOptions are those of [VerifyTarget].
type VerifyOptions struct {
	Device  *gpu.Device   // nil: CPU
	CPU     int           // images at once; 0: GOMAXPROCS
	Memory  int64         // bytes that the process may take, at least MinMemory; 0: DefaultMemory
	Timeout time.Duration // for decoding one file; 0: 10 min
	Sample  float64       // share of the objects to look at, chosen by key; 0: all
	Codecs  []codec.Codec // nil: [codecs.All]
	OnDone  func(Verdict) // called once for every object looked at, one at a time; nil: none
}

// Verdict is what VerifyTarget found of one object. Problem is empty where all is
// well.
type Verdict struct {
	Key     string `json:"key"`
	Target  string `json:"target"`
	Problem string `json:"problem,omitempty"` // missing, size, content, decode, image, replaced, unknown, storage or memory
	Error   string `json:"error,omitempty"`   // one sentence
}

// What can be wrong with a target.
const (
	ProblemMissing  = "missing"  // it does not exist
	ProblemSize     = "size"     // it has another size than recorded
	ProblemContent  = "content"  // its SHA-256 is not the recorded one
	ProblemDecode   = "decode"   // it does not decode
	ProblemImage    = "picture"  // it decodes to another image than recorded
	ProblemReplaced = "replaced" // it is now the result of another source object
	ProblemUnknown  = "unknown"  // this build does not have the codec
	ProblemStorage  = "storage"  // it cannot be read
	ProblemMemory   = "memory"   // it needs more memory than there is to be decoded
)

// VerifyReport is the sum of the verdicts.
type VerifyReport struct {
	Records  int64            `json:"records"` // seen
	Without  int64            `json:"without"` // of these, without a target: left, failed, rejected, unsupported, skipped
	Left     int64            `json:"left"`    // of these, left out of the sample
	Objects  int64            `json:"objects"` // of these, looked at
	Good     int64            `json:"good"`
	Bytes    int64            `json:"bytes"` // read
	Problems map[string]int64 `json:"problems,omitempty"`
}

// Bad is the number of objects with a problem.
func (r VerifyReport) Bad() int64 { return r.Objects - r.Good }

// VerifyTarget proves a target against the records of its jobs: every recorded
// target exists with the recorded size and SHA-256, and decodes to the image that
// was recorded when it was made, and no other source object has taken it over.
// claims calls its argument with each record, such as scheduler.Client.Claims does.
//
// The error is one of the whole: records that cannot be read, a store that cannot
// be reached, the end of ctx.
func VerifyTarget(ctx context.Context, target *storage.Bucket, claims func(func(jobs.Claim) error) error, opts *VerifyOptions) (VerifyReport, error) {
	v := &verification{target: target, report: VerifyReport{Problems: map[string]int64{}}}
	if opts != nil {
		v.VerifyOptions = *opts
	}
	fill(&v.CPU, runtime.GOMAXPROCS(0))
	fill(&v.Memory, DefaultMemory())
	fill(&v.Timeout, objectTimeout)
	if v.Codecs == nil {
		v.Codecs = codecs.All()
	}
	if v.Sample < 0 || v.Sample > 1 {
		return v.report, fmt.Errorf("worker: verify: sample of %v: want 0 to 1", v.Sample)
	}
	if v.Memory < MinMemory || v.Timeout < 0 {
		return v.report, fmt.Errorf("worker: verify: memory of %d bytes and a time of %s: want at least %d and 0", v.Memory, v.Timeout, MinMemory)
	}
	v.budget, v.guards = newBudget(v.Memory), newGuards(v.Timeout, nil)
	v.decoders = make(chan struct{}, v.CPU)
	v.assets = newAssets().from(target)

	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	records := make(chan jobs.Claim, 2*v.CPU)
	var work sync.WaitGroup
	for range 2*v.CPU + 2 {
		work.Go(func() {
			for r := range records {
				if ctx.Err() != nil {
					continue
				}
				if err := v.object(ctx, &r); err != nil {
					fail(err)
				}
			}
		})
	}
	err := claims(func(r jobs.Claim) error {
		if v.leaveOut(&r.Result) {
			return nil
		}
		select {
		case records <- r:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(records)
	work.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return v.report, fmt.Errorf("worker: verify: %w", err)
	}
	return v.report, nil
}

type verification struct {
	VerifyOptions
	target   *storage.Bucket
	budget   *budget
	guards   *guards
	decoders chan struct{}
	assets   codec.Assets

	mu     sync.Mutex
	report VerifyReport
}

// leaveOut counts a record and reports whether there is nothing to look at.
func (v *verification) leaveOut(r *jobs.Result) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Records++
	switch {
	case r.Target == "" || r.Outcome != jobs.OutcomeCompressed && r.Outcome != jobs.OutcomeKept:
		v.report.Without++
	case v.Sample > 0 && !sampled(r.Key, v.Sample):
		v.report.Left++
	default:
		return false
	}
	return true
}

// problem is why a target is not as recorded.
type problem struct {
	kind string
	err  error
}

func (p *problem) Error() string { return p.err.Error() }

func problemf(kind, format string, args ...any) error {
	return &problem{kind, fmt.Errorf(format, args...)}
}

func (v *verification) object(ctx context.Context, r *jobs.Claim) error {
	verdict := Verdict{Key: r.Key, Target: r.Target}
	var err error
	if r.Owner != nil {
		err = problemf(ProblemReplaced, "job %s has written it since, from %s", r.Owner.Job, r.Owner.Source)
	} else if err = v.look(ctx, &r.Result, false); errors.Is(err, errWhole) {
		err = v.look(ctx, &r.Result, true)
	}
	var f *fault
	switch {
	case !errors.As(err, &f):
	case f == v.guards.timeout:
		err = &problem{ProblemDecode, f}
	default:
		err = &problem{ProblemMemory, f}
	}
	var p *problem
	if err != nil && !errors.As(err, &p) {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Objects++
	if p == nil {
		v.report.Good++
	} else {
		verdict.Problem, verdict.Error = p.kind, plain.Line(strings.Join(strings.Fields(p.err.Error()), " "))
		v.report.Problems[p.kind]++
	}
	if v.OnDone != nil {
		v.OnDone(verdict)
	}
	return nil
}

// look does an object with a share of the memory, or with the whole. A *fault says
// that it does not fit or does not end.
func (v *verification) look(ctx context.Context, r *jobs.Result, whole bool) error {
	held, err := v.budget.take(ctx, r.TargetSize, whole)
	if err != nil {
		return err
	}
	// A call that was given up still holds its memory.
	defer func() { held.release() }()
	got, err := storage.Get(ctx, v.target, r.Target, max(r.TargetSize, 1), nil)
	var large *storage.TooLargeError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case storage.IsNotExist(err):
		return problemf(ProblemMissing, "%w", err)
	case errors.As(err, &large):
		return problemf(ProblemSize, "%d bytes, recorded are %d", large.Size, r.TargetSize)
	case storage.Unreachable(err) && storage.Temporary(err):
		return err
	default:
		return problemf(ProblemStorage, "%w", err)
	}
	v.mu.Lock()
	v.report.Bytes += got.Size
	v.mu.Unlock()
	if got.Size != r.TargetSize {
		return problemf(ProblemSize, "%d bytes, recorded are %d", got.Size, r.TargetSize)
	}
	if sum := sha256.Sum256(got.Data); hex.EncodeToString(sum[:]) != r.TargetSHA256 {
		return problemf(ProblemContent, "SHA-256 %x, recorded is %s", sum, r.TargetSHA256)
	}
	if r.Outcome == jobs.OutcomeKept {
		return nil // a copy of the source
	}
	c := v.codec(r.Codec)
	if c == nil {
		return problemf(ProblemUnknown, "there is no codec %q", r.Codec)
	}
	head, err := c.Header(got.Data)
	if err != nil {
		return problemf(ProblemDecode, "%w", err)
	}
	if err := held.image(ctx, head.Memory, head.Memory); err != nil {
		return err
	}
	if err := take(ctx, v.decoders); err != nil {
		return err
	}
	err = v.guards.run(ctx, func() { <-v.decoders }, func(ctx context.Context) error {
		return v.decode(ctx, c, r, got.Data)
	})
	var deaf *deafError
	if errors.As(err, &deaf) {
		late := held
		held = new(share)
		deaf.then(late.release)
		return deaf.fault
	}
	return err
}

// codec is the one of that name; nil where there is none.
func (v *verification) codec(name string) codec.Codec {
	for _, c := range v.Codecs {
		if c.Info().Name == name {
			return c
		}
	}
	return nil
}

func (v *verification) decode(ctx context.Context, c codec.Codec, r *jobs.Result, file []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = problemf(ProblemDecode, "decoding it panicked: %v", p)
		}
	}()
	out := c.Decode(ctx, codec.Run{Device: v.Device}, [][]byte{file}, v.assets)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(out) != 1:
		return problemf(ProblemDecode, "%d pictures from one file", len(out))
	case out[0].Err != nil:
		return problemf(ProblemDecode, "%w", out[0].Err)
	}
	want := r.DecodedHash
	if want == "" {
		o, err := c.Options(strings.Fields(r.Options))
		if err == nil && c.Info().KeepsImages(o) {
			want = r.PixelHash
		}
	}
	if got := out[0].Image.Hash(); want != "" && got != want {
		return problemf(ProblemImage, "it decodes to %s, recorded is %s", got, want)
	}
	m := out[0].Image
	if !m.Same(r.Shape) {
		return problemf(ProblemImage, "it decodes to %s, recorded is %s", m.Shape, r.Shape)
	}
	return nil
}
