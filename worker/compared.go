package worker

import (
	"bytes"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// deviceComparing has a device that decodes results compare them there with the images, so that their samples need not come back. No flag
// decides it, as all numbers are those of a core. A nil *deviceComparing compares none.
type deviceComparing struct {
	p      *pipeline
	made   atomic.Int64 // comparisons that count
	failed atomic.Bool  // one was wrong
}

// compares reports whether results of the job are compared where they are decoded.
func (k *jobContext) compares() bool {
	return k.comparing != nil && k.info.Compares && k.spec.Verify == verifyDevice && !k.comparing.failed.Load()
}

// proveComparisons has the comparisons of a batch count, unless one is wrong: the samples of some objects have come to the host as well,
// where they are compared once more. If both differ the device compares no more, and what it has found of others fails, so that they are
// tried again.
func (k *jobContext) proveComparisons(batch []*object) {
	if k.comparing == nil {
		return
	}
	for _, o := range batch {
		if o.compared == nil || len(o.decoded.Pix) == 0 {
			continue
		}
		own := codec.Comparison{Identical: bytes.Equal(o.decoded.Pix, o.image.Pix), PSNR: raster.Identical, SSIM: 1}
		if !own.Identical {
			own.PSNR, own.SSIM, _ = raster.Quality(o.image, o.decoded)
		}
		if *o.compared != own && !k.comparing.failed.Swap(true) {
			k.comparing.p.log.Warn("the device does not compare results any more, cores do", "job", k.spec.ID, "codec", k.info.Name, "found", *o.compared, "want", own)
		}
		o.compared = &own
	}
	failed := k.comparing.failed.Load()
	for _, o := range batch {
		switch {
		case o.compared == nil || len(o.decoded.Pix) > 0:
		case failed:
			o.failure = unverified("the device has compared another result wrongly")
		default:
			k.comparing.made.Add(1)
		}
	}
}

// count is how many results the device has compared.
func (c *deviceComparing) count() int64 {
	if c == nil {
		return 0
	}
	return c.made.Load()
}
