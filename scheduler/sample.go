package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

const (
	sampleSeconds = 5         // that the estimate may take, besides its last object
	sampleFile    = 128 << 20 // bytes of a file of a sample
	trainImages   = 64        // that a codebook is trained on
	trainMemory   = 128 << 20 // bytes of samples of all of them, at most
)

// pick calls take with n of the entries that are not left out, spread evenly,
// until it returns false. total is how many are not left out.
func pick(ctx context.Context, all entries, total int64, n int, leaveOut func(line int64) bool, take func(jobs.Entry) (more bool, err error)) error {
	var chosen []jobs.Entry
	line, seen := int64(-1), int64(0)
	n = int(min(int64(n), total))
	err := all(ctx, func(e jobs.Entry) error {
		if line++; leaveOut(line) {
			return nil
		}
		// The middle of each of n equal ranges.
		if len(chosen) < n && seen == (2*int64(len(chosen))+1)*total/(2*int64(n)) {
			chosen = append(chosen, e)
		}
		seen++
		if len(chosen) == n {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, e := range chosen {
		more, err := take(e)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// fetch reads an image of a sample, or the source itself for codecs that keep sources, unless its file, reading it, and then what need
// says take more memory than there is. by is r, or what it chooses for the source. A reason says why it cannot be used; err is for
// storage that cannot be read.
func (p *planning) fetch(ctx context.Context, r *codecs.Resolved, e jobs.Entry, need func(*codecs.Resolved, *imageio.Header) int64) (item codec.Item, by codecs.Resolved, size int64, reason, err error) {
	by = *r
	if len(e.Parts) > 0 {
		return item, by, max(e.Size, 0), errors.New("scheduler: a series is not in a sample"), nil
	}
	limits := &imageio.Limits{Bytes: p.spec.Limits.Bytes, Side: p.spec.Limits.Side, Samples: p.spec.Limits.Samples,
		Frames: p.spec.Limits.Frames, Ratio: p.spec.Limits.Ratio}
	got, err := storage.Get(ctx, p.source, e.Key, min(sampleFile, p.memory.images()/2), nil)
	if err != nil {
		if ctx.Err() != nil || storage.Unreachable(err) {
			return item, by, 0, nil, withoutName(err, e.Key)
		}
		return item, by, 0, err, nil
	}
	head, reason := imageio.ReadHeader(got.Data, limits)
	if reason == nil {
		by = r.Choose(head.Format, head.Shape)
		if n := int64(len(got.Data)) + max(head.DecodedBytes, need(&by, &head)); n > p.memory.images() {
			reason = tooLarge(n)
		}
	}
	item.Source = codec.Source{Format: head.Format, Data: got.Data}
	if _, ok := by.Codec.(codec.SourceCodec); ok {
		if reason == nil {
			reason = by.Info().Check(head.Shape)
		}
		return item, by, int64(len(got.Data)), reason, nil
	}
	if reason == nil && head.Format == imageio.DICOM && !by.Frames() {
		reason = codec.Unsupportedf("%s: DICOM has no transfer syntax for it", by.Info().Name)
	}
	if reason == nil {
		item.Image, reason = imageio.Decode(got.Data, limits)
	}
	if reason == nil {
		if p.spec.Reduce {
			item.Image = raster.EightBits(item.Image)
		}
		reason = by.Info().Check(item.Image.Shape)
	}
	return item, by, int64(len(got.Data)), reason, nil
}

// estimate compresses a sample of what is to do, on one core.
func (p *planning) estimate(ctx context.Context, found *objectStatus, todo, todoBytes int64) (*jobs.Estimate, error) {
	r := p.resolved
	if r.Want().SHA256 != "" {
		var err error
		if r, err = r.Load(ctx, storedAssets(p.target)); err != nil {
			return nil, fmt.Errorf("scheduler: %w", err)
		}
	}
	var est jobs.Estimate
	var tried int64  // bytes of all objects of the sample
	var wait float64 // for storage
	var taken []jobs.Entry
	var largest int64 // of the memory that they take
	var run codec.Run
	run.Pool = run.Cores() // one for all
	kinds, err := p.kinds(ctx, found)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	err = p.pick(ctx, kinds, todo, found.done.has, func(e jobs.Entry) (bool, error) {
		asked := time.Now()
		item, by, size, reason, err := p.fetch(ctx, &r, e, func(by *codecs.Resolved, h *imageio.Header) int64 {
			n := sampleMemory(by, h)
			largest = max(largest, n)
			return n
		})
		if err != nil {
			return false, err
		}
		fetched := time.Since(asked).Seconds()
		est.Objects++
		tried += size
		begin := time.Now()
		var data []byte
		if reason == nil {
			data, reason = encode(ctx, run, by.Codec, item, by.Options)
		}
		kept := reason == nil && int64(len(data)) >= size // neither checked nor stored
		if reason == nil && !kept && p.spec.Verify != "off" && item.Source.Format != imageio.DICOM {
			reason = p.belowFloor(ctx, run, &by, item.Image, data)
		}
		stored := 0.0
		if reason == nil && !kept {
			if stored, err = p.tryStore(ctx, data, fetched); err != nil {
				return false, err
			}
		}
		wait += fetched + stored
		seconds := time.Since(begin).Seconds() - stored
		kinds.add(e.Key, &by, size, int64(len(data)), seconds, reason)
		if reason != nil {
			est.Failed++
		} else {
			est.Seconds += seconds
			est.BytesIn += size
			est.BytesOut += min(size, int64(len(data)))
			taken = append(taken, e)
		}
		return time.Since(start) < sampleSeconds*time.Second, ctx.Err()
	})
	if err != nil || est.Objects == 0 {
		return nil, err
	}
	if est.BytesIn > 0 {
		est.Saving = 1 - float64(est.BytesOut)/float64(est.BytesIn)
	}
	if tried > 0 {
		est.CoreSeconds = est.Seconds * float64(todoBytes) / float64(tried)
	}
	if kinds != nil {
		kinds.expect(&est)
	}
	est.WaitSeconds = wait * float64(todo) / float64(est.Objects)
	est.SameCores = onThisMachine(p.source.URL, p.endpoint) || onThisMachine(p.target.URL, p.endpoint)
	if est.SameCores && kinds == nil && todo >= rateObjects && len(taken) > 0 && largest <= rateMemory && (est.Seconds+wait)/float64(est.Objects) < rateSlowest {
		each, err := p.together(ctx, run, &r, taken)
		if err != nil {
			return nil, err
		}
		total := each * float64(todo) * float64(len(taken)) / float64(est.Objects)
		if total > 0 && total < est.CoreSeconds+est.WaitSeconds {
			est.CoreSeconds = min(est.CoreSeconds, total)
			est.WaitSeconds = total - est.CoreSeconds
		}
	}
	return &est, nil
}

// sampleMemory gives what encoding an image of a sample takes.
func sampleMemory(by *codecs.Resolved, h *imageio.Header) int64 {
	return encodeMemory(by.Codec, h, by.Options)
}

// tryStore is how long it takes to store a result like data: measured beside the results, or, where
// nothing may be written, as long as it took to fetch.
func (p *planning) tryStore(ctx context.Context, data []byte, fetched float64) (float64, error) {
	if p.folder == nil {
		return fetched, nil
	}
	key := jobs.Folder(p.spec.ID).Probe("sample")
	start := time.Now()
	if _, err := storage.Put(ctx, p.target, key, data, &storage.PutOptions{Overwrite: true}); err != nil {
		return 0, storage.RefusedWrite(err, int64(len(data)))
	}
	seconds := time.Since(start).Seconds()
	if err := storage.Delete(ctx, p.target, key); err != nil {
		return 0, storage.RefusedWrite(err, 0)
	}
	return seconds, nil
}

// onThisMachine reports whether a bucket is a folder, or a store that is asked on loopback. s3 is where
// buckets of S3 are whose URL does not say.
func onThisMachine(bucket, s3 string) bool {
	u, err := url.Parse(bucket)
	if err != nil || u.Scheme == "file" || u.Scheme == "mem" {
		return err == nil
	}
	endpoint := u.Query().Get("endpoint")
	if endpoint == "" && u.Scheme == "s3" {
		endpoint = s3
	}
	end, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip := net.ParseIP(end.Hostname())
	return (end.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// belowFloor decodes the file data of m, as workers do, and says why it is no success for
// its quality; nil where it is one.
func (p *planning) belowFloor(ctx context.Context, run codec.Run, r *codecs.Resolved, m *raster.Image, data []byte) (reason error) {
	defer func() {
		if v := recover(); v != nil {
			reason = fmt.Errorf("scheduler: codec %s: %v", r.Info().Name, v)
		}
	}()
	if exact, ok := r.Codec.(codec.SourceCodec); ok {
		return exact.Restore(ctx, run, [][]byte{data})[0].Err
	}
	decoded := r.Codec.Decode(ctx, run, [][]byte{data}, storedAssets(p.target))
	if decoded[0].Err != nil || p.spec.MinPSNR == 0 || r.Info().KeepsImages(r.Options) {
		return decoded[0].Err
	}
	psnr, _, err := raster.Quality(m, decoded[0].Image) // as workers do, whose time is to be known
	if err == nil && psnr < p.spec.MinPSNR {
		err = fmt.Errorf("scheduler: a PSNR of %.2f dB is below the floor of %.4g dB", psnr, p.spec.MinPSNR)
	}
	return err
}

// encodeFrames compresses and decodes the frames of a DICOM file and returns as many bytes as its result will have, about: what
// stands around the pixel data stays, a few hundred bytes more or less.
func encodeFrames(ctx context.Context, run codec.Run, c codec.Codec, item codec.Item, opts codec.FrameOptions) (data []byte, err error) {
	frame := item.Image.Shape
	frame.Depth, frame.Frames = 1, false
	f, err := opts.Frames(frame, frame.Channels == 3)
	if err != nil {
		return nil, err
	}
	data = make([]byte, max(0, len(item.Source.Data)-item.Image.Size()))
	for z := range item.Image.Depth {
		out := c.Encode(ctx, run, []codec.Item{{Image: item.Image.Slice(z)}}, f.Options)
		if out[0].Err != nil {
			return nil, out[0].Err
		}
		if d := c.Decode(ctx, run, [][]byte{out[0].Data}, nil); d[0].Err != nil { // DICOM files are verified in any case
			return nil, d[0].Err
		}
		data = append(data, out[0].Data...)
	}
	return data, nil
}

// encode compresses one image; a panic of the codec is an error.
func encode(ctx context.Context, run codec.Run, c codec.Codec, item codec.Item, opts codec.Options) (data []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("scheduler: codec %s: %v", c.Info().Name, r)
		}
	}()
	if frames, ok := opts.(codec.FrameOptions); ok && item.Source.Format == imageio.DICOM {
		return encodeFrames(ctx, run, c, item, frames)
	}
	out := c.Encode(ctx, run, []codec.Item{item}, opts)
	return out[0].Data, out[0].Err
}

// train gives options that want a trained asset one: that of the newest earlier
// job of this source with the same requested options, so that what it did stays done,
// else a new one, from a sample of the whole manifest.
func (p *planning) train(ctx context.Context, specs []jobs.Spec) error {
	if !p.resolved.Want().Trained {
		return nil
	}
	for _, s := range specs {
		if s.Codec != p.spec.Codec || s.Version != p.spec.Version || s.Requested != p.spec.Requested || s.Options == s.Requested {
			continue
		}
		r, err := codecs.Resolve([]codec.Codec{p.resolved.Codec}, s.Codec, s.Version, s.Options)
		if err == nil {
			r, err = r.Load(ctx, storedAssets(p.target))
		}
		if err == nil {
			return p.adopt(ctx, r)
		}
		if !storage.IsNotExist(err) {
			return err
		}
	}
	trainer, ok := p.resolved.Codec.(codec.Trainer)
	if !ok {
		return fmt.Errorf("scheduler: codec %s cannot be trained", p.spec.Codec)
	}
	var sample []*raster.Image
	held, most := int64(0), p.memory.training()
	err := pick(ctx, p.all, p.at.Objects, trainImages, func(int64) bool { return false }, func(e jobs.Entry) (bool, error) {
		item, _, _, reason, err := p.fetch(ctx, &p.resolved, e, func(_ *codecs.Resolved, h *imageio.Header) int64 {
			n := int64(h.Size())
			if held+n > most {
				return p.memory.images()
			}
			return held + h.DecodedBytes
		})
		if err != nil {
			return false, err
		}
		if reason == nil {
			sample = append(sample, item.Image)
			held += int64(item.Image.Size())
		}
		return held < most, nil
	})
	if err != nil {
		return err
	}
	if p.at.Objects == 0 || p.folder == nil && len(sample) == 0 {
		return nil
	}
	if len(sample) == 0 {
		return fmt.Errorf("scheduler: options %q: none of %d sample objects is a picture to train on", p.spec.Options, min(p.at.Objects, trainImages))
	}
	asset, err := trainer.Train(ctx, codec.Run{}, sample, p.resolved.Options)
	if err != nil {
		return fmt.Errorf("scheduler: train with options %q: %w", p.spec.Options, err)
	}
	if p.folder != nil {
		if err := storeAsset(ctx, *p.folder, asset); err != nil {
			return err
		}
	}
	r, err := p.resolved.WithAsset(asset)
	if err != nil {
		return fmt.Errorf("scheduler: use what was trained: %w", err)
	}
	return p.adopt(ctx, r)
}

// adopt makes those of r the options of the job, before any of its chunks exists.
func (p *planning) adopt(ctx context.Context, r codecs.Resolved) error {
	p.resolved = r
	p.spec.Options = r.Options.String()
	if p.folder == nil {
		return nil
	}
	return p.folder.putJSON(ctx, jobs.Folder(p.spec.ID).Spec(), p.spec, true)
}
