package worker

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// mediaDICOM is the media type of DICOM files (RFC 3240).
const mediaDICOM = "application/dicom"

// exactDICOM is [jobs.Result].Exact of a DICOM file.
const exactDICOM = "dicom"

// dicomSource is a source that stays DICOM: its bytes are copied, and its frames coded again. It goes
// through the stages of all objects, and in each of them something else is done: encode
// makes a codestream for each frame and the file around them, verify compares the file with its source
// byte by byte and decodes the codestreams that stand in it.
type dicomSource struct {
	file        *dicom.File
	frames      codec.Frames
	photometric string // of the result
}

// headerDICOM is header for a DICOM file.
func (c *chunk) headerDICOM(ctx context.Context, o *object) error {
	f, h, err := imageio.OpenDICOM(o.data, c.limits())
	if err != nil {
		return readFault(err)
	}
	o.logKey = c.w.logKey(o.entry.Key, h.Format)
	o.record.Shape, o.record.RawBytes = h.Shape, int64(f.Image.Frames)*int64(f.Image.FrameBytes())
	k := o.by
	options, ok := k.options.(codec.FrameOptions)
	if !ok {
		return codecFault(codec.Unsupportedf("%s: a DICOM file stays DICOM, and DICOM has no transfer syntax for this codec: --codec jpeg2000 compresses it", k.info.Name))
	}
	frame := h.Shape
	frame.Depth, frame.Frames = 1, false
	s := &dicomSource{file: f, photometric: f.Image.Photometric}
	rgb := s.photometric == "RGB" || s.photometric == "YBR_RCT"
	if s.frames, err = options.Frames(frame, rgb); err != nil {
		return codecFault(err)
	}
	if err := k.codec.Info().With(s.frames.Options).Check(frame); err != nil {
		return codecFault(err)
	}
	if rgb {
		s.photometric = "RGB"
		if s.frames.Decorrelated {
			s.photometric = "YBR_RCT" // PS3.3 C.7.6.3.1.2
		}
	}
	o.dicom = s
	if !o.alone {
		o.batches = k.batches
	}
	one := k.codec.Memory(frame, nil, s.frames.Options)
	atOnce := int64(min(f.Image.Frames, c.w.cpu))
	work := int64(h.Size()) + 2*int64(f.Image.Frames)*one.File + atOnce*max(one.Encode, one.Decode)
	return o.held.image(ctx, h.DecodedBytes, max(h.DecodedBytes, work))
}

// readDICOM decodes the frames of the source and records their hash.
func (o *object) readDICOM() error {
	if err := o.decodeDICOM(); err != nil {
		return err
	}
	o.record.PixelHash = o.hashImage()
	return nil
}

func (o *object) decodeDICOM() error {
	m, err := imageio.DecodeDICOM(o.dicom.file)
	if err != nil {
		return readFault(err)
	}
	o.image = m
	return nil
}

// encodeDICOM makes the files of the DICOM sources of a batch, and returns the others. Frames that are
// coded alike are encoded in one batch.
func (k *jobContext) encodeDICOM(ctx context.Context, run codec.Run, batch []*object) (others []*object) {
	alike := map[string][]*object{}
	var order []string
	for _, o := range batch {
		if o.dicom == nil {
			others = append(others, o)
			continue
		}
		key := o.dicom.frames.Options.String()
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], o)
	}
	encoding := run
	encoding.Alloc = nil // files are not lent memory
	for _, key := range order {
		list := alike[key]
		var items []codec.Item
		for _, o := range list {
			o.stage = stageEncode
			for z := range o.image.Depth {
				items = append(items, codec.Item{Image: o.image.Slice(z)})
			}
		}
		start := time.Now()
		encoded := k.codec.Encode(ctx, encoding, items, list[0].dicom.frames.Options)
		each := time.Since(start) / time.Duration(len(list))
		list[0].traced(stageEncode, start, len(list))
		for _, o := range list {
			o.spend(stageEncode, each)
			if len(encoded) != len(items) {
				o.failure = codecFault(fmt.Errorf("%s: %d results for a batch of %d", k.info.Name, len(encoded), len(items)))
				continue
			}
			o.failure = k.takeDICOM(o, encoded[:o.image.Depth])
			encoded, items = encoded[o.image.Depth:], items[o.image.Depth:]
		}
	}
	return others
}

// takeDICOM makes the file of o around its codestreams.
func (k *jobContext) takeDICOM(o *object, encoded []codec.Encoded) (err error) {
	s := o.dicom
	frames := make([][]byte, len(encoded))
	for i, e := range encoded {
		switch {
		case e.Err != nil:
			return codecFault(e.Err)
		case len(e.Data) == 0:
			return codecFault(fmt.Errorf("%s: an empty codestream", k.info.Name))
		}
		frames[i] = e.Data
	}
	o.file, err = s.file.Rewrite(&dicom.Rewriting{Syntax: s.frames.Syntax, Photometric: s.photometric, Frames: frames})
	if err != nil {
		return readFault(err)
	}
	return nil
}

// verifyDICOM proves a file: it is compared with its source by a parser that did not make it, and the
// codestreams that this parser finds in it are read, decoded, on the CPU, and compared with the frames of the
// source: those that were encoded, and where these are native those that the parser finds in the source's file. No job can
// leave this out.
func (k *jobContext) verifyDICOM(ctx context.Context, run codec.Run, o *object) error {
	s, r := o.dicom, &o.record
	m := &s.file.Image
	proof, err := dicom.Verify(o.data, o.file, &dicom.Expected{Syntax: s.frames.Syntax, Photometric: s.photometric, Samples: m.Samples, Frames: m.Frames})
	if err != nil {
		return unverified("the file differs from its source: %w", err)
	}
	if err := proof.Codestreams(); err != nil {
		return unverified("the file is not what its transfer syntax says: %w", err)
	}
	run.Device = nil
	var memory comparedMemory
	run.Alloc = memory.alloc
	for z := 0; z < len(proof.Frames); z += framesAtOnce {
		part := proof.Frames[z:min(z+framesAtOnce, len(proof.Frames))]
		decoded := k.codec.Decode(ctx, run, part, nil)
		if len(decoded) != len(part) {
			return unverified("%s: %d pictures from %d codestreams", k.info.Name, len(decoded), len(part))
		}
		for i, d := range decoded {
			want := o.image.Slice(z + i)
			switch {
			case d.Err != nil:
				return unverified("frame %d does not decode: %w", z+i+1, d.Err)
			case !proof.SourceHas(z+i, m.Containers(want)):
				return unverified("frame %d was read as another one than its source has", z+i+1)
			case !d.Image.Same(want.Shape) || !bytes.Equal(d.Image.Pix, want.Pix):
				return unverified("frame %d decodes to another one", z+i+1)
			}
		}
		memory.giveBack()
	}
	r.DecodedHash, r.Verified = r.PixelHash, verifyFull
	if k.spec.Verify != verifyFull {
		o.note("verified in full, as every DICOM file is, whatever --verify says")
	}
	k.noteDICOM(o, proof)
	return nil
}

// framesAtOnce is how many frames are decoded at once, so that no more than these are held.
const framesAtOnce = 16

// verifyFull is [jobs.Result].Verified of a result that was decoded on the CPU.
const verifyFull = "full"

// noteDICOM records what the proof found: tags and hashes, never a value.
func (k *jobContext) noteDICOM(o *object, proof *dicom.Proof) {
	r, s := &o.record, o.dicom
	r.Exact = exactDICOM
	r.Changed = nil
	for _, t := range proof.Changed {
		r.Changed = append(r.Changed, t.String())
	}
	r.Facts = map[string]string{
		factSyntax: s.frames.Syntax, factSourceSyntax: s.file.Syntax.UID,
		factSamples: sumOf(s.file.Image.Containers(o.image)),
	}
}

// Names of [jobs.Result].Facts of DICOM files.
const (
	factSyntax       = "transfer_syntax"        // UID
	factSourceSyntax = "source_transfer_syntax" // UID
	factSamples      = "samples_sha256"         // over all frames, interleaved and little-endian, BitsAllocated for each sample
)

// unsuited is the fault of what is asked for that a DICOM file cannot give.
func unsuited(format string, args ...any) error {
	return faultf(jobs.OutcomeUnsupported, class.Format, format, args...)
}
