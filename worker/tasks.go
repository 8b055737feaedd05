package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/sitekey"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// tasks is what a worker keeps between chunks.
type tasks struct {
	jobs   *cache[*jobContext] // by job
	plans  plans
	denied *denials
	assets assets
}

func newTasks() tasks {
	return tasks{jobs: newCache[*jobContext](keptJobs), plans: newPlans(), denied: newDenials(), assets: newAssets()}
}

// jobContext is a job as its chunks need it: its specification with buckets, codec and
// options resolved. It does not change.
type jobContext struct {
	spec           jobs.Spec
	source, target *storage.Bucket
	sourceStore    jobs.SourceStore  // of source
	codec          codec.Codec       // nil where one is chosen for each source
	exact          codec.SourceCodec // the codec, where it keeps sources and not images; else nil
	info           codec.Info
	options        codec.Options
	resolved       codecs.Resolved
	extensions     jobs.Extensions        // that results can have
	choices        map[string]*jobContext // by [codecs.Resolved.ID], where a codec is chosen for each source; else nil
	assets         codec.Assets
	batches        *batcher                    // of the device; nil on the CPU
	tested         func(context.Context) error // waits until the codec has passed its self-test; nil: it has
	reading        *deviceReader
	summing        *deviceSums
	comparing      *deviceComparing
	sources        *SourceGuard
	names          *sitekey.Writer // of the target
}

// keptJobs bounds what is kept of jobs; a worker has chunks of few jobs at a time.
const keptJobs = 64

// strayAttempts is how often a task is tried whose job does not exist. The queue
// may deliver a finished task once more when the job is gone; and where the job
// is only not yet registered again, the scheduler feeds the chunk once more.
const strayAttempts = 4

// errNoJob means that a job is not registered or has no specification.
var errNoJob = errors.New("there is no such job")

// handle is the queue's handler.
func (w *Worker) handle(ctx context.Context, t jobs.Task, attempt int) error {
	log := w.log.With("job", t.Job, "chunk", t.Index)
	watched, d, leave := w.watchdog.watch(ctx, t)
	defer leave()
	k, err := w.job(watched, t.Job)
	if err == nil {
		err = w.run(watched, k, t, attempt, d)
	}
	if err != nil {
		w.lastUse.fails()
	}
	if cause := context.Cause(watched); err != nil && ctx.Err() == nil && errors.Is(cause, errNoProgress) {
		// It counts as a failure, so that a job that can never go on is stopped in the end, with this reason.
		log.Warn("chunk failed and will be tried again", "attempt", attempt, "error", cause)
		return fmt.Errorf("worker: chunk %s: %w", t.ID(), cause)
	}
	var denied *deniedError
	switch {
	case err == nil:
		w.putOffs.done(t)
		w.trouble.Store(nil)
		return nil
	case errors.Is(err, queue.ErrHandBack) || errors.Is(err, errUnfit) || ctx.Err() != nil:
		log.Info("chunk handed back")
		return queue.ErrHandBack
	case errors.Is(err, queue.ErrLater):
		log.Debug("chunk put off, its job is blocked")
		return queue.ErrLater
	case errors.Is(err, queue.ErrUnreachable):
		w.unanswered(ctx, t, err)
		return queue.ErrLater
	case errors.As(err, &denied):
		return w.deny(ctx, t, attempt, denied)
	case errors.Is(err, errNoChunk), errors.Is(err, errNoJob) && attempt >= strayAttempts:
		log.Warn("chunk of an unknown job dropped", "error", err)
		return nil
	case storage.Unreachable(err):
		text := err.Error()
		w.trouble.Store(&text)
	}
	log.Warn("chunk failed and will be tried again", "attempt", attempt, "error", err)
	return err
}

// job finds what is needed for chunks of a job. All chunks of a job share one, and
// so its batches.
func (w *Worker) job(ctx context.Context, id string) (*jobContext, error) {
	return w.tasks.jobs.get(ctx, id, func(ctx context.Context) (*jobContext, error) { return w.readJob(ctx, id) })
}

func (w *Worker) readJob(ctx context.Context, id string) (*jobContext, error) {
	url, err := w.conn.Job(id).Target(ctx)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if url == "" {
		return nil, fmt.Errorf("worker: job %s: %w: no target is registered", id, errNoJob)
	}
	if err := w.tasks.denied.last(id, url); err != nil {
		return nil, err
	}
	spec, source, target, err := w.admit(ctx, id, url)
	if err != nil {
		return nil, fmt.Errorf("worker: job %s: %w", id, err)
	}
	return w.prepare(ctx, spec, source, target)
}

// readRegistered reads the jobs that are registered, so that their codecs are tested and the device has their kernels while
// the scheduler lists and plans, and while the first objects are read. What goes wrong is said where an object needs the codec.
func (w *Worker) readRegistered(ctx context.Context) {
	registered, err := w.conn.Jobs(ctx)
	for id := range registered {
		if err != nil || ctx.Err() != nil {
			break
		}
		var k *jobContext
		if k, err = w.job(ctx, id); err == nil {
			err = w.testFor(ctx, k.codecs()...)
		}
	}
	if err != nil {
		w.log.Debug("a job cannot be read before its first chunk", "error", err)
	}
}

// prepare resolves a specification.
func (w *Worker) prepare(ctx context.Context, spec jobs.Spec, source, target *storage.Bucket) (*jobContext, error) {
	spec.Defaults()
	k := &jobContext{spec: spec, source: source, target: target, sourceStore: jobs.StoreOf(spec.Source), names: sitekey.NewWriter(target)}
	resolved, err := codecs.Resolve(w.codecs, spec.Codec, spec.Version, spec.Options)
	if err != nil {
		return nil, fmt.Errorf("worker: job %s: %w", spec.ID, err)
	}
	onDevice := false
	switch {
	case spec.Device == "cpu":
	case strings.HasPrefix(spec.Device, "cuda") && w.device == nil:
		return nil, fmt.Errorf("worker: job %s: wants device %s: %w", spec.ID, spec.Device, gpu.ErrNoDevice)
	default:
		onDevice = w.device != nil
	}
	k.sources = w.guardSources(spec.ID, source, target)
	k.assets = w.tasks.assets.from(target)
	if resolved, err = resolved.Load(ctx, k.assets); err != nil {
		return nil, fmt.Errorf("worker: job %s: %w", spec.ID, err)
	}
	k.extensions = resolved.Extensions()
	k.use(w, resolved, onDevice)
	if resolved.Codec == nil {
		k.choices = map[string]*jobContext{}
		for _, r := range resolved.Choices() {
			one := *k
			one.choices = nil
			one.use(w, r, onDevice)
			k.choices[r.ID()] = &one
		}
	}
	return k, nil
}

// use puts in a codec with options, or what one is chosen from.
func (k *jobContext) use(w *Worker, r codecs.Resolved, onDevice bool) {
	k.resolved, k.codec, k.options, k.info, k.batches, k.tested, k.reading, k.summing, k.comparing = r, r.Codec, r.Options, r.Info(), nil, nil, w.reading, w.summing, w.comparing
	k.exact, _ = k.codec.(codec.SourceCodec)
	if onDevice && k.codec != nil && k.exact == nil {
		k.batches = newBatcher(w.pipeline, k.info.Name, k.spec.ID, k.encode)
		k.batches.lent = func(*object) bool { return k.spec.Verify == verifyDevice && !k.compares() }
		k.batches.past = func(o *object) {
			if w.testing.Load() == 0 { // else the device stays until the test has ended, see discardDevice
				w.isPast(o)
			}
		}
	}
	if w.opts.TestOnUse && k.codec != nil {
		k.tested = func(ctx context.Context) error { return w.testFor(ctx, r.Codec) }
	}
}

// choose gives the job with the codec for a source.
func (k *jobContext) choose(h *imageio.Header) *jobContext {
	if k.choices == nil {
		return k
	}
	return k.choices[k.resolved.Choose(h.Format, h.Shape).ID()]
}

// join lets a chunk use the batchers of all codecs of the job until it calls what is returned.
func (k *jobContext) join() (leave func()) {
	var all []func()
	for _, one := range append(slices.Collect(maps.Values(k.choices)), k) {
		if one.batches != nil {
			all = append(all, one.batches.join())
			if len(all) == 1 {
				all = append(all, one.reading.batches.join())
			}
		}
	}
	return func() {
		for _, leave := range all {
			leave()
		}
	}
}

// assets keeps shared objects, such as codebooks, by their hash.
type assets struct{ read *cache[[]byte] }

const (
	keptAssets     = 64
	keptAssetBytes = 128 << 20
)

func newAssets() assets {
	return assets{newCache[[]byte](keptAssets).weighing(keptAssetBytes, func(data []byte) int { return len(data) })}
}

// from looks in memory, then in the buckets, in order.
func (a assets) from(buckets ...*storage.Bucket) codec.Assets {
	return func(ctx context.Context, hash string) ([]byte, error) {
		return a.read.get(ctx, hash, func(ctx context.Context) ([]byte, error) {
			return codecs.CheckedAssets(func(ctx context.Context, hash string) ([]byte, error) {
				return readAsset(ctx, hash, buckets)
			})(ctx, hash)
		})
	}
}

// readAsset reads an asset from the first bucket that has it.
func readAsset(ctx context.Context, hash string, buckets []*storage.Bucket) (data []byte, err error) {
	err = fmt.Errorf("asset sha256:%s: no bucket to look in", hash)
	for _, b := range buckets {
		var got storage.GetResult
		if got, err = storage.Get(ctx, b, jobs.AssetKey(hash), codecs.MaxAsset, nil); err == nil {
			data = got.Data
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
