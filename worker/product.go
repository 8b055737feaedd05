package worker

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// product is one attempt to make a file out of a source. Whoever calls its stages
// owns it; after a stage that was given up it must not be looked at any more.
type product struct {
	*jobContext
	key    string
	format string                      // of the source, as imageio names it
	data   []byte                      // of the source
	fits   func(m *raster.Image) error // asks for the memory of the stages after reading; nil: there is enough

	stage   string // at work
	spent   map[string]time.Duration
	image   *raster.Image // what the codec gets
	encoded []byte
	facts   []codec.Field // of encoded

	decoded   *raster.Image // by a device, for verification
	decodeErr error

	shape                  raster.Shape
	note                   string // what the record should say of a success
	pixelHash, decodedHash string
	psnr, ssim             float64
	verified               string
}

// kept reports whether the result is no gain.
func (p *product) kept() bool { return len(p.encoded) >= len(p.data) }

// in runs the work of a stage and measures it.
func (p *product) in(stage string, work func() error) error {
	p.stage = stage
	start := time.Now()
	err := work()
	p.spend(stage, time.Since(start))
	return err
}

func (p *product) spend(stage string, d time.Duration) {
	if p.spent == nil {
		p.spent = make(map[string]time.Duration, 3)
	}
	p.spent[stage] += d
}

// all is everything on the CPU.
func (p *product) all(ctx context.Context) error {
	if err := p.read(ctx); err != nil {
		return err
	}
	if err := p.encode(ctx); err != nil {
		return err
	}
	return p.verify(ctx)
}

func (p *product) read(context.Context) error {
	return p.in(stageRead, func() error {
		l := p.spec.Limits
		m, err := imageio.Decode(p.data, &imageio.Limits{Bytes: l.Bytes, Side: l.Side, Samples: l.Samples, Frames: l.Frames, Ratio: l.Ratio})
		if err != nil {
			return readFault(err)
		}
		if err := p.info.Check(m.Shape); err != nil {
			opaque := raster.DropOpaqueAlpha(m)
			if opaque == m || p.info.Check(opaque.Shape) != nil {
				return codecFault(err)
			}
			m = opaque
			if p.note != "" {
				p.note += "; "
			}
			p.note += "the alpha channel is opaque everywhere and was left out"
		}
		p.image, p.pixelHash, p.shape = m, m.Hash(), m.Shape
		if p.fits != nil {
			return p.fits(m)
		}
		return nil
	})
}

// item is what the codec gets.
func (p *product) item() codec.Item {
	return codec.Item{Image: p.image, Source: codec.Source{Format: p.format, Data: p.data}}
}

func (p *product) encode(ctx context.Context) error {
	return p.in(stageEncode, func() error {
		out := p.codec.Encode(ctx, codec.Run{}, []codec.Item{p.item()}, p.options)
		if len(out) != 1 {
			return codecFault(fmt.Errorf("%s: %d results for one picture", p.info.Name, len(out)))
		}
		return p.take(out[0])
	})
}

// take accepts what the codec gave.
func (p *product) take(e codec.Encoded) error {
	switch {
	case e.Err != nil:
		return codecFault(e.Err)
	case len(e.Data) == 0:
		return codecFault(fmt.Errorf("%s: an empty file", p.info.Name))
	}
	p.encoded, p.facts = e.Data, e.Facts
	return nil
}

// verify decodes the result on the CPU and compares, where the job asks for it and
// the result is going to be used.
func (p *product) verify(ctx context.Context) error {
	if p.kept() {
		return nil
	}
	if !wanted(p.spec.Verify, p.key) {
		p.verified = "off"
		return nil
	}
	return p.in(stageVerify, func() error {
		out := p.codec.Decode(ctx, codec.Run{}, [][]byte{p.encoded}, p.assets)
		if len(out) != 1 {
			return unverified("%s: %d pictures from one file", p.info.Name, len(out))
		}
		p.verified = "full"
		return p.compare(out[0].Image, out[0].Err)
	})
}

// verifyDevice is the --verify that decodes where the encoder ran.
const verifyDevice = "device"

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

// compare holds the decoded image against the one that was encoded.
func (p *product) compare(m *raster.Image, err error) error {
	if err != nil {
		return unverified("the result does not decode: %w", err)
	}
	if m == nil || len(m.Pix) != len(p.image.Pix) || !m.Same(p.image.Shape) {
		shape := "nothing"
		if m != nil {
			shape = m.Shape.String()
		}
		return unverified("the result decodes to %s, the picture is %s", shape, p.image.Shape)
	}
	p.decodedHash = m.Hash()
	lossless := p.info.KeepsImages(p.options)
	switch {
	case p.decodedHash == p.pixelHash:
		if !lossless {
			p.psnr, p.ssim = raster.Identical, 1
		}
		return nil
	case lossless:
		return unverified("the result decodes to another picture")
	}
	if p.psnr, err = raster.PSNR(p.image, m); err != nil {
		return unverified("%w", err)
	}
	if p.ssim, err = raster.SSIM(p.image, m); err != nil {
		return unverified("%w", err)
	}
	if p.psnr < p.spec.MinPSNR {
		// The same image gives the same quality in every attempt.
		return faultf(jobs.OutcomeFailed, jobs.ClassVerify, "a PSNR of %.2f dB is below the floor of %.2f dB", p.psnr, p.spec.MinPSNR)
	}
	return nil
}

func unverified(format string, args ...any) error {
	f := faultf(jobs.OutcomeFailed, jobs.ClassVerify, format, args...)
	f.again = true
	return f
}

// panicked turns a panic in a stage into a fault.
func (p *product) panicked(v any) *fault {
	if p.stage == stageRead {
		return faultf(jobs.OutcomeRejected, jobs.ClassMalformed, "reading it panicked: %v", v)
	}
	f := faultf(jobs.OutcomeFailed, jobs.ClassCodec, "%s panicked in %s: %v", p.info.Name, p.stage, v)
	f.again = true
	return f
}
