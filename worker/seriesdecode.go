package worker

import (
	"context"
	"fmt"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/worker/series"
)

// openSeries reads the index of o's series and takes the memory for all its images.
func (d *decoding) openSeries(ctx context.Context, o *object) (*series.Object, error) {
	o.record.Codec, o.record.Version = o.codec.Info().Name, o.codec.Info().Version
	s, err := series.Open(o.data)
	if err != nil {
		return nil, faultf(jobs.OutcomeRejected, class.Malformed, "%w", err)
	}
	n, work := series.Memory(o.data), int64(0)
	for i, stream := range s.Codestreams {
		head, err := headerOf(o.codec, stream, codec.View{})
		if err != nil {
			return nil, decodeFault(ctx, err)
		}
		if i == 0 {
			o.head.Shape, o.record.Shape = head.Shape, head.Shape
		}
		o.record.RawBytes += int64(head.Size())
		work = max(work, head.Memory+3*int64(head.Size()))
	}
	n += o.record.RawBytes + work
	return s, o.held.image(ctx, n, n)
}

// images decodes the images of o's series, on a core.
func (d *decoding) seriesImages(ctx context.Context, o *object, s *series.Object) (images []*raster.Image, err error) {
	err = d.onCore(ctx, o, func(ctx context.Context, try *object) error {
		return try.in(stageRead, func() error {
			decoded, err := decodeSeries(ctx, o.codec, codec.Run{Pool: d.cores}, s, d.assets)
			if err != nil {
				return decodeFault(ctx, err)
			}
			images = decoded
			return nil
		})
	})
	return images, err
}

// decompressSeries stores every file of a series under the key that it had in its source,
// each proved by its SHA-256.
func (d *decompression) decompressSeries(ctx context.Context, o *object) error {
	s, err := d.openSeries(ctx, o)
	if err != nil {
		return err
	}
	for i := range s.Files {
		if err := jobs.CheckKey(s.Files[i].Key); err != nil {
			return faultf(jobs.OutcomeUnsupported, class.Key, "file %d of the series has a key that no object can have", i)
		}
	}
	images, err := d.seriesImages(ctx, o, s)
	if err != nil {
		return err
	}
	// All files are proved before any is stored: nobody shall take a part of a damaged
	// series for the whole.
	if err := o.in(stageVerify, func() error { return restorable(s, images) }); err != nil {
		return faultf(jobs.OutcomeFailed, class.Verify, "%w", err)
	}
	r, size, made := &o.record, int64(0), false
	for i := range s.Files {
		f := &s.Files[i]
		err := o.in(stageEncode, func() (err error) {
			o.file, err = s.Restore(i, images)
			return err
		})
		if err != nil {
			return faultf(jobs.OutcomeFailed, class.Verify, "%w", err)
		}
		o.origin.ModTime = f.ModTime
		if err := o.in(stageStore, func() error { return d.storeAs(ctx, o, f.Key) }); err != nil {
			return err
		}
		size += r.TargetSize
		made = made || r.Outcome == jobs.OutcomeCompressed
		r.Parts = append(r.Parts, jobs.Part{Key: f.Key, Size: f.Size, ModTime: f.ModTime, SHA256: f.SHA256})
	}
	if r.Outcome = jobs.OutcomeSkipped; made {
		r.Outcome = jobs.OutcomeCompressed
	}
	r.Target, r.TargetSize, r.TargetSHA256, r.TargetMD5 = "", size, "", ""
	r.Verified, r.Exact = "full", exactSeries
	return nil
}

// verifySeries restores every file of a series and compares the first volume with the
// record.
func (v *verification) verifySeries(ctx context.Context, o *object) error {
	s, err := v.openSeries(ctx, o)
	if err != nil {
		return err
	}
	images, err := v.seriesImages(ctx, o, s)
	if err != nil {
		return err
	}
	if len(images) == 0 {
		return problem(ProblemDecode, "the series has no image")
	}
	if err := restorable(s, images); err != nil {
		return problem(ProblemImage, "%w", err)
	}
	o.image = images[0]
	return v.compare(ctx, codec.Run{}, o)
}

// restorable tries every file of a series.
func restorable(s *series.Object, images []*raster.Image) error {
	bad, first := 0, error(nil)
	for i := range s.Files {
		if _, err := s.Restore(i, images); err != nil {
			if bad++; first == nil {
				first = err
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files of the series do not come back: %w", bad, len(s.Files), first)
	}
	return nil
}
