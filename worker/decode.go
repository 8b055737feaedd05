package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// decoding is what [Decompress] and [VerifyTarget] have in common: objects that are
// files of codecs.
type decoding struct {
	*pipeline
	codecs  []codec.Codec
	assets  codec.Assets
	batches map[string]*batcher // by name of the codec; nil on the CPU
	view    codec.View          // what is decoded of each image

	mu sync.Mutex // held while an object is counted and reported
}

// newDecoding prepares the decoding of files with assets from these buckets. Values
// that are 0 or nil have defaults.
func newDecoding(device *gpu.Device, cpu int, memory int64, timeout time.Duration, all []codec.Codec, assets codec.Assets) (*decoding, error) {
	fill(&cpu, pool.Cores())
	fill(&memory, DefaultMemory())
	fill(&timeout, objectTimeout)
	if all == nil {
		all = codecs.All()
	}
	if err := checkBounds(cpu, memory, timeout); err != nil {
		return nil, err
	}
	d := &decoding{codecs: all, assets: assets}
	d.pipeline = newPipeline(pipelineOptions{device: device, cpu: cpu, fetchers: fetchersFor(len(device.Cards())), memory: memory, timeout: timeout, log: slog.New(slog.DiscardHandler)})
	if device == nil {
		return d, nil
	}
	d.batches = map[string]*batcher{}
	awaited := new(atomic.Int64)
	for _, c := range all {
		b := newBatcher(d.pipeline, c.Info().Name, "", d.decode)
		b.awaited = awaited
		b.lent = func(*object) bool { return true }
		d.batches[c.Info().Name] = b
	}
	return d, nil
}

// each is [pipeline.each] with batches.
func (d *decoding) each(ctx context.Context, list func(func(*object) error) error, do func(context.Context, *object) (alone bool, err error)) error {
	for _, b := range d.batches {
		defer b.join()()
	}
	defer d.lender.close()
	return d.pipeline.each(ctx, list, do)
}

// header reads the header of o's file and takes the memory for its image: what
// memoryOf says of the header. A header that does not parse is a fault.
func (d *decoding) header(ctx context.Context, o *object, memoryOf func(codec.Header) int64) error {
	o.record.Codec, o.record.Version = o.codec.Info().Name, o.codec.Info().Version
	head, err := headerOf(o.codec, o.data, d.view)
	if err != nil {
		if _, whole := headerOf(o.codec, o.data, codec.View{}); whole == nil && ctx.Err() == nil {
			return &fault{outcome: jobs.OutcomeFailed, class: class.View, err: err} // what was asked for is not there
		}
		return decodeFault(ctx, err)
	}
	o.head.Shape, o.record.Shape = head.Shape, head.Shape
	if !o.alone {
		o.batches = d.batches[o.record.Codec]
	}
	n := memoryOf(head)
	return o.held.image(ctx, n, n)
}

// headerOf is [codec.HeaderView], whose panic is an error.
func headerOf(c codec.Codec, file []byte, view codec.View) (h codec.Header, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = codec.Malformedf("%s: reading the header panicked: %v", c.Info().Name, v)
		}
	}()
	return codec.HeaderView(c, file, view)
}

// decode decodes the files of a batch, all of one codec.
func (d *decoding) decode(ctx context.Context, run codec.Run, batch []*object) error {
	files := make([][]byte, len(batch))
	for i, o := range batch {
		o.stage = stageRead
		files[i] = o.data
	}
	start := time.Now()
	c := batch[0].codec
	decoded := codec.DecodeView(ctx, c, run, files, d.assets, d.view)
	if len(decoded) != len(batch) {
		return codecFault(errors.New(c.Info().Name + ": the codec does not give one picture for each file"))
	}
	each := time.Since(start) / time.Duration(len(batch))
	batch[0].traced(stageRead, start, len(batch))
	for i, o := range batch {
		o.spend(stageRead, each)
		o.image, o.failure = decoded[i].Image, nil
		switch err := decoded[i].Err; {
		case err != nil:
			o.failure = deviceFault(run, decodeFault(ctx, err))
		case o.image == nil:
			o.failure = deviceFault(run, codecFault(errors.New(c.Info().Name+": neither a picture nor an error")))
		}
	}
	return nil
}

// decodeFault classifies an error of a codec's Header or Decode.
func decodeFault(ctx context.Context, err error) error {
	var malformed *codec.FormatError
	var unsupported *codec.UnsupportedError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &malformed):
		return &fault{outcome: jobs.OutcomeRejected, class: class.Malformed, err: err}
	case errors.As(err, &unsupported):
		return &fault{outcome: jobs.OutcomeUnsupported, class: class.Image, err: err}
	}
	return codecFault(err)
}

// deviceFault lets the CPU have the last word on what a device says against a file.
func deviceFault(run codec.Run, err error) error {
	var f *fault
	if run.Device == nil || !errors.As(err, &f) {
		return err
	}
	last := *f
	last.again, last.alone = true, true
	return &last
}
