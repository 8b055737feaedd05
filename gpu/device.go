//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/gpu/driver"
)

// Built reports whether this build can use CUDA at all.
const Built = true

// Device is one card or several of one machine. A nil *Device stands for the CPU.
type Device struct {
	opts      Options
	jobs      chan *job
	lightJobs chan *job // see [Work.Light]

	listed chan struct{} // closed when found is final, if there are cards
	found  []*card       // that the driver shows and that are to be used

	lanes chan struct{} // closed when first is set
	first *card         // whose lanes were there first
	makes sync.Once     // that sets it

	opened  chan struct{} // closed when cards and refused are final; nil: it was never opened
	cards   []*card       // that have lanes
	refused error         // why there is none

	closing   chan struct{} // closed by Close and Discard
	closed    sync.Once
	discarded atomic.Bool   // by Discard
	released  sync.Once     // the contexts were
	dead      chan struct{} // closed once failure is set
	failure   atomic.Pointer[error]

	mu    sync.Mutex // never held in the driver
	host  *pool[unsafe.Pointer]
	pages pages   // that host's memory is made of
	hosts []*Host // those that last until Free and pinned regions, by their addresses

	pinnings []*pinning // that have not ended, in the order of the calls
	pins     bool       // one of them does it now, for all
	pinned   *sync.Cond // one of them ended

	calls   atomic.Int64 // see [Device.Share]
	stats   stats
	listing place // of whoever looks for the cards
}

// card is a card with its primary context and what is loaded into it.
type card struct {
	Info
	version int // of CUDA, as the driver reports it
	dev     cuDevice
	ctx     cuContext

	lanes   []*Lane
	running sync.WaitGroup // the lanes' goroutines
	mu      sync.Mutex
	modules map[*Module]*loaded // once the lanes have ended: those on the card
	links   [2]link             // to the card and from it
	opening place               // of whoever starts the card
	ready   atomic.Bool         // lanes are all there

	preparing, pinning place // of those who do that beside the lanes
}

// Name is the device's name in records: "cpu" for nil.
func (d *Device) Name() string {
	if d == nil {
		return "cpu"
	}
	switch cards := d.Cards(); {
	case len(cards) == 0 || cards[0].Name == "":
		return ""
	case len(cards) == 1:
		return cards[0].Name
	default:
		return strconv.Itoa(len(cards)) + " x " + cards[0].Name
	}
}

// driverError makes an [Error] of a driver's code.
func driverError(card int, call, kernel string, err error) error {
	var c driver.Code
	if err == nil || !errors.As(err, &c) {
		return err
	}
	return &Error{Card: card, Call: call, Kernel: kernel, Code: int(c), Name: c.Error()}
}

// List returns the cards of this machine, or why there is none: then the error wraps
// [ErrNoDevice]. CUDA_VISIBLE_DEVICES hides and orders cards.
func List() ([]Info, error) {
	d := newDevice(nil)
	var infos []Info
	err := d.asking([]*place{&d.listing}, func() error {
		cards, err := d.list()
		for _, c := range cards {
			infos = append(infos, c.Info)
		}
		return err
	})
	var hang *HangError
	switch {
	case errors.As(err, &hang):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("gpu: %w", err)
	}
	return infos, nil
}

// newDevice is a device without cards, with options or nil.
func newDevice(o *Options) *Device {
	d := &Device{jobs: make(chan *job), lightJobs: make(chan *job), closing: make(chan struct{}), dead: make(chan struct{})}
	if o != nil {
		d.opts = *o
	}
	if d.opts.Pinned <= 0 {
		d.opts.Pinned = defaultPinned
	}
	if d.opts.Hang <= 0 {
		d.opts.Hang = defaultHang
	}
	d.host = newPool("pinned memory", d.opts.Pinned,
		func(n int) (p unsafe.Pointer, err error) {
			err = d.unlocked(func() error { p, err = d.pages.alloc(d, n); return err })
			return p, err
		},
		func(p unsafe.Pointer) error { return d.unlocked(func() error { return d.pages.free(d, p) }) })
	d.pages.mapped = make(map[unsafe.Pointer][]byte)
	d.host.cutting(hostSlabs, func(base unsafe.Pointer, bytes int) unsafe.Pointer { return unsafe.Add(base, bytes) })
	d.pinned = sync.NewCond(&d.mu)
	came := sync.NewCond(&d.mu)
	d.host.resting, d.host.wait, d.host.came = true, came.Wait, came.Broadcast
	return d
}

// unlocked runs f without d.mu, which the caller holds: the driver takes long to pin
// memory, and lanes ask meanwhile for what is pinned.
func (d *Device) unlocked(f func() error) error {
	d.mu.Unlock()
	defer d.mu.Lock()
	return f()
}

// Cards describes the cards of the device; nil for the CPU. Those that do not open are among them
// until [Device.Opened] returns. Those that are presumed have no name yet.
func (d *Device) Cards() []Info {
	if d == nil {
		return nil
	}
	var cards []*card
	select {
	case <-d.opened:
		cards = d.cards
	default:
		select {
		case <-d.listed:
			cards = d.found
		default:
			return make([]Info, d.opts.Presume)
		}
	}
	var infos []Info
	for _, c := range cards {
		infos = append(infos, c.Info)
	}
	return infos
}

// Err is the fatal error that ended the device's use, nil while there is none.
func (d *Device) Err() error {
	if d == nil {
		return nil
	}
	if err := d.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// poison notes the first fatal error.
func (d *Device) poison(err error) {
	if d.failure.CompareAndSwap(nil, &err) {
		close(d.dead)
	}
}

// judge makes an [Error] of a driver's code and notes a fatal one.
func (d *Device) judge(card int, call, kernel string, err error) error {
	err = driverError(card, call, kernel, err)
	if errors.Is(err, ErrFatal) {
		d.poison(err)
	}
	return err
}

// Close waits until the device is open and for running batches, and frees everything. After a fatal error it does
// nothing but return that error: the driver is not to be called any more. No Do may
// begin after Close. After [Device.Discard] what is left is pinned memory.
func (d *Device) Close() error {
	if err := d.close(d.release); err != nil || d == nil || !d.discarded.Load() {
		return err
	}
	return d.pages.unmap(func(part []byte) bool { return d.used(part) })
}

// Discard is Close for a process that ends soon, and does beside other work what its end would wait for: all that the device holds
// goes at once with the contexts of its cards. A [Region] stays what it is, and pinned memory that [Device.Host] has returned readable
// until the process ends;
// where some of it is the driver's own and in use, so do the contexts.
func (d *Device) Discard() error {
	if d == nil {
		return nil
	}
	d.discarded.Store(true)
	return d.close(d.discard)
}

// close ends the lanes and then has release end the contexts.
func (d *Device) close(release func() error) error {
	if d.usable(context.Background(), d.Opened, "close") != nil {
		return d.Err()
	}
	d.closed.Do(func() { close(d.closing) })
	ended := make(chan struct{})
	go func() {
		for _, c := range d.cards {
			c.running.Wait()
		}
		close(ended)
	}()
	d.watch(ended, d.lanesHang)
	if err := d.Err(); err != nil {
		return err
	}
	var err error
	d.released.Do(func() { err = d.within("cuDevicePrimaryCtxRelease", release) })
	if fatal := d.Err(); fatal != nil {
		return fatal
	}
	return err
}

// release frees what belongs to no lane.
func (d *Device) release() error {
	var all error
	for i, c := range d.cards {
		for _, l := range c.lanes {
			all = errors.Join(all, l.ended)
		}
		all = errors.Join(all, d.with(c, func() (err error) {
			if i == 0 {
				d.mu.Lock()
				defer d.mu.Unlock()
				err = errors.Join(append(d.unpinRegions(), d.host.trim(0))...)
			}
			for m, l := range c.modules {
				err = errors.Join(err, d.judge(c.Index, "cuModuleUnload", m.Name, unloadModule(l.module)))
				delete(c.modules, m)
			}
			return err
		}))
		all = errors.Join(all, d.judge(c.Index, "cuDevicePrimaryCtxRelease", "", releaseContext(c.dev)))
	}
	return all
}

// discard ends the contexts of all cards, side by side: the driver takes long for each. What it says of that does not lose a card,
// whose work is done.
func (d *Device) discard() error {
	d.mu.Lock()
	owned := slices.ContainsFunc(d.hosts, func(h *Host) bool { return !h.region && !d.pages.holds(h.block) })
	d.mu.Unlock()
	if owned {
		return nil
	}
	errs := make([]error, len(d.cards))
	var releases sync.WaitGroup
	for i, c := range d.cards {
		releases.Go(func() { errs[i] = driverError(c.Index, "cuDevicePrimaryCtxRelease", "", releaseContext(c.dev)) })
	}
	releases.Wait()
	return errors.Join(errs...)
}

// used says whether memory of [Device.Host] lies in part.
func (d *Device) used(part []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := uintptr(unsafe.Pointer(&part[0]))
	return slices.ContainsFunc(d.hosts, func(h *Host) bool { return uintptr(h.block)-first < uintptr(len(part)) })
}

// within runs f beside the caller and gives it up as hanging after a while.
func (d *Device) within(call string, f func() error) error {
	end := make(chan error, 1)
	go func() { end <- f() }()
	patience := time.NewTimer(d.opts.Hang)
	defer patience.Stop()
	select {
	case err := <-end:
		return err
	case <-patience.C:
		d.poison(&HangError{Card: -1, Call: call, After: d.opts.Hang})
		return d.Err()
	}
}

// with runs f on a thread where the card's context is current.
func (d *Device) with(c *card, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := setContext(c.ctx); err != nil {
		return driverError(c.Index, "cuCtxSetCurrent", "", err)
	}
	return f()
}

// job is a batch on its way through a lane.
type job struct {
	f        func(*Lane) error
	apart    bool          // the driver gives it each block of its memory
	light    bool          // see [Work.Light]
	end      chan struct{} // closed when what follows is final
	err      error
	panicked any
	hindered bool // it may have found the memory if it had been apart
}

// Do runs f on a free lane and waits for it. f owns the lane until it returns and must
// not hand it to other goroutines. When Do returns, both streams are at rest and all
// memory that f took from the lane is back in the pools.
//
// The context ends the wait for a lane; f itself watches it between its steps. A panic
// in f goes on in the caller. After a call of the driver that hung, Do returns while f
// is still in it: then the process must end.
func (d *Device) Do(ctx context.Context, f func(*Lane) error) error {
	return d.do(ctx, &job{f: f, end: make(chan struct{})})
}

// do is Do for a job.
func (d *Device) do(ctx context.Context, j *job) error {
	if err := d.usable(ctx, d.Ready, "a batch for"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.dead:
		return d.Err()
	default:
	}
	jobs := d.jobs
	if j.light {
		jobs = d.lightJobs
	}
	select {
	case jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.dead:
		return d.Err()
	case <-d.closing:
		return fmt.Errorf("gpu: a batch for a device that was closed: %w", ErrNoDevice)
	}
	d.watch(j.end, d.lanesHang)
	select {
	case <-j.end:
	default:
		return d.Err()
	}
	if j.panicked != nil {
		panic(j.panicked)
	}
	// What ran beside a fatal error is not to be trusted either.
	if err := d.Err(); err != nil {
		return err
	}
	return j.err
}

// Split runs f for the items 0 to n-1 in parts: all at once first, and where f ends in
// [ErrOutOfMemory] in halves, down to single items. It returns the items, ascending,
// that do not even fit alone, for the CPU, or the first other error. f may run more
// than once for an item.
func (d *Device) Split(ctx context.Context, n int, f func(l *Lane, from, to int) error) (left []int, err error) {
	return d.split(ctx, n, false, f)
}

// split is Split, on lanes for light work or others.
func (d *Device) split(ctx context.Context, n int, light bool, f func(l *Lane, from, to int) error) (left []int, err error) {
	type part struct{ from, to int }
	for parts := []part{{0, n}}; len(parts) > 0; {
		p := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if p.from == p.to {
			continue
		}
		j := &job{f: func(l *Lane) error { return f(l, p.from, p.to) }, light: light, end: make(chan struct{})}
		err := d.do(ctx, j)
		if errors.Is(err, ErrOutOfMemory) && !errors.Is(err, ErrFatal) && j.hindered {
			err = d.do(ctx, &job{f: j.f, apart: true, light: light, end: make(chan struct{})})
		}
		switch {
		case err == nil:
		case !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrFatal):
			return left, err
		case p.to-p.from == 1:
			d.stats.short(1)
			left = append(left, p.from)
		default:
			d.stats.short(p.to - p.from)
			half := p.from + (p.to-p.from)/2
			parts = append(parts, part{half, p.to}, part{p.from, half})
		}
	}
	return left, nil
}
