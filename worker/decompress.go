package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// DecompressOptions are those of [Decompress].
type DecompressOptions struct {
	Device    *gpu.Device       // nil: CPU
	CPU       int               // images at once; 0: GOMAXPROCS
	Memory    int64             // bytes that the process may take, at least MinMemory; 0: DefaultMemory
	Timeout   time.Duration     // for decoding one file, and for encoding its encoded file; 0: 10 min
	Format    string            // of the encoded file, as imageio.Encode has it; empty: the one that fits, imageio.FormatFor
	Overwrite bool              // replace what is at the target's keys
	Sniff     bool              // also read files without a codec's extension, and know them by their content
	Filter    func(string) bool // keys to take; nil: all
	Codecs    []codec.Codec     // nil: [codecs.All]
	OnResult  func(jobs.Result) // called once for every object, one at a time; nil: none
	Buckets   *storage.Buckets  // opens what other processes read, so that none of it is replaced; nil: src is guarded only
	Name      string            // under which this work is announced, see [queue.Announce]
}

// imageExtension is what the encoded file of a format are called.
var imageExtension = map[string]string{"png": ".png", "tiff": ".tif", "nii": ".nii"}

// Decompress turns the files of any codec that it finds in src into encoded file in dst.
// The target's key is the source's with the codec's extension taken off and the
// encoded file's put on: a/b.vq becomes a/b.png, and a/b.jpg.vq a/b.jpg.png. Nothing else
// that is there is replaced;  encoded file that is there already with the same bytes is
// skipped. Each encoded file is decoded again and compared before it is stored. With
// Overwrite everything is replaced but what lies in src or is read by work that
// runs. Where dst lies in src, it is left out of what is read.
//
// The counts are those of a job, with the roles of source and target exchanged.
// Shared assets are looked for in src and then in dst. The error is one of the
// whole: a listing that fails, a store that cannot be reached, the end of ctx.
func Decompress(ctx context.Context, src, dst *storage.Bucket, opts *DecompressOptions) (jobs.Counts, error) {
	d := &decompression{src: src, dst: dst}
	if opts != nil {
		d.DecompressOptions = *opts
	}
	fill(&d.CPU, runtime.GOMAXPROCS(0))
	fill(&d.Memory, DefaultMemory())
	fill(&d.Timeout, objectTimeout)
	if d.Codecs == nil {
		d.Codecs = codecs.All()
	}
	if d.Format != "" && imageExtension[d.Format] == "" && d.Format != "pnm" {
		return d.counts, fmt.Errorf("worker: decompress: format %q: want png, tiff, nii or pnm", d.Format)
	}
	overlap, err := storage.Compare(src, dst)
	if err != nil {
		return d.counts, fmt.Errorf("worker: decompress: %w", err)
	}
	d.sources = NewSourceGuard(d.Buckets, src, dst, d.Name)
	d.own = newOwnImages(overlap)
	if d.Memory < MinMemory || d.Timeout < 0 {
		return d.counts, fmt.Errorf("worker: decompress: memory of %d bytes and a time of %s: want at least %d and 0", d.Memory, d.Timeout, MinMemory)
	}
	d.budget, d.guards = newBudget(d.Memory), newGuards(d.Timeout, nil)
	d.assets = newAssets().from(src, dst)

	ctx, d.fail = context.WithCancelCause(ctx)
	defer d.fail(nil)
	// Twice as many as encoders, so that some wait for storage while others work.
	objects := make(chan storage.Object, 2*d.CPU)
	encoders := make(chan struct{}, d.CPU)
	var work sync.WaitGroup
	for range 2*d.CPU + 2 {
		work.Go(func() {
			for o := range objects {
				d.object(ctx, o, encoders)
			}
		})
	}
	err = storage.Walk(ctx, src, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			if d.own.has(o.Key) {
				continue
			}
			_, named := codecOf(d.Codecs, o.Key)
			if !named && !d.Sniff || d.Filter != nil && !d.Filter(o.Key) {
				continue
			}
			select {
			case objects <- o:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	close(objects)
	work.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return d.counts, fmt.Errorf("worker: decompress: %w", err)
	}
	return d.counts, nil
}

// codecOf is the codec by a key's extension, the longest that fits.
func codecOf(all []codec.Codec, key string) (codec.Codec, bool) {
	var best codec.Codec
	for _, c := range all {
		info := c.Info()
		if stripExtension(key, info) != key && (best == nil || len(info.Ending(key)) > len(best.Info().Ending(key))) {
			best = c
		}
	}
	return best, best != nil
}

// stripExtension is key without a codec's extension; key itself where it does not end
// so or is no more than that.
func stripExtension(key string, info codec.Info) string {
	n := len(key) - len(info.Ending(key))
	if n == 0 || key[n-1] == '/' {
		return key
	}
	return key[:n]
}

type decompression struct {
	DecompressOptions
	src, dst *storage.Bucket
	budget   *budget
	guards   *guards
	assets   codec.Assets
	sources  *SourceGuard
	own      *ownImages
	fail     context.CancelCauseFunc

	mu     sync.Mutex
	counts jobs.Counts
}

func (d *decompression) object(ctx context.Context, o storage.Object, encoders chan struct{}) {
	if ctx.Err() != nil {
		return
	}
	r := jobs.Result{Key: o.Key, ETag: o.ETag, Size: o.Size, ModTime: o.ModTime, Device: d.Device.Name(), Attempts: 1,
		Seconds: map[string]float64{}}
	err := d.convert(ctx, o, encoders, &r, false)
	if errors.Is(err, errWhole) {
		err = d.convert(ctx, o, encoders, &r, true)
	}
	var f *fault
	if err != nil && !errors.As(err, &f) {
		d.fail(err)
		return
	}
	if f != nil {
		r.Outcome, r.Class, r.Error = f.outcome, f.class, f.text()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.Add(&r)
	if d.OnResult != nil {
		d.OnResult(r)
	}
}

// convert does an object with a share of the memory, or with the whole.
func (d *decompression) convert(ctx context.Context, o storage.Object, encoders chan struct{}, r *jobs.Result, whole bool) error {
	if o.Size > maxFile {
		return faultf(jobs.OutcomeRejected, jobs.ClassLimit, "the file has %d bytes and the limit is %d", o.Size, maxFile)
	}
	held, err := d.budget.take(ctx, o.Size, whole)
	if err != nil {
		return err
	}
	// A call that was given up still holds its memory.
	defer func() { held.release() }()
	clock := time.Now()
	lap := func(stage string) {
		r.Seconds[stage] = time.Since(clock).Seconds()
		clock = time.Now()
	}
	got, err := storage.Get(ctx, d.src, o.Key, max(o.Size, 1), nil)
	if err != nil {
		var large *storage.TooLargeError
		if errors.As(err, &large) {
			return faultf(jobs.OutcomeFailed, jobs.ClassChanged, "it has %d bytes and had %d when it was listed", large.Size, o.Size)
		}
		if storage.IsNotExist(err) {
			return &fault{outcome: jobs.OutcomeFailed, class: jobs.ClassMissing, err: err}
		}
		return storageFault(ctx, err)
	}
	lap(stageFetch)
	r.Size = int64(len(got.Data))
	sum := sha256.Sum256(got.Data)
	r.SHA256 = hex.EncodeToString(sum[:])
	c := d.codec(o.Key, got.Data)
	if c == nil {
		return faultf(jobs.OutcomeUnsupported, jobs.ClassFormat, "it is no file of any codec")
	}
	r.Codec, r.Version = c.Info().Name, c.Info().Version
	head, err := c.Header(got.Data)
	if err != nil {
		return decodeFault(ctx, err)
	}
	need := imageMemory(head)
	if err := held.image(ctx, need, need); err != nil {
		return err
	}
	if err := take(ctx, encoders); err != nil {
		return err
	}
	// What encoded file makes stays its own until it has ended.
	var made converted
	err = d.guards.run(ctx, func() { <-encoders }, func(ctx context.Context) (err error) {
		made, err = d.encode(ctx, c, got.Data)
		return err
	})
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
	m, encoded, format := made.image, made.encoded, made.format
	r.PixelHash, r.DecodedHash, r.Verified = made.hash, made.hash, "full"
	lap(stageEncode)
	r.Shape, r.RawBytes = m.Shape, int64(len(m.Pix))
	target := d.target(o.Key, m, format)
	if err := jobs.CheckKey(target); err != nil {
		return faultf(jobs.OutcomeUnsupported, jobs.ClassKey, "%w", err)
	}
	r.Target = target
	put, err := d.put(ctx, r.Target, encoded)
	if err != nil {
		return d.writeFault(ctx, err)
	}
	lap(stageStore)
	r.Outcome = jobs.OutcomeCompressed
	if put.Existed {
		r.Outcome = jobs.OutcomeSkipped
	}
	r.TargetSize, r.TargetSHA256, r.TargetMD5 = put.Size, hex.EncodeToString(put.SHA256), hex.EncodeToString(put.MD5)
	return nil
}

// imageMemory is what turning a file into an encoded one takes, besides the bytes of the
// file: the image, and at once either what decoding takes, or the encoded file, which
// doubles as it is written, or the encoded file and what decoding it again takes.
func imageMemory(h codec.Header) int64 {
	n := int64(h.Size())
	return max(h.Memory, n+3*n) + imageTables
}

const imageTables = 2 << 20 // of deflate, both ways

// converted is a file that was turned into  encoded file.
type converted struct {
	image   *raster.Image
	encoded []byte
	format  string
	hash    string // of the image, decoded from the file and from the encoded file
}

// encoded file decodes a file of c and encodes the image.
func (d *decompression) encode(ctx context.Context, c codec.Codec, file []byte) (made converted, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = faultf(jobs.OutcomeFailed, jobs.ClassCodec, "decoding it panicked: %v", v)
		}
	}()
	out := c.Decode(ctx, codec.Run{Device: d.Device}, [][]byte{file}, d.assets)
	if len(out) != 1 {
		return made, faultf(jobs.OutcomeFailed, jobs.ClassCodec, "%s: %d pictures from one file", c.Info().Name, len(out))
	}
	if err := out[0].Err; err != nil {
		return made, decodeFault(ctx, err)
	}
	m := out[0].Image
	made.image, made.hash = m, m.Hash()
	if made.format = d.Format; made.format == "" {
		made.format = imageio.FormatFor(m)
	}
	if made.encoded, err = imageio.Encode(m, made.format); err != nil {
		return made, &fault{outcome: jobs.OutcomeUnsupported, class: jobs.ClassImage, err: err}
	}
	again, err := imageio.Decode(made.encoded, nil)
	if err != nil {
		return made, faultf(jobs.OutcomeFailed, jobs.ClassVerify, "the image does not decode: %w", err)
	}
	if again.Hash() != made.hash {
		return made, faultf(jobs.OutcomeFailed, jobs.ClassVerify, "the image decodes to another picture")
	}
	return made, nil
}

// codec is the one whose file this is: by its name and headers, else by its
// headers, else by its name, so that a damaged file is called so.
func (d *decompression) codec(key string, file []byte) codec.Codec {
	known := func(c codec.Codec) bool { _, err := c.Header(file); return err == nil }
	named, ok := codecOf(d.Codecs, key)
	if ok && known(named) {
		return named
	}
	if i := slices.IndexFunc(d.Codecs, known); i >= 0 {
		return d.Codecs[i]
	}
	return named
}

// decodeFault judges an error of a codec's Decode.
func decodeFault(ctx context.Context, err error) error {
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &malformed):
		return &fault{outcome: jobs.OutcomeRejected, class: jobs.ClassMalformed, err: err}
	case errors.As(err, &unsupported):
		return &fault{outcome: jobs.OutcomeUnsupported, class: jobs.ClassImage, err: err}
	}
	return &fault{outcome: jobs.OutcomeFailed, class: jobs.ClassCodec, err: err}
}

// target is the encoded file's key.
func (d *decompression) target(key string, m *raster.Image, format string) string {
	stem := key
	if c, ok := codecOf(d.Codecs, key); ok {
		stem = stripExtension(key, c.Info())
	}
	ext := imageExtension[format]
	if ext == "" { // pnm, whose files are called by what they hold
		switch {
		case m.Alpha():
			ext = ".pam"
		case m.Channels == 1:
			ext = ".pgm"
		default:
			ext = ".ppm"
		}
	}
	return stem + ext
}
