package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker/series"
)

// partsAtOnce is how many parts of a series are looked up or read at once.
const partsAtOnce = 16

// volumeExtension is that of files that hold volumes, and of the objects of series.
const volumeExtension = ".jp3d"

// exactSeries is [jobs.Result].Exact of a series: every byte of every file comes back.
const exactSeries = "series"

// series takes a series through its stages: one object is made of its files, from
// which each comes back bit by bit; see package series. A part that is missing or
// changes fails the whole, as nothing may be left out in silence; a slice that fits no
// volume is an image by itself, and a part that is damaged or no image is kept whole.
func (c *chunk) series(ctx context.Context, o *object, whole bool) error {
	if c.info.Extension != volumeExtension || !c.info.KeepsImages(c.options) {
		if err := c.lookUpParts(ctx, &o.entry, &o.record); err != nil {
			return err
		}
		return faultf(jobs.OutcomeUnsupported, class.Format, "a series needs a codec that makes volumes of it: --codec jpeg2000 -o container=jp3d")
	}
	if err := o.in(stageFetch, func() error { return c.fetchSeries(ctx, o, whole) }); err != nil {
		return err
	}
	if slices.ContainsFunc(o.partData(), func(data []byte) bool { return dicom.Is(data) || dicom.Bare(data) }) {
		o.record.SourceFormat = imageio.DICOM
		o.logKey = c.w.logKey(o.entry.Key, imageio.DICOM)
	}
	if err := c.groupSeries(ctx, o); err != nil {
		return err
	}
	if err := c.enter(ctx, o); err != nil {
		return err
	}
	defer c.flights.end(o.index)
	o.started = c.flights.started
	defer o.begins()
	if err := c.w.attempts(ctx, o, attempt{call: c.encodeSeries, after: c.verifySeries}); err != nil {
		return err
	}
	if o.kept() {
		o.record.Outcome, o.record.Fingerprint = jobs.OutcomeKept, c.spec.Fingerprint(o.entry)
		return nil
	}
	return o.in(stageStore, func() error { return c.store(ctx, o) })
}

// lookUpParts says in the entry and in the record what the source has of each part now,
// so that a part that has changed since it was listed makes another fingerprint.
func (c *chunk) lookUpParts(ctx context.Context, e *jobs.Entry, r *jobs.Result) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.w.opts.ObjectTimeout,
		faultf(jobs.OutcomeFailed, class.Storage, "the parts of the series were not looked up within %s", c.w.opts.ObjectTimeout))
	defer cancel()
	now := make([]jobs.Part, len(e.Parts))
	lookUps, ctx := errgroup.WithContext(ctx)
	lookUps.SetLimit(partsAtOnce)
	for i, p := range e.Parts {
		lookUps.Go(func() error {
			if p.Missing {
				return faultf(jobs.OutcomeFailed, class.Missing, "the source does not have part %d of the series", i+1)
			}
			o, _, err := storage.Stat(ctx, c.source, p.Key)
			if err != nil {
				return c.missingPart(ctx, i, err)
			}
			if other := p.Pin.Mismatch(o.Size, o.ETag); other != "" {
				return faultf(jobs.OutcomeFailed, class.Changed, "part %d of the series: %s", i+1, other)
			}
			now[i] = jobs.Part{Key: p.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime, Pin: p.Pin}
			return nil
		})
	}
	if err := lookUps.Wait(); err != nil {
		return err
	}
	if !slices.Equal(now, e.Parts) {
		e.Parts = now
		e.Sum()
		r.Parts, r.Size = e.Parts, e.Size
	}
	return nil
}

// missingPart is the fault of part i, from 0 on, that cannot be read. It names the part by its place in
// the record, from 1 on, and not by its key, which may say who a patient is.
func (c *chunk) missingPart(ctx context.Context, i int, err error) error {
	if storage.IsNotExist(err) {
		return faultf(jobs.OutcomeFailed, class.Missing, "part %d of the series is gone from the source", i+1)
	}
	return storageFault(ctx, err)
}

// fetchSeries reads all parts into o.data, one behind the other, and takes the memory
// for them.
func (c *chunk) fetchSeries(ctx context.Context, o *object, whole bool) error {
	e := &o.entry
	limit := int64(maxFile)
	if n := c.spec.Limits.Bytes; n > 0 {
		limit = min(limit, n)
	}
	wait := changeWait
	for range changes {
		if err := c.lookUpParts(ctx, e, &o.record); err != nil {
			return err
		}
		if e.Size > limit {
			return faultf(jobs.OutcomeRejected, class.Limit, "the files of the series have %d bytes and the limit is %d", e.Size, limit)
		}
		if err := c.throttle(ctx, fetchRequests*len(e.Parts), e.Size, 0); err != nil {
			return err
		}
		err := c.readParts(ctx, o, whole)
		var f *fault
		switch {
		case err == nil:
			o.record.Parts = slices.Clone(e.Parts)
			for i, data := range o.partData() {
				o.record.Parts[i].SHA256 = sumOf(data)
			}
			o.record.Size, o.record.SHA256 = e.Size, sumOf(o.data)
			return nil
		case errors.As(err, &f), errors.Is(err, errWhole):
			return err
		case !errors.Is(err, storage.ErrChanged):
			return storageFault(ctx, err)
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return faultf(jobs.OutcomeFailed, class.Changed, "a part of the series changed %d times while it was read", changes)
}

func (c *chunk) readParts(ctx context.Context, o *object, whole bool) error {
	e := &o.entry
	ctx, cancel := context.WithTimeoutCause(ctx, c.w.opts.ObjectTimeout,
		faultf(jobs.OutcomeFailed, class.Storage, "the parts of the series were not read within %s", c.w.opts.ObjectTimeout))
	defer cancel()
	return c.w.get(ctx, o, whole, e.Size, func(ctx context.Context) (all storage.GetResult, err error) {
		all.Data = make([]byte, e.Size)
		reads, ctx := errgroup.WithContext(ctx)
		reads.SetLimit(partsAtOnce)
		at := int64(0)
		for i, p := range e.Parts {
			to := all.Data[at : at+p.Size]
			at += p.Size
			reads.Go(func() error {
				got, err := storage.Get(ctx, c.source, p.Key, max(p.Size, 1), &storage.Object{Key: p.Key, Size: p.Size, ETag: p.ETag, ModTime: p.ModTime})
				if err == nil && copy(to, got.Data) != len(got.Data) || err == nil && len(got.Data) != len(to) {
					err = storage.ErrChanged
				}
				if storage.IsNotExist(err) {
					return c.missingPart(ctx, i, err)
				}
				return err
			})
		}
		return all, reads.Wait()
	})
}

// partData are the bytes of each part.
func (o *object) partData() [][]byte {
	all, at := make([][]byte, len(o.entry.Parts)), int64(0)
	for i, p := range o.entry.Parts {
		all[i] = o.data[at : at+p.Size : at+p.Size]
		at += p.Size
	}
	return all
}

// groupSeries finds the volumes by the headers of the files, and takes the memory for
// them.
func (c *chunk) groupSeries(ctx context.Context, o *object) error {
	err := c.w.onCore(ctx, o, func(_ context.Context, try *object) error {
		try.reading = true
		var files []series.Instance
		for i, data := range try.partData() {
			files = append(files, series.Instance{Key: try.entry.Parts[i].Key, ModTime: try.entry.Parts[i].ModTime, Data: data})
		}
		try.series = series.Group(files)
		try.reading = false
		return nil
	})
	if err != nil {
		return err
	}
	p, r := o.series, &o.record
	if p.Images == 0 {
		return faultf(jobs.OutcomeUnsupported, class.Format, "the series has no native image: %s", p.Reasons())
	}
	r.Shape, r.RawBytes = p.Shape(0), 0
	work := int64(0)
	for i := range p.Images {
		s := p.Shape(i)
		if err := c.withinLimits(s); err != nil {
			return err
		}
		if err := c.accepts(s); err != nil {
			return err
		}
		r.RawBytes += int64(s.Size())
		work = max(work, int64(s.Size())+c.workMemory(s, nil, false))
	}
	r.Facts = map[string]string{"volumes": strconv.Itoa(p.Volumes)}
	for name, n := range map[string]int{"single_images": p.Alone, "whole_files": p.Whole, "gaps": p.Gaps, "tilted_volumes": p.Tilted} {
		if n > 0 {
			r.Facts[name] = strconv.Itoa(n)
		}
	}
	if why := p.Reasons(); why != "" {
		o.note(why)
	}
	// Besides the files: their samples, decoded images, the object, which is no larger than
	// the files, and its shells.
	n := 2*r.RawBytes + work + 2*r.Size
	return o.held.image(ctx, n, n)
}

// withinLimits refuses an image that is over a limit of the job.
func (k *jobContext) withinLimits(s raster.Shape) error {
	l := k.spec.Limits
	switch {
	case l.Side > 0 && max(s.Width, s.Height, s.Depth) > l.Side:
		return faultf(jobs.OutcomeRejected, class.Limit, "a volume of %s has a side over the limit of %d", s, l.Side)
	case l.Samples > 0 && int64(s.Samples()) > l.Samples:
		return faultf(jobs.OutcomeRejected, class.Limit, "a volume of %s is over the limit of %d samples", s, l.Samples)
	}
	return nil
}

// encodeSeries makes the object of the one series of a batch.
func (k *jobContext) encodeSeries(ctx context.Context, run codec.Run, batch []*object) error {
	o := batch[0]
	return o.in(stageEncode, func() error {
		streams := make([][]byte, o.series.Images)
		for i := range streams {
			m := o.series.Image(i)
			if i == 0 {
				o.image = &raster.Image{Shape: m.Shape}
				o.record.PixelHash = m.Hash()
			}
			out := k.codec.Encode(ctx, run, []codec.Item{{Image: m}}, k.options)
			if len(out) != 1 || out[0].Err == nil && len(out[0].Data) == 0 {
				return codecFault(fmt.Errorf("%s: no file for a volume", k.info.Name))
			}
			if out[0].Err != nil {
				return codecFault(out[0].Err)
			}
			streams[i] = out[0].Data
		}
		var err error
		if o.file, err = o.series.Object(streams); err != nil {
			return &fault{outcome: jobs.OutcomeRejected, class: class.Limit, err: err}
		}
		return nil
	})
}

// verifySeries restores every file from the object and compares it with the source,
// whatever --verify says: the files are what a series is kept for.
func (k *jobContext) verifySeries(ctx context.Context, run codec.Run, o *object) error {
	if o.kept() {
		return nil
	}
	return o.in(stageVerify, func() error {
		s, err := series.Open(o.file)
		if err != nil {
			return unverified("the result does not open: %w", err)
		}
		images, err := decodeSeries(ctx, k.codec, run, s, k.assets)
		if err != nil {
			return unverified("the result does not decode: %w", err)
		}
		for i, want := range o.partData() {
			switch got, err := s.Restore(i, images); {
			case err != nil:
				return unverified("%w", err)
			case s.Files[i].Key != o.entry.Parts[i].Key || !bytes.Equal(got, want):
				return unverified("part %d of the series does not come back as it was", i+1)
			}
		}
		o.record.DecodedHash = images[0].Hash()
		o.record.Verified, o.record.Exact = "full", exactSeries
		return nil
	})
}

// decodeSeries decodes all images of a series.
func decodeSeries(ctx context.Context, c codec.Codec, run codec.Run, s *series.Object, assets codec.Assets) ([]*raster.Image, error) {
	images := make([]*raster.Image, len(s.Codestreams))
	for i, stream := range s.Codestreams {
		out := c.Decode(ctx, run, [][]byte{stream}, assets)
		switch {
		case len(out) != 1 || out[0].Err == nil && out[0].Image == nil:
			return nil, fmt.Errorf("%s: no image", c.Info().Name)
		case out[0].Err != nil:
			return nil, out[0].Err
		}
		images[i] = out[0].Image
	}
	return images, nil
}
