//go:build cuda && cgo

package gpu

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pelmill/pelmill/gpu/driver"
)

// loaded is a module on a card, or on its way there.
type loaded struct {
	ready   chan struct{} // closed when err, module and layouts are final
	err     error         // why it is not there
	module  cuModule
	layouts map[string]layout

	mu      sync.Mutex
	kernels map[string]*Kernel
}

// Kernel is a function of a module on the card of a lane. It stays valid on that card
// until the device is closed.
type Kernel struct {
	name     string
	function cuFunction
	layout   layout

	mu     sync.Mutex
	shared int // bytes of dynamic shared memory that it may use
}

// Kernel returns a kernel by its name in the PTX. The module is loaded on its first
// use on a card, which takes seconds where the driver has to compile it: meanwhile only
// lanes that ask for the same module wait.
func (l *Lane) Kernel(m *Module, name string) (*Kernel, error) {
	// Each launch asks, and would else wait for lanes that find other kernels meanwhile.
	if k := l.kernels[kernelOf{m, name}]; k != nil {
		return k, nil
	}
	k, err := l.find(m, name)
	if err == nil {
		l.kernels[kernelOf{m, name}] = k
	}
	return k, err
}

// kernelOf is a kernel by its module and name.
type kernelOf struct {
	module *Module
	name   string
}

// find is Kernel for one that the lane has not used before.
func (l *Lane) find(m *Module, name string) (*Kernel, error) {
	on, err := l.card.module(l.dev, m, l.do)
	if err != nil {
		return nil, err
	}
	return on.kernel(m, name, l.do)
}

// caller makes one call of the driver: [Lane.do], or that of whoever opens a card.
type caller func(call, kernel string, f func() error) error

// kernel returns a kernel of the module m that was loaded.
func (on *loaded) kernel(m *Module, name string, do caller) (*Kernel, error) {
	on.mu.Lock()
	defer on.mu.Unlock()
	if k := on.kernels[name]; k != nil {
		return k, nil
	}
	lay, ok := on.layouts[name]
	if !ok {
		return nil, fmt.Errorf("gpu: module %s has no kernel %s", m.Name, name)
	}
	k := &Kernel{name: name, layout: lay, shared: plainShared}
	err := do("cuModuleGetFunction", name, func() (err error) { k.function, err = findFunction(on.module, name); return err })
	if err != nil {
		return nil, err
	}
	on.kernels[name] = k
	return k, nil
}

// module returns a module that is on the card. One caller loads it while others that ask
// for it wait; where it fails, each of them tries for itself, one after the other.
func (c *card) module(d *Device, m *Module, do caller) (*loaded, error) {
	for {
		c.mu.Lock()
		on := c.modules[m]
		if on == nil {
			on = &loaded{ready: make(chan struct{}), err: errNotLoaded, kernels: make(map[string]*Kernel)}
			c.modules[m] = on
			c.mu.Unlock()
			return on, c.bring(m, on, do)
		}
		c.mu.Unlock()
		select {
		case <-on.ready:
			if on.err == nil {
				return on, nil
			}
		case <-d.dead: // who loads it may never come back
			return nil, d.Err()
		}
	}
}

// errNotLoaded is the error of a module whose loading ended in a panic.
var errNotLoaded = errors.New("gpu: a module was not loaded")

// bring loads a module that the card has as one on its way, and takes it off the card's
// list where that fails, before those who wait for it look there again.
func (c *card) bring(m *Module, on *loaded, do caller) error {
	defer close(on.ready)
	defer func() {
		if on.err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.modules, m)
		}
	}()
	on.err = c.load(m, on, do)
	return on.err
}

// load loads the best variant that the driver takes.
func (c *card) load(m *Module, on *loaded, do caller) error {
	list, err := m.choose(c.Capability(), c.version)
	if err != nil {
		return err
	}
	for _, v := range list {
		if on.layouts, err = layouts(v.text); err != nil {
			return err
		}
		err = do("cuModuleLoadData", m.Name, func() (err error) { on.module, err = loadModule(v.text); return err })
		refused := c.refused(m, v, err)
		if refused == nil {
			break
		}
		err = refused
	}
	return err
}

// prepare does for the lanes of a card what they would do one after the other, and what keeps all of them from the driver where kernels
// are at work already: it loads the modules that are expected and finds their kernels. What fails is left to the lane that needs it. A
// device that is closed does not wait for more than one of them, which the driver may have to compile.
func (c *card) prepare(d *Device) {
	if len(d.opts.Modules) == 0 || d.Err() != nil {
		return
	}
	do := func(call, kernel string, f func() error) error {
		if err := d.Err(); err != nil {
			return err
		}
		return d.judge(c.Index, call, kernel, c.preparing.in(c.Index, call, f))
	}
	_ = d.with(c, func() error {
		for _, m := range d.opts.Modules {
			select {
			case <-d.closing:
				return nil
			default:
			}
			on, err := c.module(d, m, do)
			if err != nil {
				continue
			}
			for name := range on.layouts {
				if _, err := on.kernel(m, name, do); err != nil {
					break
				}
			}
		}
		return nil
	})
}

// refused is what stands in the way where the driver did not take a variant of a
// module because it cannot read it; nil where err is of another kind or nil.
func (c *card) refused(m *Module, v variant, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != codeUnsupportedPTX && e.Code != codeNoBinary && e.Code != codeInvalidPTX {
		return nil
	}
	_, need := firstDriver(v.version)
	return fmt.Errorf("gpu: card %d: the driver, for CUDA %s, refuses the kernels of %s in PTX %d.%d for compute capability %d.%d (%s, %d), which need %s: %w",
		c.Index, c.Driver, m.Name, v.version/10, v.version%10, v.capability/10, v.capability%10, e.Name, e.Code, need, ErrNoDevice)
}

// tryKernels tries while a device is opened whether the driver takes kernels at all,
// in the context that is current.
func (c *card) tryKernels(d *Device) error {
	list, err := selfTestModule.choose(c.Capability(), c.version)
	if err != nil {
		return fmt.Errorf("card %d: %w", c.Index, err)
	}
	v, module := list[0], cuModule{}
	err = d.ask(&c.opening, c.Index, "cuModuleLoadData", func() (err error) { module, err = loadModule(v.text); return err })
	if refused := c.refused(&selfTestModule, v, err); refused != nil {
		return refused
	}
	if err != nil {
		return err
	}
	return d.ask(&c.opening, c.Index, "cuModuleUnload", func() error { return unloadModule(module) })
}

// Blocks is how many blocks of the kernel a multiprocessor holds at once.
func (l *Lane) Blocks(k *Kernel, threads, shared int) (n int, err error) {
	if err := k.allowShared(l, shared); err != nil {
		return 0, err
	}
	err = l.do("cuOccupancyMaxActiveBlocksPerMultiprocessor", k.name, func() (err error) {
		n, err = occupancy(k.function, threads, shared)
		return err
	})
	return n, err
}

// allowShared lets the kernel use n bytes of dynamic shared memory.
func (k *Kernel) allowShared(l *Lane, n int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n <= k.shared {
		return nil
	}
	err := l.do("cuFuncSetAttribute", k.name, func() error { return driver.SetMaxShared(functionHandle(&k.function), n) })
	if err == nil {
		k.shared = n
	}
	return err
}
