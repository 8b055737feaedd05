//go:build cuda && cgo

package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
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
	opts  Options
	found []*card // that the driver shows and that are to be used
	jobs  chan *job

	opened  chan struct{} // closed when cards and refused are final; nil: it was never opened
	cards   []*card       // that have lanes
	refused error         // why there is none

	closing chan struct{} // closed by Close
	closed  sync.Once
	dead    chan struct{} // closed once failure is set
	failure atomic.Pointer[error]

	mu    sync.Mutex
	host  *pool[unsafe.Pointer]
	hosts []*Host // those that last until Free, by their addresses

	stats   stats
	opening place
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
	modules map[*Module]*loaded
	links   [2]link // to the card and from it
}

// Name is the device's name in records: "cpu" for nil.
func (d *Device) Name() string {
	if d == nil {
		return "cpu"
	}
	switch cards := d.Cards(); len(cards) {
	case 0:
		return ""
	case 1:
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
	err := d.asking(func() error {
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
	d := &Device{jobs: make(chan *job), closing: make(chan struct{}), dead: make(chan struct{})}
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
		func(n int) (unsafe.Pointer, error) {
			p, err := hostAlloc(n)
			return p, d.judge(-1, "cuMemHostAlloc", "", err)
		},
		func(p unsafe.Pointer) error { return d.judge(-1, "cuMemFreeHost", "", hostFree(p)) })
	return d
}

// list asks the driver for its cards.
func (d *Device) list() ([]*card, error) {
	var refused error
	err := d.ask(-1, "cuInit", func() error { refused = driver.Open(driver.Library); return nil })
	switch {
	case err != nil:
		return nil, err
	case errors.Is(refused, driver.ErrNoLibrary):
		return nil, fmt.Errorf("%w: %w", refused, ErrNoDevice)
	case refused != nil:
		return nil, fmt.Errorf("cuInit: %v: %w", refused, ErrNoDevice)
	}
	var cards []*card
	err = d.ask(-1, "cuDeviceGetCount", func() error {
		n, err := deviceCount()
		if err != nil {
			refused = fmt.Errorf("cuDeviceGetCount: %v: %w", err, ErrNoDevice)
		}
		cards = make([]*card, n)
		return nil
	})
	if err = cmp.Or(err, refused); err != nil {
		return nil, err
	}
	if len(cards) == 0 {
		return nil, fmt.Errorf("the driver shows no card: %w", ErrNoDevice)
	}
	for i := range cards {
		err := d.ask(i, "cuDeviceGetAttribute", func() error {
			info, dev, err := describe(i)
			if err != nil {
				refused = fmt.Errorf("%v: %w", err, ErrNoDevice)
			}
			cards[i] = &card{Info: info, version: driverVersion(), dev: dev, modules: make(map[*Module]*loaded)}
			return nil
		})
		if err = cmp.Or(err, refused); err != nil {
			return nil, err
		}
	}
	return cards, nil
}

// Open returns the device that spec names: "auto" (all cards where there are any, else
// the CPU), "cpu", "cuda" (all cards) or "cuda:N" (one card). It returns an error that
// wraps [ErrNoDevice] when spec insists on a card and there is none. Cards that cannot
// run this program's kernels do not count.
func Open(spec string) (*Device, error) { return OpenWith(spec, nil) }

// OpenWith is [Open] with options; nil means defaults.
func OpenWith(spec string, o *Options) (*Device, error) {
	d, err := StartWith(spec, o)
	if d == nil || err != nil {
		return nil, err
	}
	err = d.Opened(context.Background())
	var hang *HangError
	switch _, insists, _ := parse(spec); {
	case err == nil:
		return d, nil
	case !insists && !errors.As(err, &hang):
		return nil, nil
	}
	return nil, err
}

// Start is [Open] for callers who have something else to do meanwhile. It returns as soon as the
// cards are known, with the errors of Open where there is none, and makes their contexts and lanes
// beside the caller, which takes the driver as long again. [Device.Opened] waits for that, and so
// does whatever needs a lane.
func Start(spec string) (*Device, error) { return StartWith(spec, nil) }

// StartWith is [Start] with options; nil means defaults.
func StartWith(spec string, o *Options) (*Device, error) {
	if spec == "cpu" {
		return nil, nil
	}
	index, insists, err := parse(spec)
	if err != nil {
		return nil, err
	}
	d, err := begin(index, o, func(err error) error { return unusable(spec, err) })
	var hang *HangError
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &hang) || insists:
		return nil, err
	}
	return nil, nil
}

// open is [OpenWith] for card index, with the driver's own errors.
func open(index int, o *Options) (*Device, error) {
	d, err := begin(index, o, func(err error) error { return err })
	if err == nil {
		err = d.Opened(context.Background())
	}
	return d, err
}

// begin looks for card index, or for all cards where it is negative, and starts their lanes beside
// the caller. say words the errors of both.
func begin(index int, o *Options, say func(error) error) (*Device, error) {
	d := newDevice(o)
	if err := d.asking(func() error { return d.find(index) }); err != nil {
		return nil, say(err)
	}
	go func() {
		defer close(d.opened)
		var cards []*card // a call that was given up may still change it
		if err := d.asking(func() (err error) { cards, err = d.start(); return err }); err != nil {
			d.refused = say(err)
			return
		}
		d.cards = cards
	}()
	return d, nil
}

// unusable says of an error which device could not be opened: it wraps [ErrNoDevice], unless the
// driver hangs.
func unusable(spec string, err error) error {
	var hang *HangError
	switch {
	case errors.As(err, &hang):
		return err
	case errors.Is(err, ErrNoDevice):
		return fmt.Errorf("gpu: open %q: %w", spec, err)
	}
	return fmt.Errorf("gpu: open %q: %v: %w", spec, err, ErrNoDevice)
}

// find looks for card index, or for all cards where it is negative.
func (d *Device) find(index int) error {
	cards, err := d.list()
	if err != nil {
		return err
	}
	if index >= len(cards) {
		return fmt.Errorf("there are cards 0 to %d: %w", len(cards)-1, ErrNoDevice)
	}
	if index >= 0 {
		cards = cards[index : index+1]
	}
	d.found, d.opened = cards, make(chan struct{})
	return nil
}

// start starts the lanes of the cards that were found. Cards that fail are left out as long as one
// remains.
func (d *Device) start() (cards []*card, err error) {
	var refused error
	for _, c := range d.found {
		if err := d.startCard(c); err != nil {
			if lost := d.Err(); lost != nil {
				return nil, lost
			}
			refused = errors.Join(refused, err)
			continue
		}
		cards = append(cards, c)
	}
	if len(cards) == 0 {
		return nil, refused
	}
	return cards, nil
}

// Opened waits until the device can be used, and says why it cannot: the error wraps [ErrNoDevice],
// is a [*HangError], or the cause of the end of ctx. The CPU can be used at once.
func (d *Device) Opened(ctx context.Context) error {
	if d == nil || d.opened == nil {
		return nil
	}
	select {
	case <-d.opened:
		return d.refused
	default:
	}
	select {
	case <-d.opened:
		return d.refused
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// usable is [Device.Opened] for calls that have no context and for what names itself in the error.
func (d *Device) usable(ctx context.Context, what string) error {
	if err := d.Opened(ctx); err != nil {
		return err
	}
	if d == nil || d.cards == nil {
		return fmt.Errorf("gpu: %s a device that is not open: %w", what, ErrNoDevice)
	}
	return nil
}

// startCard makes a card's context and its lanes.
func (d *Device) startCard(c *card) error {
	err := d.ask(c.Index, "cuDevicePrimaryCtxRetain", func() (err error) { c.ctx, err = retainContext(c.dev); return err })
	if err != nil {
		return err
	}
	ready, verdict := make(chan error), make(chan error, d.opts.lanes(c.Memory))
	for range d.opts.lanes(c.Memory) {
		l := &Lane{dev: d, card: c}
		c.lanes = append(c.lanes, l)
		c.running.Add(1)
		go l.loop(ready, verdict)
		if err = <-ready; err != nil {
			break
		}
	}
	for range d.opts.lanes(c.Memory) {
		verdict <- err
	}
	if err != nil && d.Err() == nil {
		c.running.Wait()
		releaseContext(c.dev)
	}
	return err
}

// Cards describes the cards of the device; nil for the CPU. Those that do not open are among them
// until [Device.Opened] returns.
func (d *Device) Cards() []Info {
	if d == nil {
		return nil
	}
	cards := d.found
	select {
	case <-d.opened:
		cards = d.cards
	default:
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
// begin after Close.
func (d *Device) Close() error {
	if d.usable(context.Background(), "close") != nil {
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
	err := d.within("cuDevicePrimaryCtxRelease", d.release)
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
				err = d.host.trim(0)
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
	end      chan struct{} // closed when err and panicked are final
	err      error
	panicked any
}

// Do runs f on a free lane and waits for it. f owns the lane until it returns and must
// not hand it to other goroutines. When Do returns, both streams are at rest and all
// memory that f took from the lane is back in the pools.
//
// The context ends the wait for a lane; f itself watches it between its steps. A panic
// in f goes on in the caller. After a call of the driver that hung, Do returns while f
// is still in it: then the process must end.
func (d *Device) Do(ctx context.Context, f func(*Lane) error) error {
	if err := d.usable(ctx, "a batch for"); err != nil {
		return err
	}
	j := &job{f: f, end: make(chan struct{})}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.dead:
		return d.Err()
	default:
	}
	select {
	case d.jobs <- j:
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
	type part struct{ from, to int }
	for parts := []part{{0, n}}; len(parts) > 0; {
		p := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if p.from == p.to {
			continue
		}
		err := d.Do(ctx, func(l *Lane) error { return f(l, p.from, p.to) })
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
