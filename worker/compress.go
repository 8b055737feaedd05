package worker

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/storage"
)

// object brings one object to its record, unless the context ends, the chunk fails, or
// the object has to be tried again later, alone.
func (c *chunk) object(ctx context.Context, o *object) {
	defer func() {
		if ctx.Err() == nil { // else its call may go on, and nobody waits for more
			c.w.isPast(o)
		}
	}()
	err := c.compress(ctx, o, false)
	if errors.Is(err, errWhole) {
		err = c.compress(ctx, o, true)
	}
	var f *fault
	switch {
	case err == nil:
	case !errors.As(err, &f):
		if ctx.Err() == nil {
			c.fail(err)
		}
		return
	case o.needsToBeAlone(err):
		c.mu.Lock()
		c.last = append(c.last, o.again())
		c.mu.Unlock()
		return
	default:
		o.record.Outcome, o.record.Class, o.record.Error = f.outcome, f.class, f.text()
		switch {
		case !f.judges() || o.entry.Size < 0:
		case f.class == class.Quality:
			o.record.Verdict = c.spec.QualityVerdict(o.entry)
		default:
			o.record.Verdict = c.spec.Verdict(o.entry)
		}
	}
	c.record(ctx, o)
}

// compress takes an object through its stages, with a share of the memory or with the
// whole. It returns a [*fault] where the object is to blame.
func (c *chunk) compress(ctx context.Context, o *object, whole bool) error {
	o.record = c.blank(o.index)
	o.spent = [len(o.spent)]time.Duration{}
	defer o.delivery.enters(o, "")
	defer o.release()
	err := c.stages(ctx, o, whole)
	var f *fault
	if errors.As(err, &f) && c.spec.Others == "copy" && (f.outcome == jobs.OutcomeUnsupported || f.outcome == jobs.OutcomeRejected) {
		if cerr := c.copyOther(ctx, o); cerr != nil {
			return cerr
		}
	}
	if err == nil {
		o.reuseData()
	}
	return err
}

// stages takes an object through its stages, for compress.
func (c *chunk) stages(ctx context.Context, o *object, whole bool) error {
	o.by = c.jobContext
	if err := c.checkKeys(&o.entry); err != nil {
		return err
	}
	if len(o.entry.Parts) > 0 {
		return c.series(ctx, o, whole)
	}
	err := o.in(stageFetch, func() error {
		err := c.fetch(ctx, o, whole)
		if dicom.Is(o.data) || dicom.Bare(o.data) { // also of what is rejected: its key may name a patient
			o.record.SourceFormat = imageio.DICOM
			o.logKey = c.w.logKey(o.entry.Key, imageio.DICOM)
		}
		return err
	})
	if err != nil {
		return err
	}
	defer o.recordSums() // of what is not read, or fails before they are made
	o.delivery.enters(o, stageHeader)
	if err := c.header(ctx, o); err != nil {
		return err
	}
	if err := c.enter(ctx, o); err != nil {
		return err
	}
	defer c.flights.end(o.index)
	o.started = c.flights.started
	defer o.begins()
	err = c.w.attempts(ctx, o, attempt{before: o.by.read, call: o.by.encode, after: o.by.verify})
	if err != nil {
		return err
	}
	return o.in(stageStore, func() error { return c.store(ctx, o) })
}

// blank is the record of an object of which nothing is known but its entry.
func (c *chunk) blank(i int) jobs.Result {
	e := &c.entries[i]
	return jobs.Result{
		Key: e.Key, ETag: e.ETag, Size: max(e.Size, 0), ModTime: e.ModTime, Parts: e.Parts,
		Codec: c.spec.Codec, Version: c.spec.Version, Options: c.spec.Options,
	}
}

// checkKeys refuses entries that aim at anything but an object and its result.
func (c *chunk) checkKeys(e *jobs.Entry) error {
	if e.Bad != "" {
		return faultf(jobs.OutcomeFailed, class.Key, "%s", e.Bad)
	}
	if err := jobs.CheckKey(e.Key); err != nil {
		return faultf(jobs.OutcomeUnsupported, class.Key, "%w; copy the object under another name", err)
	}
	if err := e.Check(c.extensions...); err != nil {
		return &fault{outcome: jobs.OutcomeFailed, class: class.Key, err: err}
	}
	return nil
}

// header chooses the codec by the header of the source where the job does not name one,
// refuses what it does not take, and takes the memory for the image.
func (c *chunk) header(ctx context.Context, o *object) error {
	head, err := imageio.ReadHeader(o.data, c.limits())
	if err != nil {
		return readFault(err)
	}
	o.head = head
	o.record.SourceFormat = head.Format
	k := c.choose(&head)
	o.by = k
	if c.choices != nil {
		o.record.Codec, o.record.Version, o.record.Options = k.info.Name, k.info.Version, k.options.String()
	}
	if err := k.acceptsSource(&head); err != nil {
		return err
	}
	if head.Format == imageio.DICOM {
		return c.headerDICOM(ctx, o)
	}
	o.record.Shape, o.record.RawBytes = head.Shape, int64(head.Size())
	if err := k.accepts(head.Shape); err != nil {
		return err
	}
	if !o.alone {
		o.batches = k.batches
		o.streams = o.batches != nil && imageio.MayStream(o.data)
	}
	if k.exact != nil {
		n := k.sourceMemory(&head)
		return o.held.image(ctx, n, n)
	}
	read := k.readMemory(&head)
	return o.held.image(ctx, read, max(read, k.workMemory(head.Shape, nil, o.batches != nil)))
}

func (k *jobContext) limits() *imageio.Limits {
	l := k.spec.Limits
	return &imageio.Limits{Bytes: l.Bytes, Side: l.Side, Samples: l.Samples, Frames: l.Frames, Ratio: l.Ratio}
}

// accepts refuses what the codec does not take in any case. An alpha channel may turn
// out to be opaque.
func (k *jobContext) accepts(s raster.Shape) error {
	err := k.info.Check(s)
	if err == nil || k.acceptsOpaque(s) {
		return nil
	}
	if eight := s; s.Bits == 16 && !s.Signed {
		eight.Bits = 8
		switch fits := k.info.Check(eight) == nil || k.acceptsOpaque(eight); {
		case fits && k.spec.Reduce:
			return nil
		case fits:
			err = fmt.Errorf("%w, and --reduce takes 16-bit samples as 8 bits where all are 8-bit values times 257", err)
		}
	}
	return codecFault(err)
}

// acceptsOpaque reports whether the codec takes the shape without its alpha channel.
func (k *jobContext) acceptsOpaque(s raster.Shape) bool {
	if !s.Alpha() {
		return false
	}
	s.Channels--
	return k.info.Check(s) == nil
}

// note adds to what the record says of the image.
func (o *object) note(text string) {
	if o.record.Note != "" {
		o.record.Note += "; "
	}
	o.record.Note += text
}

// read decodes the source.
func (k *jobContext) read(o *object) error {
	if o.dicom != nil {
		return o.in(stageRead, o.readDICOM)
	}
	if k.exact != nil {
		o.sumSource()
		return nil
	}
	return o.in(stageRead, func() error {
		o.record.Note = o.head.Note
		m, err := k.sourceImage(o)
		if err != nil {
			return readFault(err)
		}
		if eight := raster.EightBits(m); k.spec.Reduce && eight != m {
			m = eight
			o.note("its samples of 16 bits are all 8-bit values times 257 and were taken as these")
		}
		if err := k.info.Check(m.Shape); err != nil {
			opaque := raster.DropOpaqueAlpha(m)
			if opaque == m || k.info.Check(opaque.Shape) != nil {
				return codecFault(err)
			}
			m = opaque
			o.note("the alpha channel is opaque everywhere and was left out")
		}
		o.image = m
		if k.info.KeepsImages(k.options) {
			o.sum = pixelSum(m)
		}
		o.record.Shape, o.record.RawBytes, o.record.PixelHash = m.Shape, int64(len(m.Pix)), ""
		if o.sumsDue = k.summing.takes(o); !o.sumsDue {
			o.record.PixelHash = o.hashImage()
		}
		o.record.Animation = jobs.NewAnimation(m.Meta.Animation)
		return o.held.shrink(max(k.readMemory(&o.head), k.workMemory(m.Shape, m, o.batches != nil)))
	})
}

// sourceImage is the image of a source, from the samples that a device has read where it did.
func (k *jobContext) sourceImage(o *object) (*raster.Image, error) {
	if o.stream != nil {
		return o.stream.Decode()
	}
	start := time.Now()
	m, err := imageio.Decode(o.data, k.limits())
	if o.streams {
		k.reading.onHost(o, time.Since(start))
	}
	return m, err
}

// encode makes the files of a batch. A device decodes them at once where it is to
// verify them.
func (k *jobContext) encode(ctx context.Context, run codec.Run, batch []*object) error {
	if batch = k.encodeDICOM(ctx, run, batch); len(batch) == 0 {
		return nil
	}
	items := make([]codec.Item, len(batch))
	for i, o := range batch {
		o.stage = stageEncode
		o.delivery.enters(o, stageEncode)
		items[i] = codec.Item{Image: o.image, Source: codec.Source{Format: o.head.Format, Data: o.data}}
	}
	start := time.Now()
	encoding := run
	encoding.Alloc = nil // a store may still read a file when the object is done
	encoding.Digests = k.digestsOfResults(run, len(batch))
	encoded := func() []codec.Encoded {
		if k.summing != nil && run.Device != nil {
			defer pool.Beside(func() { k.summing.sumBatch(ctx, run, batch) })()
		}
		return k.codec.Encode(ctx, encoding, items, k.options)
	}()
	if len(encoded) != len(batch) {
		return codecFault(fmt.Errorf("%s: %d results for a batch of %d", k.info.Name, len(encoded), len(batch)))
	}
	each := time.Since(start) / time.Duration(len(batch))
	batch[0].traced(stageEncode, start, len(batch))
	var files []*object
	proved := rand.IntN(len(batch))
	for i, o := range batch {
		o.spend(stageEncode, each)
		if !encoding.Digests {
			encoded[i].Decoded = nil
		}
		o.failure, o.proved = k.take(o, encoded[i]), i == proved
		if o.failure == nil && !o.kept() {
			files = append(files, o)
		}
	}
	if run.Device == nil || k.spec.Verify != verifyDevice || len(files) == 0 {
		return nil
	}
	return k.decodeOn(ctx, run, files)
}

// take accepts what the codec gave for o.
func (k *jobContext) take(o *object, e codec.Encoded) error {
	switch {
	case e.Err != nil && k.exact != nil:
		return sourceFault(e.Err)
	case e.Err != nil:
		return codecFault(e.Err)
	case len(e.Data) == 0:
		return codecFault(fmt.Errorf("%s: an empty file", k.info.Name))
	}
	o.file, o.fileSum, o.expect, o.digests = e.Data, nil, e.Expect, e.Decoded
	o.decoded, o.compared, o.record.Verified = nil, nil, "" // of an earlier attempt
	if !o.kept() && len(e.Facts) > 0 {
		o.record.Facts = make(map[string]string, len(e.Facts))
		for _, f := range e.Facts {
			o.record.Facts[f.Name] = f.Value
		}
	}
	return nil
}

// kept reports whether the result is no gain.
func (o *object) kept() bool { return len(o.file) >= len(o.data) }

// decodeOn decodes files on the device that made them.
func (k *jobContext) decodeOn(ctx context.Context, run codec.Run, batch []*object) error {
	files := make([][]byte, len(batch))
	run.Expect, run.Originals = make([]any, len(batch)), make([]codec.Original, len(batch))
	fetched := rand.IntN(len(batch))
	for i, o := range batch {
		o.stage = stageVerify
		o.delivery.enters(o, stageVerify)
		files[i] = o.file
		run.Expect[i], o.expect = o.expect, nil
		if k.compares() {
			run.Originals[i] = codec.Original{Image: o.image, Fetch: i == fetched}
		}
	}
	start := time.Now()
	decoded := k.codec.Decode(ctx, run, files, k.assets)
	if len(decoded) != len(files) {
		return unverified("%s: %d pictures from %d files", k.info.Name, len(decoded), len(files))
	}
	each := time.Since(start) / time.Duration(len(batch))
	batch[0].traced(stageVerify, start, len(batch))
	for i, o := range batch {
		o.spend(stageVerify, each)
		o.decoded, o.compared = decoded[i].Image, decoded[i].Compared
		o.record.Verified, o.record.SecondDecoder = verifyDevice, string(decoded[i].Second)
		if err := decoded[i].Err; err != nil {
			o.failure = unverified("the result does not decode: %w", err)
		}
	}
	k.proveComparisons(batch)
	return nil
}

// verifyDevice is the --verify that decodes where the encoder ran.
const verifyDevice = "device"

// verify decodes the result and compares it with the image, where the job asks for it
// and the result is going to be used. A device may have decoded it already.
func (k *jobContext) verify(ctx context.Context, run codec.Run, o *object) error {
	switch {
	case o.kept():
		return nil
	case o.dicom != nil:
		return o.in(stageVerify, func() error { return k.verifyDICOM(ctx, run, o) })
	case k.exact != nil:
		return k.verifySource(ctx, run, o)
	case o.record.Verified == verifyDevice:
		return o.in(stageVerify, func() error { return k.compare(o, o.decoded) })
	case !wanted(k.spec.Verify, o.record.Key):
		o.record.Verified = "off"
		return nil
	}
	return o.in(stageVerify, func() error {
		var memory comparedMemory
		run.Alloc = memory.alloc
		err := k.verifyFile(ctx, run, o)
		memory.giveBack()
		return err
	})
}

// verifyFile decodes the result on the CPU and compares it. The decoded image is not used any more then.
func (k *jobContext) verifyFile(ctx context.Context, run codec.Run, o *object) error {
	run.Expect, o.expect = []any{o.expect}, nil
	out := k.codec.Decode(ctx, run, [][]byte{o.file}, k.assets)
	if len(out) != 1 {
		return unverified("%s: %d pictures from one file", k.info.Name, len(out))
	}
	if err := out[0].Err; err != nil {
		return unverified("the result does not decode: %w", err)
	}
	o.record.Verified, o.record.SecondDecoder = verifyFull, string(out[0].Second)
	return k.compare(o, out[0].Image)
}

// wanted reports whether the result for key is to be verified. A sample is chosen
// by the key, so that it is the same in every delivery.
func wanted(verify, key string) bool {
	if verify == "off" {
		return false
	}
	share, ok := strings.CutPrefix(verify, "sample:")
	if !ok {
		return true
	}
	p, err := strconv.ParseFloat(share, 64)
	return err != nil || sampled(key, p)
}

// sampled chooses a share of all keys.
func sampled(key string, share float64) bool {
	h := fnv.New64a()
	h.Write([]byte(key))
	// The low bits of FNV are the better mixed ones.
	return float64(h.Sum64()&(1<<32-1)) < share*(1<<32)
}

// compare holds the decoded image against the one that was encoded. A device may have done so, and kept the samples.
func (k *jobContext) compare(o *object, m *raster.Image) (err error) {
	c := o.compared
	if m == nil || !m.Same(o.image.Shape) || c == nil && len(m.Pix) != len(o.image.Pix) {
		shape := "nothing"
		if m != nil {
			shape = m.Shape.String()
		}
		return unverified("the result decodes to %s, the picture is %s", shape, o.image.Shape)
	}
	for _, name := range o.image.Meta.Lost(&m.Meta) {
		switch {
		case !slices.Contains(k.info.Keeps, name):
		case name == raster.AttributeDensity && m.Meta.Density == (raster.Density{}):
			// Formats have a density as a ratio of small numbers, which not every density is: then they have none.
			if !slices.Contains(o.record.Dropped, name) {
				o.record.Dropped = append(o.record.Dropped, name)
			}
		default:
			return unverified("the result does not keep the attribute %s of the picture", name)
		}
	}
	r, lossless := &o.record, k.info.KeepsImages(k.options)
	hash := r.PixelHash
	switch {
	case c != nil && !c.Identical:
		hash = "" // another one, which no record has
	case c != nil:
		hash = o.hashOriginal()
	case lossless && o.sameSamples(m):
	case !lossless && r.Verified == verifyDevice && !bytes.Equal(m.Pix, o.image.Pix):
		hash = "" // another one, which no record has
	default:
		hash = k.hashResult(o, m)
	}
	if hash == r.PixelHash || r.Verified != verifyDevice {
		r.DecodedHash = hash
	}
	switch {
	case hash == r.PixelHash:
		if !lossless {
			r.PSNR, r.SSIM = raster.Identical, 1
		}
		return nil
	case lossless:
		return unverified("the result decodes to another picture")
	}
	if c != nil {
		r.PSNR, r.SSIM = c.PSNR, c.SSIM
	} else if r.PSNR, r.SSIM, err = raster.Quality(o.image, m); err != nil {
		return unverified("%w", err)
	}
	if r.PSNR < k.spec.MinPSNR {
		f := faultf(jobs.OutcomeRejected, class.Quality, "the result has a PSNR of %.2f dB, below the floor of %.4g dB: other options may suit the picture better, a lossless codec does, and a lower --min-psnr or 0 takes it as it is",
			r.PSNR, k.spec.MinPSNR)
		// The same image has the same quality each time, unless a card erred: the CPU has the last word.
		f.again, f.alone = o.batches != nil && !o.alone, o.batches != nil && !o.alone
		return f
	}
	return nil
}

// unverified is the fault of a result that does not stand the test.
func unverified(format string, args ...any) error {
	f := faultf(jobs.OutcomeFailed, class.Verify, format, args...)
	f.again = true
	return f
}

// store creates the target, or does what is asked for where the result is not
// smaller than the source. What it may replace is decided in replace.go.
func (c *chunk) store(ctx context.Context, o *object) error {
	r := &o.record
	r.Fingerprint = c.spec.Fingerprint(o.entry)
	key, data, media := o.entry.TargetKey(o.by.info.Extension), o.file, o.by.info.MediaType
	if o.dicom != nil {
		key, media = o.entry.Key, mediaDICOM
	}
	r.Outcome = jobs.OutcomeCompressed
	if o.kept() {
		r.Outcome = jobs.OutcomeKept
		if c.spec.Larger != "copy" {
			return nil
		}
		key, data, media = o.entry.Key, o.data, ""
		o.held.keepSource()
	}
	if err := c.throttle(ctx, storeRequests, 0, int64(len(data))); err != nil {
		return err
	}
	opts := c.putOptions(o, media)
	if r.Outcome == jobs.OutcomeCompressed {
		opts.SHA256 = o.fileSum
	}
	put, err := c.put(ctx, o, key, data, opts)
	if err != nil {
		return err
	}
	stored(r, key, put)
	if err := c.deleteSuperseded(ctx, o, key); err != nil {
		return err
	}
	if r.Outcome == jobs.OutcomeCompressed {
		if o.image != nil && o.dicom == nil {
			r.Dropped = append(o.by.info.Dropped(&o.image.Meta), r.Dropped...) // and those of compare
		}
		r.Ratio = float64(r.RawBytes) / float64(put.Size)
		r.BPP = 8 * float64(put.Size) / float64(r.Pixels())
	}
	return nil
}

// putOptions are those of what is stored of an object.
func (c *chunk) putOptions(o *object, media string) *storage.PutOptions {
	r := &o.record
	meta := c.ownerMetadata(&o.entry, r.Fingerprint)
	for name, value := range map[string]string{
		"pelmill_source_sha256": r.SHA256, "pelmill_pixel_hash": r.PixelHash, "pelmill_source_etag": r.ETag,
		"pelmill_source_format": r.SourceFormat, metaSourceName: url.PathEscape(path.Base(r.Key)),
	} {
		if name == metaSourceName && o.dicom != nil {
			continue // the result has the source's key
		}
		if value != "" && len(value) <= maxMetadata {
			meta[name] = value
		}
	}
	return &storage.PutOptions{Metadata: meta, ContentType: media, ModTime: r.ModTime}
}

// metaSourceName is the metadata with the name of the source without its folder.
const metaSourceName = "pelmill_source_name"

// maxMetadata bounds a value of the metadata, in bytes: S3 has room for 2 KB in all.
const maxMetadata = 512

// stored notes what is in the target now.
func stored(r *jobs.Result, key string, put storage.PutResult) {
	r.Target, r.TargetSize = key, put.Size
	r.TargetSHA256, r.TargetMD5 = hex.EncodeToString(put.SHA256), hex.EncodeToString(put.MD5)
}
