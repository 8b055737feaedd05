package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
)

// VerifyOptions are those of [VerifyTarget].
type VerifyOptions struct {
	Device  *gpu.Device   // nil: CPU
	CPU     int           // images at once; 0: [pool.Cores]
	Memory  int64         // bytes that the process may take, at least MinMemory; 0: DefaultMemory
	Timeout time.Duration // for decoding one file; 0: 10 min
	Trace   *Trace        // gets a timeline of the work; nil: none
	Sample  float64       // share of the objects to look at, chosen by key; 0: all
	Codecs  []codec.Codec // nil: [codecs.All]
	OnDone  func(Verdict) // called once for every object looked at, one at a time; nil: none
}

// Verdict is what VerifyTarget found of one object. Problem is empty where all is
// well.
type Verdict struct {
	Key        string `json:"key,omitempty"`
	KeyHash    string `json:"key_hash,omitempty"` // of a medical image: see [jobs.Result]
	Target     string `json:"target,omitempty"`
	TargetHash string `json:"target_hash,omitempty"`

	Problem string `json:"problem,omitempty"` // missing, size, content, decode, image, replaced, unknown, storage or memory
	Error   string `json:"error,omitempty"`   // one sentence

	Job         string `json:"job,omitempty"`          // that recorded it
	FoundSize   int64  `json:"found_size,omitempty"`   // bytes that are there and not what was recorded
	FoundSHA256 string `json:"found_sha256,omitempty"` // of them

	Format string   `json:"-"` // of the source, as the record has it
	Parts  []string `json:"-"` // keys of the parts of a series
}

// What can be wrong with a target.
const (
	ProblemMissing  = "missing"            // it does not exist
	ProblemSize     = "size"               // it has another size than recorded
	ProblemContent  = "content"            // its SHA-256 is not the recorded one
	ProblemDecode   = "decode"             // it does not decode
	ProblemImage    = "picture"            // it decodes to another image than recorded
	ProblemReplaced = jobs.ProblemReplaced // it is now the result of another source object
	ProblemUnknown  = jobs.ProblemUnknown  // this build does not have the codec
	ProblemStorage  = jobs.ProblemStorage  // it cannot be read
	ProblemMemory   = jobs.ProblemMemory   // it needs more memory than there is to be decoded
	ProblemSource   = "source"             // its source is not what it was made from, see [ProveSources]
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
		v.opts = *opts
	}
	if v.opts.Sample < 0 || v.opts.Sample > 1 {
		return v.report, fmt.Errorf("worker: verify: sample of %v: want 0 to 1", v.opts.Sample)
	}
	var err error
	v.decoding, err = newDecoding(v.opts.Device, v.opts.CPU, v.opts.Memory, v.opts.Timeout, v.opts.Codecs, newAssets().from(target))
	if err == nil {
		v.trace = v.opts.Trace
		err = v.each(ctx, func(found func(*object) error) error { return v.list(claims, found) }, v.object)
	}
	if err != nil {
		return v.report, fmt.Errorf("worker: verify: %w", err)
	}
	return v.report, nil
}

// verification is one call of VerifyTarget.
type verification struct {
	*decoding
	opts   VerifyOptions
	target *storage.Bucket
	report VerifyReport // guarded by mu

	proofs []SourceProof // by the index of the object; nil: sources are not looked at
	faults []error       // of them; guarded by mu
}

// list calls found with every record that is to be looked at.
func (v *verification) list(claims func(func(jobs.Claim) error) error, found func(*object) error) error {
	return claims(func(r jobs.Claim) error {
		if v.leaveOut(&r.Result) {
			return nil
		}
		return found(&object{claim: &r, attempts: 1})
	})
}

// leaveOut counts a record and reports whether there is nothing to look at.
func (v *verification) leaveOut(r *jobs.Result) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Records++
	switch {
	case r.Target == "" || r.Outcome == jobs.OutcomeFailed:
		v.report.Without++
	case v.opts.Sample > 0 && !sampled(r.Key, v.opts.Sample):
		v.report.Left++
	default:
		return false
	}
	return true
}

// object brings one object to its verdict, or says that it has to be tried again alone.
// The error is one of the whole.
func (v *verification) object(ctx context.Context, o *object) (alone bool, err error) {
	err = v.verify(ctx, o, false)
	if errors.Is(err, errWhole) {
		err = v.verify(ctx, o, true)
	}
	var f *fault
	switch {
	case err == nil:
	case !errors.As(err, &f):
		return false, err
	case o.needsToBeAlone(err):
		return true, nil
	}
	verdict := Verdict{Key: o.claim.Key, KeyHash: o.claim.KeyHash, Target: o.claim.Target, TargetHash: o.claim.TargetHash, Job: o.claim.Job, Format: o.claim.SourceFormat, FoundSize: o.found.Size, FoundSHA256: o.found.SHA256}
	for _, p := range o.claim.Parts {
		verdict.Parts = append(verdict.Parts, p.Key)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Objects++
	if f == nil {
		v.report.Good++
	} else {
		verdict.Problem, verdict.Error = problemOf(f), f.text()
		v.report.Problems[verdict.Problem]++
		if v.proofs != nil {
			v.faults[o.index] = fmt.Errorf("its result: %s: %s", verdict.Problem, verdict.Error)
			if verdict.Problem == ProblemSource {
				v.faults[o.index] = errors.New(verdict.Error)
			}
		}
	}
	if v.opts.OnDone != nil {
		v.opts.OnDone(verdict)
	}
	return false, nil
}

// problem is the fault of a target that is not as recorded. Its class is one of the
// problems above.
func problem(kind, format string, args ...any) *fault {
	return faultf(jobs.OutcomeFailed, kind, format, args...)
}

// problemOf is the problem that a fault shows.
func problemOf(f *fault) string {
	switch f.class {
	case ProblemMissing, ProblemSize, ProblemContent, ProblemDecode, ProblemImage, ProblemReplaced, ProblemUnknown, ProblemStorage, ProblemMemory, ProblemSource:
		return f.class
	case class.Limit:
		return ProblemMemory
	}
	return ProblemDecode
}

// verify takes an object through its stages, with a share of the memory or with the
// whole. It returns a [*fault] where the target or its source is not as recorded, or does not fit
// into memory.
func (v *verification) verify(ctx context.Context, o *object, whole bool) error {
	err := v.result(ctx, o, whole)
	if err == nil && v.proofs != nil {
		err = v.provesSources(ctx, o, whole)
	}
	return err
}

func (v *verification) result(ctx context.Context, o *object, whole bool) error {
	r := &o.claim.Result
	if owner := o.claim.Owner; owner != nil {
		return problem(ProblemReplaced, "job %s has written it since, from %s", owner.Job, owner.Source)
	}
	defer o.release()
	if err := v.fetch(ctx, o, whole); err != nil {
		return err
	}
	if r.Outcome != jobs.OutcomeCompressed {
		return nil // a copy of the source
	}
	if r.Exact == exactDICOM {
		return v.verifyDICOM(ctx, o)
	}
	i := slices.IndexFunc(v.codecs, func(c codec.Codec) bool { return c.Info().Name == r.Codec })
	if i < 0 {
		return problem(ProblemUnknown, "there is no codec %q", r.Codec)
	}
	o.codec = v.codecs[i]
	if r.Exact == exactSeries {
		return v.verifySeries(ctx, o)
	}
	if err := v.header(ctx, o, func(h codec.Header) int64 { return h.Memory }); err != nil {
		return err
	}
	if exact, ok := o.codec.(codec.SourceCodec); ok && r.Exact != "" {
		return v.attempts(ctx, o, attempt{call: restoring(exact), after: v.compareSource})
	}
	return v.attempts(ctx, o, attempt{call: v.decode, after: v.compare})
}

// fetch reads the target, takes the memory for it, and holds its bytes against the
// record.
func (v *verification) fetch(ctx context.Context, o *object, whole bool) error {
	r := &o.claim.Result
	err := v.get(ctx, o, whole, r.TargetSize, func(ctx context.Context) (storage.GetResult, error) {
		return storage.Get(ctx, v.target, r.Target, max(r.TargetSize, 1), nil)
	})
	var large *storage.TooLargeError
	var f *fault
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f):
		return err
	case storage.IsNotExist(err):
		return problem(ProblemMissing, "%w", err)
	case errors.As(err, &large):
		if o.found.SHA256, o.found.Size, err = storage.Sum(ctx, v.target, r.Target); err != nil {
			return problem(ProblemStorage, "%w", err)
		}
		return problem(ProblemSize, "%d bytes, recorded are %d", large.Size, r.TargetSize)
	case storage.Unreachable(err) && storage.Temporary(err):
		return err
	default:
		return problem(ProblemStorage, "%w", err)
	}
	size := int64(len(o.data))
	v.mu.Lock()
	v.report.Bytes += size
	v.mu.Unlock()
	sum := sumOf(o.data)
	if size != r.TargetSize || sum != r.TargetSHA256 {
		o.found.Size, o.found.SHA256 = size, sum
	}
	if size != r.TargetSize {
		return problem(ProblemSize, "%d bytes, recorded are %d", size, r.TargetSize)
	}
	if sum != r.TargetSHA256 {
		return problem(ProblemContent, "SHA-256 %s, recorded is %s", sum, r.TargetSHA256)
	}
	return nil
}

// compare holds the image against the record.
func (v *verification) compare(_ context.Context, _ codec.Run, o *object) error {
	r, m := &o.claim.Result, o.image
	want := r.DecodedHash
	if want == "" {
		resolved, err := codecs.Resolve([]codec.Codec{o.codec}, r.Codec, 0, r.Options)
		if err == nil && o.codec.Info().KeepsImages(resolved.Options) {
			want = r.PixelHash
		}
	}
	var f *fault
	if got := m.Hash(); want != "" && got != want {
		f = problem(ProblemImage, "it decodes to %s, recorded is %s", got, want)
	} else if !m.Same(r.Shape) {
		f = problem(ProblemImage, "it decodes to %s, recorded is %s", m.Shape, r.Shape)
	}
	if f == nil {
		return nil
	}
	// The CPU has the last word on what a device says against a file.
	f.again, f.alone = o.batches != nil, o.batches != nil
	return f
}
