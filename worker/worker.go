package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	pngdevice "github.com/pelmill/pelmill/internal/container/png/device"
	"github.com/pelmill/pelmill/internal/sha256batch"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/queue"
	"github.com/pelmill/pelmill/storage"
)

// ErrStuck is what [Worker.Run] returns when codecs that ignore the end of their
// context hold every encoder, or the memory that all others wait for. The process should
// end and be started again.
var ErrStuck = errors.New("codecs that do not end hold every encoder, or the memory that all other objects wait for")

// Options of [New].
type Options struct {
	Device        string            // auto, cpu, cuda or cuda:N; empty: auto
	CPU           int               // images on the CPU at once; 0: [pool.Cores]
	Fetchers      int               // objects fetched at once, and as many stored; 0: 16 for each card, and without one
	Memory        int64             // bytes that the process may take, at least MinMemory; 0: DefaultMemory
	Chunks        int               // chunks at once; 0: 2, with a card as many as fill its batches
	Grace         time.Duration     // for chunks to finish when Run ends; 0: DefaultGrace
	ObjectTimeout time.Duration     // for reading, encoding and verifying one image; 0: 10 min
	Log           *slog.Logger      // nil: none
	OnResult      func(jobs.Result) // called once for every record made here, one at a time, also where a chunk is delivered again; nil: none
	Trace         *Trace            // gets a timeline of the work; nil: none
	MetricsListen string            // host:port of health, metrics and pprof; empty: none; without a host: loopback
	TestOnUse     bool              // the device is opened and codecs are tested while the first objects that need them are read, not before any
	Presume       bool              // with TestOnUse and auto New does not wait for the driver to list its cards where the system shows some: see [gpu.Shown]
	Codec         string            // with TestOnUse: of the first objects, whose kernels are loaded while the device is opened; empty: it is not known
	OneJob        bool              // with TestOnUse: there is one job, with which Run ends
	Only          bool              // the process opens this device and no other: see [gpu.Options]
	HashKeys      bool              // log the first digits of a key's SHA-256 instead of the key

	// LogKey is how a key appears in the log; what is no longer the key is logged without the text of its error. nil:
	// HashKeys says, and keys of DICOM files are a keyed hash that is the same as long as the process lives.
	LogKey func(key string) string
	Codecs []codec.Codec // nil: [codecs.All]
}

// Worker runs chunks. All methods are safe for concurrent use.
type Worker struct {
	*pipeline
	conn    *queue.Conn
	buckets *storage.Buckets
	opts    Options
	name    string // host:pid, in shards
	codecs  []codec.Codec
	why     error      // for which auto became the CPU
	inWork  *pool.Pool // with a device: places for objects of all chunks at work, the oldest first
	ahead   int        // how many of these places there are only until the device is open

	age      atomic.Int64 // of chunks: lower is older
	probing  sync.Mutex   // held while a write to a target is probed
	tested   atomic.Bool
	suspects chan struct{} // holds a value while an object is in work that was when a process died
	works    *cache[bool]  // codecs that have passed their self-test, by name
	testing  atomic.Int64  // self-tests at work
	unfit    chan error    // has the error of a self-test of a chunk's codec
	draining atomic.Bool
	trouble  atomic.Pointer[string] // storage that could not be reached, until a chunk succeeds
	reported sync.Mutex             // held while OnResult runs
	metrics  *metrics
	failures failureLog
	address  string // of the listener
	tasks    tasks
	others   *otherSpecs // nil without a queue that others use
	runs     *runs
	atWork   atWork
	recent   recent
	states   jobStates // of the other jobs of targets
	owners   *owners
	watchdog *watchdog
	putOffs  putOffs
}

// fewestObjects is what chunks of a small job have where they are photographs of a megabyte: with a device so many chunks
// are at work that even their objects fill its batches and those that cores read and verify meanwhile.
const fewestObjects = 4

// aheadPerCore is how many objects more are at work for each core until the device is open: a core reads about as many
// photographs while a driver opens a card, and has nothing else to do.
const aheadPerCore = 64

// connections are those of a process that goes on with other jobs, the most that there are: see [gpu.Options].
const connections = 32

// staging is how much pinned memory a lane has from the start, two buffers for the samples of a batch of photographs and two for its
// results, as far as that is no more than this part of the memory of the process.
const (
	staging     = 32 << 20
	stagingPart = 512
)

// ahead is how much memory of a card a lane has from the start: a batch of photographs takes as much.
const ahead = 512 << 20

// heapPerCore is how many bytes of the heap of a process with a device get large pages for each core, as far as these are no more than
// three quarters of its memory: the more cores, the more objects are at work.
const heapPerCore = 384 << 20

// heapLaid is done when it has.
var heapLaid sync.Once

// New opens the device and prepares a worker; it starts nothing else. conn may be nil
// for a worker of which only [Worker.Chunk] is called: it then has no protection
// against crashes and commits nothing. A device that is insisted on and missing
// gives [gpu.ErrNoDevice]. With TestOnUse New returns once the cards are known, and a
// card that does not open ends Run with that error, also with auto. So do cards that were
// presumed and are not there: the caller goes on with a worker on the CPU.
func New(conn *queue.Conn, buckets *storage.Buckets, opts *Options) (*Worker, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.defaults(); err != nil {
		return nil, err
	}
	open := func(spec string) (*gpu.Device, error) {
		return gpu.OpenWith(spec, &gpu.Options{Connections: connections, Only: o.Only})
	}
	if o.TestOnUse {
		start := gpu.Options{Only: o.Only, Staging: int(min(staging, o.Memory/stagingPart)), Ahead: ahead, Modules: modules(&o)}
		if !o.OneJob {
			start.Connections = connections
		}
		if o.Presume && isAuto(o.Device) {
			start.Presume = gpu.Shown()
		}
		open = func(spec string) (*gpu.Device, error) { return gpu.StartWith(spec, &start) }
	}
	defer pool.Beside(growDescriptors)()
	lay := func() {
		heapLaid.Do(func() {
			if err := layHeap(min(o.Memory/4*3, heapPerCore*int64(o.CPU))); err != nil {
				o.Log.Debug("the heap has pages of the usual size", "error", err)
			}
		})
	}
	laid := func() {}
	if !isAuto(o.Device) && o.Device != "cpu" {
		laid = pool.Beside(lay) // while the driver looks for the card: it lets nobody map memory when it makes a context
	}
	device, why, err := openDevice(o.Device, open)
	laid()
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	if device != nil {
		lay()
	}
	w := newWorker(conn, buckets, o, device)
	w.why = why
	return w, nil
}

// modules are the kernels that objects of the codec in o need, and those that digests and PNG files do.
func modules(o *Options) []*gpu.Module {
	i := slices.IndexFunc(o.Codecs, func(c codec.Codec) bool { return c.Info().Name == o.Codec })
	if i < 0 {
		return nil
	}
	c, ok := o.Codecs[i].(codec.DeviceCodec)
	if !ok {
		return nil
	}
	return append(c.Modules(), sha256batch.Module(), pngdevice.Module())
}

// newWorker makes a worker of complete options with a device, nil for the CPU.
func newWorker(conn *queue.Conn, buckets *storage.Buckets, o Options, device *gpu.Device) *Worker {
	fill(&o.Fetchers, fetchersFor(len(device.Cards())))
	w := &Worker{conn: conn, buckets: buckets, opts: o, codecs: o.Codecs}
	w.pipeline = newPipeline(pipelineOptions{device: device, encodes: true, opening: o.TestOnUse, cpu: o.CPU, fetchers: o.Fetchers, memory: o.Memory, timeout: o.ObjectTimeout, log: o.Log, trace: o.Trace})
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	w.name = host + ":" + strconv.Itoa(os.Getpid())
	chunks := 2
	if device != nil {
		chunks = max(2, w.window/fewestObjects)
	}
	fill(&w.opts.Chunks, chunks)
	if device != nil && o.TestOnUse {
		w.ahead = aheadPerCore * o.CPU
	}
	w.inWork = pool.Shared(w.window + w.ahead)
	if len(device.Cards()) > 0 {
		w.summing = newDeviceSums(w.pipeline, func() int {
			busy, _ := w.inWork.Load()
			return busy
		})
	}
	if device != nil {
		w.comparing = &deviceComparing{p: w.pipeline}
	}
	if device != nil && o.OneJob {
		w.lastUse = &lastUse{giveBack: w.discardDevice}
	}
	w.metrics, w.failures = newMetrics(w), newFailureLog()
	w.tasks, w.states = newTasks(), newJobStates()
	if conn != nil && !conn.Embedded() {
		w.others = &otherSpecs{conn: conn, buckets: buckets}
	}
	w.suspects = make(chan struct{}, 1)
	w.works, w.unfit = newCache[bool](keptCodecs), make(chan error, 1)
	w.runs = newRuns()
	w.watchdog = newWatchdog(w.patience)
	w.owners = newOwners(w.codecs, w.states, w.tasks.plans)
	return w
}

func (o *Options) defaults() error {
	if o.Fetchers < 0 || o.Chunks < 0 {
		return fmt.Errorf("worker: %d fetchers, %d chunks: want none below 0", o.Fetchers, o.Chunks)
	}
	fill(&o.CPU, pool.Cores())
	fill(&o.Memory, DefaultMemory())
	fill(&o.Grace, DefaultGrace)
	fill(&o.ObjectTimeout, objectTimeout)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Codecs == nil {
		o.Codecs = codecs.All()
	}
	if err := checkBounds(o.CPU, o.Memory, o.ObjectTimeout); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	return nil
}

// checkBounds checks what bounds the work of a process.
func checkBounds(cpu int, memory int64, timeout time.Duration) error {
	if cpu < 1 || memory < MinMemory || timeout < 0 {
		return fmt.Errorf("%d pictures at once, memory of %d bytes and a time of %s: want at least 1, %d and 0", cpu, memory, timeout, MinMemory)
	}
	return nil
}

// DefaultGrace is within the 30 seconds after which Kubernetes kills.
const DefaultGrace = 25 * time.Second

func fill[T int | int64 | time.Duration](to *T, value T) {
	if *to == 0 {
		*to = value
	}
}

// Run tests the codecs, then serves chunks until ctx ends, and returns after the
// chunks it had finished or were handed back within Grace. It returns an error
// where it cannot start, the device does not open or a codec fails its test, [ErrStuck], or one that wraps [gpu.ErrFatal]
// when its card is lost: the process must then be replaced.
func (w *Worker) Run(ctx context.Context) error {
	if w.conn == nil {
		return errors.New("worker: run: there is no queue")
	}
	if !w.opts.TestOnUse {
		if err := w.test(ctx, w.codecs...); err != nil {
			return fmt.Errorf("worker: %w", err)
		}
	}
	w.tested.Store(true)
	stop, err := w.listen()
	if err != nil {
		return err
	}
	defer stop()
	device := cmp.Or(w.device.Name(), "cuda") // a card that has no name until it is open
	server, err := w.conn.Serve(&queue.ServerOptions{
		Concurrency: w.opts.Chunks, ShutdownTimeout: w.opts.Grace, Log: w.log, Device: device,
		Passing: passes, Stats: w.announced,
	}, w.handle)
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if w.why != nil {
		w.log.Info("no card is used", "reason", w.why)
	}
	w.log.Info("worker serves", "device", device, "encoders", w.opts.CPU, "chunks", w.opts.Chunks, "memory", w.opts.Memory)
	reporting, over := context.WithCancel(context.WithoutCancel(ctx)) // also while chunks end
	var beside sync.WaitGroup
	beside.Go(func() { w.reportProgress(reporting) })
	serving, stuck := context.WithCancelCause(ctx)
	defer stuck(nil)
	beside.Go(func() {
		if err := w.watchChunks(reporting); err != nil {
			stuck(err)
		}
	})
	if w.opts.TestOnUse {
		beside.Go(func() { w.readRegistered(serving) })
		beside.Go(func() { w.endReadingAhead(serving) })
		beside.Go(func() {
			select {
			case err := <-w.unfit:
				stuck(err)
			case <-reporting.Done():
			}
		})
	}
	if err = w.watch(serving); err == nil && ctx.Err() == nil {
		err = context.Cause(serving)
	}
	if err != nil {
		err = fmt.Errorf("worker: %w", err)
	}
	w.draining.Store(true)
	server.Shutdown()
	over()
	stuck(nil)
	beside.Wait()
	w.lastUse.wait()
	w.lender.close()
	w.sources.close()
	w.log.Info("worker ends", w.deviceWork()...)
	return err
}

// endReadingAhead takes the places for objects that are read while the device opens, as soon as it has.
func (w *Worker) endReadingAhead(ctx context.Context) {
	if w.opened(ctx) != nil {
		return
	}
	if w.device != nil {
		w.log.Info("device is open", "device", w.device.Name())
	}
	for range w.ahead {
		if w.inWork.Acquire(ctx, math.MinInt64) != nil {
			return
		}
	}
}

// report gives a record to the metrics, the log and the caller.
func (w *Worker) report(job string, r *jobs.Result) {
	w.metrics.result(r)
	w.recent.add(time.Now())
	w.logResult(job, r)
	if w.opts.OnResult != nil {
		w.reported.Lock()
		defer w.reported.Unlock()
		w.opts.OnResult(*r)
	}
}
