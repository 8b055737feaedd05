//go:build cuda && cgo

package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/pelmill/pelmill/gpu/driver"
)

// setDefault sets a variable that the driver reads when it starts, unless the environment has it.
func setDefault(name, value string) {
	if _, chosen := os.LookupEnv(name); !chosen {
		_ = os.Setenv(name, value) // the driver does without
	}
}

// list asks the driver for its cards.
func (d *Device) list() ([]*card, error) {
	if !driver.Begun() { // else the driver has read them, or is about to, and they are as here but for the connections
		// Else a kernel is loaded when it is first launched, upon which the driver waits for all that is at work on the card, and lets
		// nobody else in meanwhile.
		setDefault("CUDA_MODULE_LOADING", driver.ModuleLoading)
		// Otherwise each of several engines gets as many queues for copies as there are for kernels, and the driver takes milliseconds for
		// each. An engine does one copy at a time, and those in its queues wait for nothing but other copies, see [Stream].
		setDefault("CUDA_DEVICE_MAX_COPY_CONNECTIONS", driver.CopyConnections)
		if d.opts.Connections > 0 {
			setDefault("CUDA_DEVICE_MAX_CONNECTIONS", strconv.Itoa(d.opts.Connections))
		}
	}
	var refused error
	err := d.ask(&d.listing, -1, "cuInit", func() error { refused = driver.Open(driver.Library); return nil })
	switch {
	case err != nil:
		return nil, err
	case errors.Is(refused, driver.ErrNoLibrary):
		return nil, fmt.Errorf("%w: %w", refused, ErrNoDevice)
	case errors.Is(refused, driver.NoDevice) && driver.First() > 0: // the one that was to be shown alone
		return nil, fmt.Errorf("cuInit: %v: the driver shows no card %d: %w", refused, driver.First(), ErrNoDevice)
	case refused != nil:
		return nil, fmt.Errorf("cuInit: %v: %w", refused, ErrNoDevice)
	}
	var cards []*card
	first := driver.First()
	err = d.ask(&d.listing, -1, "cuDeviceGetCount", func() error {
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
		err := d.ask(&d.listing, i, "cuDeviceGetAttribute", func() error {
			info, dev, err := describe(i)
			info.Index += first
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
// beside the caller, which takes the driver as long again. [Device.Opened] waits for that; what needs
// a lane, and [Device.Ready], wait for the first card.
func Start(spec string) (*Device, error) { return StartWith(spec, nil) }

// StartWith is [Start] with options; nil means defaults. With [Options.Presume] it returns at once: that
// there are no cards after all is then an error of [Device.Opened].
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
	d.opened, d.listed, d.lanes = make(chan struct{}), make(chan struct{}), make(chan struct{})
	find := func() error {
		var found []*card // a call that was given up may still change it
		if err := d.asking([]*place{&d.listing}, func() (err error) { found, err = d.find(index); return err }); err != nil {
			return say(err)
		}
		d.found = found
		close(d.listed)
		return nil
	}
	if d.opts.Presume == 0 {
		if err := find(); err != nil {
			return nil, err
		}
	}
	go func() {
		defer close(d.opened)
		if d.opts.Presume > 0 {
			if d.refused = find(); d.refused != nil {
				return
			}
		}
		var cards []*card // here too
		var places []*place
		for _, c := range d.found {
			places = append(places, &c.opening, &c.preparing)
		}
		if err := d.asking(places, func() (err error) { cards, err = d.start(); return err }); err != nil {
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
func (d *Device) find(index int) ([]*card, error) {
	if d.opts.Only && index >= 0 {
		driver.ShowOnly(index)
	}
	cards, err := d.list()
	if err != nil || index < 0 {
		return cards, err
	}
	first := cards[0].Index
	if i := index - first; i >= 0 && i < len(cards) {
		return cards[i : i+1], nil
	}
	return nil, fmt.Errorf("there are cards %d to %d: %w", first, first+len(cards)-1, ErrNoDevice)
}

// start starts the lanes of the cards that were found, side by side: the driver takes long for each. Cards that fail are left
// out as long as one remains.
func (d *Device) start() (cards []*card, err error) {
	errs := make([]error, len(d.found))
	var starts sync.WaitGroup
	for i, c := range d.found {
		starts.Go(func() { errs[i] = d.startCard(c) })
	}
	starts.Wait()
	if lost := d.Err(); lost != nil {
		return nil, lost
	}
	for i, c := range d.found {
		if errs[i] == nil {
			cards = append(cards, c)
		}
	}
	if len(cards) == 0 {
		return nil, errors.Join(errs...)
	}
	return cards, nil
}

// Opened waits until all cards of the device are open that can be, and says why none can: the error wraps [ErrNoDevice],
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

// Ready waits until one card of the device is open, which can be used while the driver opens the others: it makes one context after
// another. The errors are those of [Device.Opened].
func (d *Device) Ready(ctx context.Context) error {
	if d == nil || d.opened == nil {
		return nil
	}
	select {
	case <-d.lanes:
		return nil
	default:
	}
	select {
	case <-d.lanes:
		return nil
	case <-d.opened:
		return d.refused
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// usable is what wait returns, [Device.Opened] or [Device.Ready], or that the device was never opened.
func (d *Device) usable(ctx context.Context, wait func(context.Context) error, what string) error {
	if err := wait(ctx); err != nil {
		return err
	}
	if d == nil || d.first == nil {
		return fmt.Errorf("gpu: %s a device that is not open: %w", what, ErrNoDevice)
	}
	return nil
}

// startCard makes a card's context and its lanes.
func (d *Device) startCard(c *card) (err error) {
	usual := d.opts.lanes(c.Memory)
	pinned := d.pinAhead(usual * d.opts.Staging)
	defer func() {
		if err != nil {
			pinned.giveUp()
		}
	}()
	err = d.ask(&c.opening, c.Index, "cuDevicePrimaryCtxRetain", func() (err error) { c.ctx, err = retainContext(c.dev); return err })
	if err != nil {
		return err
	}
	n := usual + lightLanes(c.Memory)
	ready, verdict := make(chan error), make(chan error, n)
	for i := range n {
		l := &Lane{dev: d, card: c, light: i >= usual, kernels: make(map[kernelOf]*Kernel)}
		c.lanes = append(c.lanes, l)
		c.running.Add(1)
		go l.loop(ready, verdict)
		if err = <-ready; err != nil {
			break
		}
		if i == 0 { // which knows now that the driver takes kernels
			c.running.Go(func() { c.prepare(d) })
		}
	}
	for range n {
		verdict <- err
	}
	if err != nil && d.Err() == nil {
		c.running.Wait()
		releaseContext(c.dev)
	}
	if err == nil {
		c.ready.Store(true)
		d.makes.Do(func() {
			d.first = c
			close(d.lanes)
		})
		c.running.Go(func() { pinned.pin(c) })
	}
	return err
}
