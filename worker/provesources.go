package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// SourceProof is a result with the objects that it was made from, as a look at the store has found them: one, or the parts
// of a series that are still there.
type SourceProof struct {
	Claim   jobs.Claim
	Source  *storage.Bucket
	Objects []storage.Object
}

// ProveSources proves results as [VerifyTarget] does, and their sources beside them: each object has the bytes that the
// result was made from, and, where these bytes do not come back from the result, decodes to the picture of which the
// result's record tells. So nothing hangs on the record alone. It gives for each proof why it does not hold, or nil.
// Sample and OnDone of the options are not used. The error is one of the whole.
func ProveSources(ctx context.Context, target *storage.Bucket, proofs []SourceProof, opts *VerifyOptions) ([]error, error) {
	v := &verification{target: target, report: VerifyReport{Problems: map[string]int64{}}, proofs: proofs, faults: make([]error, len(proofs))}
	if opts != nil {
		v.opts = *opts
		v.opts.Sample, v.opts.OnDone = 0, nil
	}
	var err error
	v.decoding, err = newDecoding(v.opts.Device, v.opts.CPU, v.opts.Memory, v.opts.Timeout, v.opts.Codecs, newAssets().from(target))
	if err != nil {
		return nil, fmt.Errorf("worker: prove sources: %w", err)
	}
	proved := make([]bool, len(proofs))
	err = v.each(ctx, func(found func(*object) error) error {
		for i := range proofs {
			if err := found(&object{index: i, claim: &proofs[i].Claim, attempts: 1}); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context, o *object) (alone bool, err error) {
		alone, err = v.object(ctx, o)
		if !alone && err == nil {
			v.mu.Lock()
			proved[o.index] = true
			v.mu.Unlock()
		}
		return alone, err
	})
	if err != nil {
		return nil, fmt.Errorf("worker: prove sources: %w", err)
	}
	for i := range proved {
		if !proved[i] && v.faults[i] == nil {
			v.faults[i] = errors.New("its result was not looked at")
		}
	}
	return v.faults, nil
}

// provesSources reads the sources of a result that is as recorded.
func (v *verification) provesSources(ctx context.Context, o *object, whole bool) error {
	p, r := &v.proofs[o.index], &o.claim.Result
	o.batches = nil
	for i := range p.Objects {
		sum := r.SHA256
		if at := slices.IndexFunc(r.Parts, func(part jobs.Part) bool { return part.Key == p.Objects[i].Key }); at >= 0 {
			sum = r.Parts[at].SHA256
		}
		var err error
		if r.Outcome == jobs.OutcomeCompressed && (r.Exact == "" || r.Exact == exactDICOM) {
			err = v.sourceImage(ctx, o, p.Source, &p.Objects[i], sum, whole)
		} else {
			err = v.sourceBytes(ctx, p.Source, p.Objects[i].Key, sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sourceBytes reads a source object and holds its SHA-256 against the record.
func (v *verification) sourceBytes(ctx context.Context, source *storage.Bucket, key, want string) error {
	if err := take(ctx, v.fetches); err != nil {
		return err
	}
	sum, _, err := storage.Sum(ctx, source, key)
	<-v.fetches
	if err != nil {
		return unreadSource(ctx, err)
	}
	return sameSource(sum, want)
}

// sourceImage also decodes it and holds the picture against the record.
func (v *verification) sourceImage(ctx context.Context, o *object, source *storage.Bucket, at *storage.Object, want string, whole bool) error {
	defer o.release()
	err := v.get(ctx, o, whole, at.Size, func(ctx context.Context) (storage.GetResult, error) {
		return storage.Get(ctx, source, at.Key, max(at.Size, 1), at)
	})
	if err != nil {
		return unreadSource(ctx, err)
	}
	if err := sameSource(sumOf(o.data), want); err != nil {
		return err
	}
	limits := &imageio.Limits{Bytes: max(at.Size, 1)}
	head, err := imageio.ReadHeader(o.data, limits)
	if err != nil {
		return problem(ProblemSource, "it cannot be read as an image: %w", err)
	}
	n := head.DecodedBytes + int64(head.Size()) // samples of 16 bits, or with an alpha channel, are copied once
	if err := o.held.image(ctx, n, n); err != nil {
		return err
	}
	return v.onCore(ctx, o, func(_ context.Context, try *object) error {
		try.reading = true
		m, err := imageio.Decode(try.data, limits)
		if err != nil {
			return problem(ProblemSource, "it cannot be read as an image: %w", err)
		}
		// A job may have taken fewer bits or channels where nothing is lost by that.
		eight := raster.EightBits(m)
		same := []*raster.Image{m, eight, raster.DropOpaqueAlpha(m), raster.DropOpaqueAlpha(eight)}
		for i, s := range same {
			if !slices.Contains(same[:i], s) && s.Hash() == o.claim.PixelHash {
				return nil
			}
		}
		return problem(ProblemSource, "it decodes to another picture than its result was made from")
	})
}

func sameSource(sum, want string) error {
	if sum != want {
		return problem(ProblemSource, "it has other bytes than its result was made from: SHA-256 %s, recorded is %s", sum, want)
	}
	return nil
}

// unreadSource classifies an error of the reading of a source.
func unreadSource(ctx context.Context, err error) error {
	var f *fault
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &f) || errors.Is(err, errWhole):
		return err
	case errors.Is(err, storage.ErrChanged), storage.IsNotExist(err):
		return problem(ProblemSource, "it changed while it was looked at")
	case storage.Unreachable(err) && storage.Temporary(err):
		return err
	}
	return problem(ProblemSource, "it cannot be read: %w", err)
}
