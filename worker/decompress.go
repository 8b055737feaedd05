package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/storage"
	"github.com/pelmill/pelmill/worker/series"
)

// DecompressOptions are those of [Decompress].
type DecompressOptions struct {
	Device    *gpu.Device       // nil: CPU
	CPU       int               // images at once; 0: [pool.Cores]
	Memory    int64             // bytes that the process may take, at least MinMemory; 0: DefaultMemory
	Timeout   time.Duration     // for decoding one file, and for making and checking its picture file; 0: 10 min
	Trace     *Trace            // gets a timeline of the work; nil: none
	Format    string            // of the picture files, as imageio.Encode has it; empty: the one that fits, imageio.FormatFor; "source": that of Origin
	View      codec.View        // what to decode of each image; the zero value is all of it
	Overwrite bool              // replace what is at the target's keys
	Sniff     bool              // also read files without a codec's extension, and know them by their content
	Filter    func(string) bool // keys to take; nil: all

	// Origin gives what the records say that an object was made from; nil: nothing is
	// known. With Format "source" the picture files get the names and, where
	// imageio.Encode has it, the format of the sources, and copies of sources are copied.
	Origin func(key string) (Origin, bool)

	Codecs   []codec.Codec     // nil: [codecs.All]
	OnResult func(jobs.Result) // called once for every object, one at a time; nil: none
	Buckets  *storage.Buckets  // opens what other processes read, so that none of it is replaced; nil: src is guarded only
	Name     string            // under which this work is announced, see [queue.Announce]
}

// Origin is what an object of a target was made from.
type Origin struct {
	Key     string // of the source
	Format  string // of the source, as imageio calls it; empty where it is not known
	ModTime time.Time
	Copy    bool // the object is the source itself
	DICOM   bool // the object is a DICOM file with other pixel data than the source
}

// formatSource is the format of the source, wherever it can be written.
const formatSource = "source"

// imageExtensions are the extensions of picture files by their format.
var imageExtensions = map[string]string{"png": ".png", "tiff": ".tif", "nii": ".nii"}

// Decompress turns the files of any codec that it finds in src into picture files in
// dst. The target's key is the source's with the codec's extension taken off and that
// of the picture file put on: a/b.vq becomes a/b.png, and a/b.jpg.vq a/b.jpg.png. One that ends so already stays as it is:
// a/b.png.vq becomes a/b.png, unless another file of src could become that, or src and dst overlap.
// Nothing else that is there is replaced; a picture file that is there already with the
// same bytes is skipped. Each picture file is decoded again and compared before it is
// stored. With Overwrite everything is replaced but what lies in src, is read by work
// that runs or was stored by this call for another file. Where dst lies in src, it is left out of what is read.
//
// The counts are those of a job, with the roles of source and target exchanged.
// Shared assets are looked for in src and then in dst. The error is one of the
// whole: a listing that fails, a store that cannot be reached, a device that is lost,
// codecs that do not end ([ErrStuck]), the end of ctx.
func Decompress(ctx context.Context, src, dst *storage.Bucket, opts *DecompressOptions) (jobs.Counts, error) {
	d := &decompression{src: src, dst: dst}
	err := d.prepare(opts)
	if err == nil {
		err = d.run(ctx)
	}
	if err != nil {
		return d.counts, fmt.Errorf("worker: decompress: %w", err)
	}
	return d.counts, nil
}

func (d *decompression) prepare(opts *DecompressOptions) error {
	if opts != nil {
		d.opts = *opts
	}
	if d.opts.Format != "" && d.opts.Format != formatSource && imageExtensions[d.opts.Format] == "" && d.opts.Format != "pnm" {
		return fmt.Errorf("format %q: want source, png, tiff, nii or pnm", d.opts.Format)
	}
	overlap, err := storage.Compare(d.src, d.dst)
	if err != nil {
		return err
	}
	d.sources = NewSourceGuard(d.opts.Buckets, d.src, d.dst, d.opts.Name)
	d.own = newOwnImages(overlap)
	d.decoding, err = newDecoding(d.opts.Device, d.opts.CPU, d.opts.Memory, d.opts.Timeout, d.opts.Codecs, newAssets().from(d.src, d.dst))
	if err == nil {
		d.view, d.trace = d.opts.View, d.opts.Trace
	}
	return err
}

func (d *decompression) run(ctx context.Context) error {
	return d.each(ctx, func(found func(*object) error) error { return d.list(ctx, found) }, d.object)
}

// decompression is one call of Decompress.
type decompression struct {
	*decoding
	opts     DecompressOptions
	src, dst *storage.Bucket
	sources  *SourceGuard
	own      *ownImages
	claims   keyClaims
	counts   jobs.Counts // guarded by mu
}

// list calls found with every object of the source that is to be decoded.
func (d *decompression) list(ctx context.Context, found func(*object) error) error {
	names := &pictureNames{codecs: d.codecs}
	err := storage.Walk(ctx, d.src, nil, func(p storage.Page) error {
		for _, o := range p.Objects {
			if d.own.has(o.Key) {
				continue
			}
			origin := d.origin(o.Key)
			_, named := codecOf(d.codecs, o.Key)
			named = named || origin.DICOM || dicomName(o.Key)
			if !named && !d.opts.Sniff && !(origin.Copy && d.opts.Format == formatSource) || d.opts.Filter != nil && !d.opts.Filter(o.Key) {
				if err := names.next(o.Key, nil, found); err != nil {
					return err
				}
				continue
			}
			e := jobs.Entry{Key: o.Key, Size: o.Size, ETag: o.ETag, ModTime: o.ModTime}
			if err := names.next(o.Key, &object{entry: e, origin: origin, attempts: 1}, found); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return names.end(found)
}

// origin is what the records say of an object; the zero value where they say nothing.
func (d *decompression) origin(key string) (o Origin) {
	if d.opts.Origin != nil {
		o, _ = d.opts.Origin(key)
	}
	return o
}

// describe completes the origin of o by the metadata of the object, where it has some.
func (d *decompression) describe(ctx context.Context, o *object) error {
	if d.src.Kind() != "file" && (o.origin.ModTime.IsZero() || o.origin.Key == "" && d.opts.Format == formatSource) {
		_, meta, err := storage.Stat(ctx, d.src, o.entry.Key)
		if err != nil {
			return storageFault(ctx, err)
		}
		o.origin.ModTime = storage.CarriedTime(meta)
		if name, err := url.PathUnescape(meta["pelmill_source_name"]); err == nil && name != "" && !strings.ContainsRune(name, '/') && o.origin.Key == "" {
			o.origin.Key, o.origin.Format = path.Join(path.Dir(o.entry.Key), name), meta["pelmill_source_format"]
		}
	}
	if o.origin.ModTime.IsZero() {
		o.origin.ModTime = o.entry.ModTime
	}
	return nil
}

// object brings one object to its record, or says that it has to be tried again alone.
// The error is one of the whole.
func (d *decompression) object(ctx context.Context, o *object) (alone bool, err error) {
	err = d.decompress(ctx, o, false)
	if errors.Is(err, errWhole) {
		err = d.decompress(ctx, o, true)
	}
	var f *fault
	switch {
	case err == nil:
	case !errors.As(err, &f):
		return false, err
	case o.needsToBeAlone(err):
		return true, nil
	default:
		o.record.Outcome, o.record.Class, o.record.Error = f.outcome, f.class, f.text()
	}
	o.record.Attempts, o.record.Seconds = o.attempts, o.seconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts.Add(&o.record)
	if d.opts.OnResult != nil {
		d.opts.OnResult(o.record)
	}
	return false, nil
}

// decompress takes an object through its stages, with a share of the memory or with the
// whole. It returns a [*fault] where the object is to blame.
func (d *decompression) decompress(ctx context.Context, o *object, whole bool) error {
	e := &o.entry
	o.record = jobs.Result{Key: e.Key, ETag: e.ETag, Size: e.Size, ModTime: e.ModTime, Device: d.device.Name()}
	o.spent = [len(o.spent)]time.Duration{}
	defer o.release()
	if err := o.in(stageFetch, func() error { return d.fetch(ctx, o, whole) }); err != nil {
		return err
	}
	defer o.sumSource() // of what does not become a picture
	if err := d.describe(ctx, o); err != nil {
		return err
	}
	if o.origin.Copy && d.opts.Format == formatSource {
		o.file = o.data
		return o.in(stageStore, func() error { return d.storeAs(ctx, o, o.entry.Key) })
	}
	if dicom.Is(o.data) {
		if o.origin.Copy {
			o.file = o.data
			return o.in(stageStore, func() error { return d.storeAs(ctx, o, o.entry.Key) })
		}
		return d.decompressDICOM(ctx, o)
	}
	if o.codec = d.codecFor(e.Key, o.data); o.codec == nil {
		return faultf(jobs.OutcomeUnsupported, class.Format, "it is no file of any codec")
	}
	if exact, ok := o.codec.(codec.SourceCodec); ok && d.wantsSource() {
		return d.restore(ctx, o, exact)
	}
	if d.wantsSource() && series.Is(o.data) {
		return d.decompressSeries(ctx, o)
	}
	if err := d.header(ctx, o, pictureMemory); err != nil {
		return err
	}
	if err := d.attempts(ctx, o, attempt{call: d.decode, after: d.encode}); err != nil {
		return err
	}
	return o.in(stageStore, func() error { return d.store(ctx, o) })
}

// fetch reads the file and takes the memory for it. The SHA-256 is left to [object.sumSource].
func (d *decompression) fetch(ctx context.Context, o *object, whole bool) error {
	size := o.entry.Size
	if size > maxFile {
		return faultf(jobs.OutcomeRejected, class.Limit, "the file has %d bytes and the limit is %d", size, maxFile)
	}
	err := d.get(ctx, o, whole, size, func(ctx context.Context) (storage.GetResult, error) {
		return storage.Get(ctx, d.src, o.entry.Key, max(size, 1), nil)
	})
	var large *storage.TooLargeError
	var f *fault
	switch {
	case err == nil:
		o.record.Size = int64(len(o.data))
		return nil
	case errors.As(err, &f):
		return err
	case errors.As(err, &large):
		return faultf(jobs.OutcomeFailed, class.Changed, "it has %d bytes and had %d when it was listed", large.Size, size)
	case storage.IsNotExist(err):
		return &fault{outcome: jobs.OutcomeFailed, class: class.Missing, err: err}
	}
	return storageFault(ctx, err)
}

// codecFor is the codec whose file this is: by its name and header, else by its
// header, else by its name, so that a damaged file is called so.
func (d *decompression) codecFor(key string, file []byte) codec.Codec {
	reads := func(c codec.Codec) bool { _, err := headerOf(c, file, codec.View{}); return err == nil }
	named, ok := codecOf(d.codecs, key)
	if ok && reads(named) {
		return named
	}
	if i := slices.IndexFunc(d.codecs, reads); i >= 0 {
		return d.codecs[i]
	}
	return named
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

// pictureMemory is what turning a codec's file into a picture file takes, besides the
// bytes of the codec's file: what decoding takes; then the image, the picture file,
// which doubles as it is written, and what decoding that again takes.
func pictureMemory(h codec.Header) int64 {
	n := int64(h.Size())
	return max(h.Memory, n+3*n) + deflateTables
}

const deflateTables = 2 << 20 // bytes, for both ways

// encode makes a picture file of the image, decodes that and compares it.
func (d *decompression) encode(_ context.Context, _ codec.Run, o *object) (err error) {
	r := &o.record
	hash := o.hashImage()
	err = o.in(stageEncode, func() (err error) {
		if o.format = d.opts.Format; o.format == formatSource {
			o.format = ""
			if o.origin.writable() {
				o.file, err = imageio.Encode(o.image, o.origin.Format)
				if err == nil {
					o.format = o.origin.Format
					return nil
				}
			}
			o.origin.Key = "" // another format must not have its name
		}
		if o.format == "" {
			o.format = imageio.FormatFor(o.image)
		}
		o.file, err = imageio.Encode(o.image, o.format)
		return err
	})
	if err != nil {
		return &fault{outcome: jobs.OutcomeUnsupported, class: class.Image, err: err}
	}
	return o.in(stageVerify, func() error {
		again, err := imageio.Decode(o.file, nil)
		if err != nil {
			return faultf(jobs.OutcomeFailed, class.Verify, "the picture file does not decode: %w", err)
		}
		decoded, sum := again.HashWith(o.file)
		if decoded != hash {
			return faultf(jobs.OutcomeFailed, class.Verify, "the picture file decodes to another picture")
		}
		o.fileSum = sum[:]
		r.PixelHash, r.DecodedHash, r.Verified = hash, hash, "full"
		r.Shape, r.RawBytes = o.image.Shape, int64(len(o.image.Pix))
		r.Dropped = o.image.Meta.Lost(&again.Meta)
		return nil
	})
}

// writable reports whether the name and format of the source can be restored.
func (o *Origin) writable() bool {
	return o.Key != "" && (imageExtensions[o.Format] != "" || o.Format == "pnm") && !strings.HasSuffix(strings.ToLower(o.Key), ".gz")
}

// store creates the picture file. What it may replace is decided in picturestore.go.
func (d *decompression) store(ctx context.Context, o *object) error {
	target := d.target(o)
	if d.opts.Format == formatSource && o.origin.Key != "" {
		target = o.origin.Key
	}
	return d.storeAs(ctx, o, target)
}

func (d *decompression) storeAs(ctx context.Context, o *object, target string) error {
	r := &o.record
	if err := jobs.CheckKey(target); err != nil {
		return faultf(jobs.OutcomeUnsupported, class.Key, "%w", err)
	}
	r.Target = target
	if err := take(ctx, d.stores); err != nil {
		return err
	}
	end := d.storing()
	put, err := d.put(ctx, target, o)
	end()
	if err != nil {
		return d.writeFault(ctx, err)
	}
	r.Outcome = jobs.OutcomeCompressed
	if put.Existed {
		r.Outcome = jobs.OutcomeSkipped
	}
	r.TargetSize, r.TargetSHA256, r.TargetMD5 = put.Size, hex.EncodeToString(put.SHA256), hex.EncodeToString(put.MD5)
	return nil
}

// target is the key of the picture file.
func (d *decompression) target(o *object) string {
	key, m := o.record.Key, o.image
	stem := key
	if c, ok := codecOf(d.codecs, key); ok {
		stem = stripExtension(key, c.Info())
	}
	ext := imageExtensions[o.format]
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
	if o.stemIsName && d.own.overlap.Relation == storage.Disjoint && sameExtension(path.Ext(stem), ext) {
		return stem
	}
	return stem + ext
}
