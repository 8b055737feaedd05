package worker

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/worker/series"
)

// object is one object on its way from fetch to record. The stages fill it in this
// order:
//
//	fetch    data and held; in record the size of the source
//	header   head and by, or codec, and memory for the image; in record the shape
//	read     image: from the source (compress), or from the codec's file; in record the SHA-256 of the source
//	encode   file: by the codec (compress), or one that shows the image (decompress)
//	verify   in record the hashes and the quality
//	store    in record the target
//	record   the outcome, and the seconds of every stage
//
// Each verb says in one function which stages an object goes through, and below it what
// happens in them: compress.go, decompress.go, verify.go. Read, encode and verify
// together are an attempt, which may be made again; [pipeline.attempts] decides that.
//
// An object belongs to the goroutine that brings it through its stages.
type object struct {
	index      int          // in its chunk
	entry      jobs.Entry   // the source as it was listed; since fetch as it was read
	claim      *jobs.Claim  // what is to be verified
	found      jobs.Version // what is there instead, where it is not what was recorded
	origin     Origin       // of a file that is decompressed
	stemIsName bool         // its picture file gets the key without the codec's extension, if that ends as it should: see pictureNames
	attempts   int          // the one at work included
	alone      bool         // nothing else is at work, and no device
	came       bool         // to the batches of its codec, see lastUse
	past       bool         // the device has done its part of it, see lastUse
	deaths     int          // of processes, with the object in flight
	age        int64        // of its chunk: the lowest gets the next core
	job        string       // for the log
	delivery   *delivery    // of its chunk; nil: none, or nobody watches it
	logKey     string       // the key as the log may have it

	batches *batcher                       // of the device; nil: the CPU
	awaited bool                           // batches counts on it
	started func()                         // to be called when the object gets its first core, or never will; nil: was called
	stage   string                         // at work
	reading bool                           // in a reader of source files, which may panic on a damaged one
	spent   [len(stageNames)]time.Duration // by stage
	row     *traceRow                      // of the core or lane that o is on; nil: none, or no trace

	by       *jobContext       // of a source that is compressed: the job, with the codec that was chosen for it
	data     []byte            // of the source
	lent     *[]byte           // the memory of data, where it may be used again
	held     *share            // of the memory
	head     imageio.Header    // of the source; only its shape where that is the file of a codec
	codec    codec.Codec       // whose file the source is
	dicom    *dicomSource      // nil where the source is no DICOM file
	series   *series.Plan      // of a series that is compressed
	streams  bool              // a device may read the source
	stream   *imageio.Stream   // of the source, with the samples that a device has read; nil: there are none
	image    *raster.Image     // that the codec gets or gave
	sum      uint64            // of the samples of image as they were read, see pixelSum; 0: not taken
	sumsDue  bool              // the digests of data and image are left to the device
	file     []byte            // to be stored
	fileSum  []byte            // its SHA-256; nil: was not computed
	expect   any               // of a decoder of file, see [codec.Encoded]
	compared *codec.Comparison // of the image and what file decodes to, by the device; nil: it has not compared them
	digests  *codec.Digests    // of what file decodes to, by the device; nil: there are none
	proved   bool              // the core makes these as well
	format   string            // of file
	decoded  *raster.Image     // from file by the device, for verification
	failure  error             // of the codec, for this object of a batch

	record jobs.Result
}

// Stages whose time is measured, as in [jobs.Result].Seconds and in metrics.
const (
	stageFetch  = "fetch"
	stageHeader = "header" // whose time is not measured
	stageRead   = "read"
	stageEncode = "encode"
	stageVerify = "verify"
	stageStore  = "store"
)

var stageNames = [...]string{stageFetch, stageRead, stageEncode, stageVerify, stageStore}

// attempt is what a verb does with an object between header and store.
type attempt struct {
	// before runs on a core, and makes what the codec needs; nil: it has that.
	before func(o *object) error

	// call runs the codec for a batch: of one object on the CPU, of many on a device.
	// What it cannot do with one object becomes that object's failure; the error is one
	// of the whole batch.
	call func(ctx context.Context, run codec.Run, batch []*object) error

	// after runs on a core, and makes or checks what the verb is about.
	after func(ctx context.Context, run codec.Run, o *object) error
}

// maxAttempts is how often an object is tried: twice among others, once alone on the
// CPU.
const maxAttempts = 3

// attempts tries an object until an attempt succeeds or another one here would make no
// difference. [object.needsToBeAlone] says whether the last one is still to come.
func (p *pipeline) attempts(ctx context.Context, o *object, a attempt) error {
	for ; ; o.attempts++ {
		err := p.attempt(ctx, o, a)
		var f *fault
		if errors.As(err, &f) && f.class == class.Verify {
			p.mismatches.Add(1)
		}
		if err == nil || o.alone || !errors.As(err, &f) || !f.again || f.alone || o.attempts >= maxAttempts-1 {
			return err
		}
	}
}

// needsToBeAlone reports whether an object that failed with err is tried once more,
// after all others and alone on the CPU.
func (o *object) needsToBeAlone(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.again && !o.alone
}

// again returns the object at the start of its last attempt.
func (o *object) again() *object {
	return &object{index: o.index, entry: o.entry, claim: o.claim, origin: o.origin, deaths: o.deaths, age: o.age, job: o.job, delivery: o.delivery, logKey: o.logKey,
		attempts: o.attempts + 1, alone: true}
}

// attempt makes one attempt: on the CPU with one core from the beginning to the end, or
// in a batch on the device with a core before it and one after it. What comes before the codec
// does not wait for its self-test, and what a device does only for that it is open: nothing of it
// is used before the test has ended.
func (p *pipeline) attempt(ctx context.Context, o *object, a attempt) error {
	cpu := codec.Run{Pool: p.cores}
	if o.batches != nil && !o.alone {
		if !p.lastUse.there(o.past, o.came) {
			o.batches, o.streams = nil, false
		}
		o.past, o.came = false, false
	}
	before := func(try *object) error {
		if a.before == nil {
			return nil
		}
		try.reading = true
		err := a.before(try)
		try.reading = false
		return err
	}
	if o.batches == nil || o.alone {
		o.record.Device = cpu.Device.Name()
		if err := o.tested(ctx); err != nil {
			return err
		}
		return p.onCore(ctx, o, func(ctx context.Context, try *object) error {
			if err := before(try); err != nil {
				return err
			}
			if err := a.call(ctx, cpu, []*object{try}); err != nil {
				return err
			}
			if try.failure != nil {
				return try.failure
			}
			return a.after(ctx, cpu, try)
		})
	}
	o.record.Device = p.device.Name()
	defer o.unawait()
	if a.before != nil {
		o.await()
		o.stream = nil // of an earlier attempt, which may have lost the memory
		if err := p.awaitReading(ctx, o); err != nil {
			return err
		}
		if err := p.withCore(ctx, o, func(_ context.Context, try *object) error { return before(try) }); err != nil {
			return err
		}
	}
	if err := p.deviceOpened(ctx, o); err != nil {
		return cmp.Or(o.tested(ctx), err) // which ends the worker
	}
	if err := o.batches.do(ctx, o, o.unawait); err != nil {
		return err
	}
	if err := o.tested(ctx); err != nil {
		return err
	}
	p.isPast(o)
	return p.onCore(ctx, o, func(ctx context.Context, try *object) error { return a.after(ctx, cpu, try) })
}

// comes says that o is in the queue of a batch, or will not come there, unless it is tried again.
func (p *pipeline) comes(o *object) {
	if !o.came && !o.alone {
		o.came = true
		p.lastUse.comes(1)
	}
}

// isPast says that o does not need the device any more, unless it is tried again.
func (p *pipeline) isPast(o *object) {
	p.comes(o)
	if !o.past && !o.alone {
		o.past = true
		p.lastUse.past(1)
	}
}

// deviceOpened waits until the device is open, whose driver may take as long as reading the first objects does.
func (p *pipeline) deviceOpened(ctx context.Context, o *object) error {
	defer o.delivery.waits()()
	err := p.opened(ctx)
	if err == nil {
		p.open.Store(true)
		pool.MakeRoom(laneProcs * len(p.device.Cards()))
	}
	return err
}

// tested waits until what the codec makes may be used.
func (o *object) tested(ctx context.Context) error {
	if o.by == nil || o.by.tested == nil {
		return nil
	}
	defer o.delivery.waits()()
	return o.by.tested(ctx)
}

// begins says that o has got its first core, or never will.
func (o *object) begins() {
	if o.started != nil {
		o.started()
	}
	o.started = nil
}

// givenUp returns what becomes of o after err. The memory of a call that goes on is
// kept until it ends.
func (o *object) givenUp(err error) error {
	var u *unresponsiveError
	if !errors.As(err, &u) {
		return err
	}
	late := o.held
	o.held = new(share)
	u.call.then(late.release)
	return u.fault
}

// release gives the memory of o back.
func (o *object) release() {
	o.held.release()
	o.data, o.lent, o.dicom, o.series, o.stream, o.image, o.file, o.fileSum, o.digests, o.compared, o.decoded, o.failure = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// in runs the work of a stage and measures it.
func (o *object) in(stage string, work func() error) error {
	o.stage = stage
	o.delivery.enters(o, stage)
	start := time.Now()
	err := work()
	o.delivery.moves()
	o.spend(stage, time.Since(start))
	o.traced(stage, start, 1)
	return err
}

// traced writes what the row of o did since start with so many objects.
func (o *object) traced(stage string, start time.Time, objects int) {
	if o.row == nil {
		return
	}
	args := map[string]any{"objects": objects}
	if objects == 1 && o.logKey != "" {
		args = map[string]any{"object": o.logKey}
	}
	o.row.span(stage, start, args)
}

func (o *object) spend(stage string, d time.Duration) {
	for i, name := range stageNames {
		if name == stage {
			o.spent[i] += d
		}
	}
}

// seconds is what the stages took, to the microsecond, without those that o did not
// come to.
func (o *object) seconds() map[string]float64 {
	seconds := make(map[string]float64, len(stageNames))
	for i, name := range stageNames {
		if d := o.spent[i]; d > 0 {
			seconds[name] = math.Round(d.Seconds()*1e6) / 1e6
		}
	}
	return seconds
}

// panicked turns a panic in a stage into a fault.
func (o *object) panicked(v any) *fault {
	if o.reading {
		return faultf(jobs.OutcomeRejected, class.Malformed, "reading it panicked: %v", v)
	}
	f := faultf(jobs.OutcomeFailed, class.Codec, "%s panicked in %s: %v", o.record.Codec, o.stage, v)
	f.again = true
	return f
}
