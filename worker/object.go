package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// Stages, as in [jobs.Result].Seconds and in metrics.
const (
	stageFetch  = "fetch"
	stageRead   = "read"
	stageEncode = "encode"
	stageVerify = "verify"
	stageStore  = "store"
)

// blank is the record of an object of which nothing is known but its entry.
func (c *chunk) blank(i int) jobs.Result {
	e := &c.entries[i]
	return jobs.Result{
		Key: e.Key, ETag: e.ETag, Size: max(e.Size, 0), ModTime: e.ModTime, Parts: e.Parts,
		Codec: c.spec.Codec, Version: c.spec.Version, Options: c.spec.Options,
	}
}

// object brings one object to its record, unless the context ends, the chunk
// fails, or the object has failed twice and must run again later, alone.
func (c *chunk) object(ctx context.Context, s solo, alone bool) {
	r := c.blank(s.index)
	r.Attempts = s.attempt
	err := c.compress(ctx, s.index, &r, alone)
	var f *fault
	switch {
	case err == nil:
	case !errors.As(err, &f):
		if ctx.Err() == nil {
			c.fail(err)
		}
		return
	case f.again && r.Attempts < maxAttempts:
		c.mu.Lock()
		c.last = append(c.last, solo{index: s.index, attempt: r.Attempts + 1})
		c.mu.Unlock()
		return
	default:
		r.Outcome, r.Class, r.Error = f.outcome, f.class, f.text()
	}
	c.record(s.index, &r)
}

// maxAttempts is how often an object is tried: twice among others, once alone.
const maxAttempts = 3

// compress does all stages, of an object that needs all memory once more from the
// start. It returns a *fault where the object is to blame and fills r as far as it
// comes.
func (c *chunk) compress(ctx context.Context, i int, r *jobs.Result, alone bool) error {
	err := c.compressWithin(ctx, i, r, alone, false)
	if errors.Is(err, errWhole) {
		err = c.compressWithin(ctx, i, r, alone, true)
	}
	return err
}

// compressWithin is compress with a share of the memory, or with the whole.
func (c *chunk) compressWithin(ctx context.Context, i int, r *jobs.Result, alone, whole bool) error {
	r.Seconds = make(map[string]float64, 5)
	e := c.entries[i] // a copy: the source may have changed since
	if e.Bad != "" {
		return faultf(jobs.OutcomeFailed, jobs.ClassKey, "%s", e.Bad)
	}
	if err := jobs.CheckKey(e.Key); err != nil {
		return faultf(jobs.OutcomeUnsupported, jobs.ClassKey, "%w; copy the object under another name", err)
	}
	if err := e.Check(c.info.Extension); err != nil {
		return &fault{outcome: jobs.OutcomeFailed, class: jobs.ClassKey, err: err}
	}
	if len(e.Parts) > 0 {
		return c.refuseSeries(ctx, &e, r)
	}
	start := time.Now()
	data, held, err := c.fetch(ctx, &e, whole)
	if err != nil {
		return err
	}
	// A call that was given up still holds its memory.
	defer func() { held.release() }()
	c.spent(r, stageFetch, time.Since(start))
	r.ETag, r.Size, r.ModTime = e.ETag, int64(len(data)), e.ModTime
	sum := sha256.Sum256(data)
	r.SHA256 = hex.EncodeToString(sum[:])

	p, err := c.produce(ctx, i, data, r, alone, held)
	var deaf *deafError
	if errors.As(err, &deaf) {
		late := held
		held = new(share)
		deaf.then(late.release)
		return deaf.fault
	}
	if err != nil {
		return err
	}
	r.PixelHash, r.DecodedHash, r.PSNR, r.SSIM = p.pixelHash, p.decodedHash, p.psnr, p.ssim
	r.Verified, r.Note = p.verified, p.note
	if !p.kept() && len(p.facts) > 0 {
		r.Facts = make(map[string]string, len(p.facts))
		for _, f := range p.facts {
			r.Facts[f.Name] = f.Value
		}
	}
	r.Fingerprint = c.spec.Fingerprint(e)

	start = time.Now()
	defer func() { c.spent(r, stageStore, time.Since(start)) }()
	return c.store(ctx, &e, data, p, r)
}

// produce reads, encodes and verifies, with a second attempt in place.
func (c *chunk) produce(ctx context.Context, i int, data []byte, r *jobs.Result, alone bool, held *share) (*product, error) {
	head, err := imageio.ReadHeader(data, c.limits())
	if err != nil {
		return nil, readFault(err)
	}
	r.Shape, r.RawBytes = head.Shape, int64(head.Shape.Size())
	if err := c.accepts(&head); err != nil {
		return nil, err
	}
	device := c.device
	if alone {
		device = nil
	}
	if err := held.image(ctx, c.readMemory(&head), max(c.readMemory(&head), c.workMemory(head.Shape, nil, device))); err != nil {
		return nil, err
	}
	if err := c.flights.enter(ctx, i); err != nil {
		return nil, err
	}
	defer c.flights.left(i)
	waits := true // between the flight's announcement and the first encoder
	started := func() {
		if waits && c.flights.conn != nil {
			c.flights.started()
		}
		waits = false
	}
	defer started()

	for ; ; r.Attempts++ {
		p := &product{jobContext: c.jobContext, format: head.Format, data: data, key: r.Key, note: head.Note}
		p.fits = func(m *raster.Image) error {
			return held.known(max(c.readMemory(&head), c.workMemory(m.Shape, m, device)))
		}
		r.Device = device.Name()
		if device == nil {
			err = c.onCPU(ctx, started, p, (*product).all)
		} else {
			err = c.onDevice(ctx, started, p, device)
		}
		var deaf *deafError
		if errors.As(err, &deaf) {
			return nil, err
		}
		if err == nil {
			for stage, d := range p.spent {
				c.spent(r, stage, d)
			}
			r.Shape, r.RawBytes = p.shape, int64(p.shape.Size())
			return p, nil
		}
		var f *fault
		if alone || !errors.As(err, &f) || !f.again || r.Attempts >= maxAttempts-1 {
			return nil, err
		}
	}
}

// onDevice is read on the CPU, encode in a batch on the device, verify on the CPU
// or on the device.
func (c *chunk) onDevice(ctx context.Context, started func(), p *product, device *gpu.Device) error {
	c.batch.near.Add(1)
	err := c.onCPU(ctx, started, p, (*product).read)
	if err != nil {
		c.batch.near.Add(-1)
		return err
	}
	if err := c.batch.encode(ctx, p); err != nil {
		return err
	}
	if c.spec.Verify == verifyDevice && !p.kept() {
		p.verified = verifyDevice
		return c.onCPU(ctx, func() {}, p, func(p *product, _ context.Context) error {
			return p.in(stageVerify, func() error { return p.compare(p.decoded, p.decodeErr) })
		})
	}
	return c.onCPU(ctx, func() {}, p, (*product).verify)
}

// store creates the target, or does what is asked for where the result is not
// smaller than the source.
func (c *chunk) store(ctx context.Context, e *jobs.Entry, source []byte, p *product, r *jobs.Result) error {
	key, data, media := e.TargetKey(c.info.Extension), p.encoded, c.info.MediaType
	r.Outcome = jobs.OutcomeCompressed
	if p.kept() {
		r.Outcome = jobs.OutcomeKept
		if c.spec.Larger != "copy" {
			return nil
		}
		key, data, media = e.Key, source, ""
	}
	meta := c.ownerMetadata(e, r.Fingerprint)
	meta["pelmill_source_sha256"], meta["pelmill_pixel_hash"] = r.SHA256, r.PixelHash
	if r.ETag != "" {
		meta["pelmill_source_etag"] = r.ETag
	}
	put, err := c.put(ctx, e, key, data, &storage.PutOptions{Metadata: meta, ContentType: media})
	if err != nil {
		return err
	}
	r.Target, r.TargetSize = key, put.Size
	r.TargetSHA256, r.TargetMD5 = hex.EncodeToString(put.SHA256), hex.EncodeToString(put.MD5)
	if r.Outcome == jobs.OutcomeCompressed {
		r.Ratio = float64(r.RawBytes) / float64(put.Size)
		r.BPP = 8 * float64(put.Size) / (float64(r.Width) * float64(r.Height) * float64(r.Depth))
	}
	return nil
}

// spent notes the seconds of a stage, to the microsecond.
func (c *chunk) spent(r *jobs.Result, stage string, d time.Duration) {
	r.Seconds[stage] += math.Round(d.Seconds()*1e6) / 1e6
	c.w.metrics.stage(stage).Observe(d.Seconds())
}

// take waits for a place in a semaphore.
func take(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
