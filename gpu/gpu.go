// Package gpu runs kernels on NVIDIA cards.
//
// A nil *[Device] is the CPU: every codec takes one and gives the same bytes with
// and without it. [Open] finds the devices of the machine.
//
// # How a codec uses it
//
// A codec has a [Table] of its kernels: their parameters, and how many threads an item
// of a batch takes. It divides the items of a call into batches with [Batching.Divide], fewer where other calls are at work
// ([Device.Share]), and [Device.Run] does the batches on lanes and leaves the rest to the CPU:
//
//	var kernels = gpu.Table[sizes]{Module: &module, Kernels: map[string]gpu.Entry[sizes]{
//		"codec_step": {Params: stepParams{}, Threads: func(s *sizes) int { return s.pixels }},
//	}}
//
//	dev.Run(ctx, batching.Divide(items, samples), gpu.Work{
//		Device: func(l *gpu.Lane, items []int) error { ... },
//		CPU:    func(items []int) { ... },
//		Failed: func(items []int, err error) { ... },
//	})
//
// On a lane, a batch takes its memory, brings the samples of all its items there in one
// go, launches each kernel once for all of them, and brings the results back:
//
//	s := l.Stream(0)
//	staging := &gpu.Staging{Lane: l, Spans: pool.Spans}
//	in, err := l.Device(n)
//	err = staging.Upload(in, n, parts)
//	list, err := s.Put(gpu.Bytes(entries)) // of structs that Go and CUDA share
//	err = gpu.LaunchFor(&kernels, s, "codec_step", sizes, &stepParams{list.Ptr})
//	err = staging.Download(results, out, n)
//
// [Layout] divides a buffer among the items. [Device.Do], [Device.Split] and [Launch] are
// what these are made of, for what has another shape.
//
// # Builds
//
// With the build tag cuda and cgo the package opens NVIDIA's driver when it is first
// needed (package driver), or takes over what a program has begun before main (package
// begin); the program starts without one. In all other builds
// [Built] is false and [Open] knows only the CPU. What codecs use compiles in every
// build, so that they need no tags.
//
// # Lanes
//
// A lane is a goroutine that is locked to its thread and its card, with two streams
// and its own device memory. A card has a few of them, so that copies of one batch
// overlap the kernels of another, and some for batches of [Work.Light]. A batch runs on whichever lane of whichever card is
// free. Everything a batch takes from its lane goes back when its function returns,
// after both streams have come to rest; Free gives it back earlier.
//
// # Memory
//
// Device memory and pinned memory come from pools with a budget in bytes and are
// kept for the next batch; small pieces are cut from slabs, because the driver takes long
// for each that it gives. What does not fit, by budget or by the card, is
// [ErrOutOfMemory]; [Device.Split] answers it with halves of the batch.
//
// # Errors
//
// An error of the driver is an [*Error], which names the call and the kernel. After
// one that is [ErrFatal] no result of this process can be trusted: the batch is
// discarded, every later call fails with the same error, and the program must end, so
// that its supervisor starts it afresh. A driver call that does not return within
// [Options].Hang is treated so too; its thread stays where it is.
//
// # Kernels
//
// A codec keeps its kernels in kernels.cu, which includes what it needs of include/,
// compiled to ptx/kernels.ptx (compute capability 7.5) and, where asked for,
// ptx/kernels_80.ptx by "make kernels". It embeds them as strings, lists them in a [Module], and has
// gputest.Kernels check in a test that they are those of the sources.
//
// # Parameters
//
// A kernel's parameters are passed as one Go struct with the fields in the order of the
// kernel's parameter list and of the same sizes: [Ptr] for pointers, fixed-size integers
// for the rest. [Table.Check] compares all of a codec with the PTX in a test.
package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Info describes a card.
type Info struct {
	Index           int    // number of the card among those that the driver shows
	Name            string // "NVIDIA H200"
	UUID            string // "GPU-" and 32 hexadecimal digits in groups
	PCI             string // address on the bus, "0000:3b:00.0"
	Memory          int64  // bytes
	Major, Minor    int    // compute capability
	Multiprocessors int
	SharedMemory    int    // bytes that a block may use at most
	Driver          string // CUDA version of the driver, "12.8"
}

// Capability is the compute capability in one number: 75 for 7.5.
func (i *Info) Capability() int { return 10*i.Major + i.Minor }

// String is the card on one line, without its number.
func (i *Info) String() string {
	return fmt.Sprintf("%s, %.1f GiB, compute capability %d.%d, PCI %s, driver for CUDA %s",
		i.Name, float64(i.Memory)/(1<<30), i.Major, i.Minor, i.PCI, i.Driver)
}

// Link is the measured speed of copies between pinned host memory and a card.
type Link struct {
	Card     Info
	Up, Down float64 // bytes per second, to and from the card
}

// Stats is what a device has done since it was opened, over all its cards.
type Stats struct {
	Memory   int64         // bytes of device memory held now, those kept for the next batch included
	Batches  int64         // calls of [Device.Do] that ended
	Busy     time.Duration // with at least one batch on a lane
	LaneTime time.Duration // of batches, added up
	Waited   time.Duration // with at least one lane that waits for its card, added up over cards, but for [Work.Light]
	Halved   int64         // batches that did not fit into the memory and were halved
	Left     int64         // items that did not fit alone
}

// Options of [OpenWith]. Zero fields mean the defaults.
type Options struct {
	Lanes  int           // per card, beside those for light work; 3, or one for each 8 GiB of its memory, but no more than 9
	Memory int64         // budget of device memory per card in bytes; three quarters of what is free
	Pinned int64         // budget of pinned host memory in bytes; 4 GiB
	Hang   time.Duration // how long a call of the driver may take; 60 s

	// Connections is how many queues a card has for the kernels of its lanes: where more are at work than there are queues, some wait
	// for each other. The driver takes some milliseconds more to open and to close a card for each, so that its own number is for
	// processes that end soon, and 32, the most, for those that do not. It goes by the first device of a
	// process, and where the environment has CUDA_DEVICE_MAX_CONNECTIONS by that. 0: the driver's, which is 8.
	Connections int

	// Staging is how many bytes of pinned memory a card gets for each of its lanes while it is opened, for the staging buffers of a
	// batch. 0: lanes pin them when they need them, and keep each other from the driver meanwhile.
	Staging int

	// Ahead is how many bytes of device memory each lane but those for light work gets while a card is opened, in one piece of which
	// blocks are cut, if that is no more than an eighth of the lane's budget. 0, or where there is less: lanes take what they need when
	// they need it, and those that begin at the same time wait for each other in the driver.
	Ahead int

	// Modules are those that will be needed first: they are loaded while the lanes begin. A module that is loaded later keeps
	// all lanes of the card from the driver until the kernels that are at work have ended.
	Modules []*Module

	// Presume is how many cards there probably are, see [Shown]: then [StartWith] does not wait until the driver has listed them, which
	// takes it 0.1 s. 0: it waits.
	Presume int

	// Only says that the process opens the card "cuda:N" and will never have to do with another one: the driver then shows it alone,
	// which takes 0.1 s less for each other card of the machine.
	Only bool

	// Apart lets the driver give each piece of device memory by itself, so that a checker of memory sees what reaches beyond
	// its end. Otherwise small ones are cut from larger ones.
	Apart bool
}

// Shown is how many cards the system shows by their files, which a container has of those that it may use. It is 0 where the environment
// says which cards are to be used, and where it is not known.
func Shown() int {
	if _, chosen := os.LookupEnv("CUDA_VISIBLE_DEVICES"); chosen || !Built {
		return 0
	}
	files, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return len(files)
}

const (
	leastLanes    = 3
	mostLanes     = 9 // by default
	laneMemory    = 8 << 30
	defaultPinned = 4 << 30
	defaultHang   = 60 * time.Second
)

// lanes are those of a card with so many bytes of memory. While the host prepares the batch of one and
// copies that of another, kernels of a third run; a small card has not the memory for more.
func (o *Options) lanes(memory int64) int {
	if o.Lanes > 0 {
		return o.Lanes
	}
	return int(max(leastLanes, min(memory/laneMemory, mostLanes)))
}

const (
	mostLight = 3
	lightEach = 12 << 30 // of a card's memory for each lane for light work

	// lightMemory is what a lane for light work has of a card's budget, but all together no more than an eighth.
	lightMemory = 1 << 30
)

// lightLanes are those for light work of a card with so many bytes of memory. A batch of it takes about as long beside others as
// alone, but a lane with less memory would have to halve it.
func lightLanes(memory int64) int { return int(max(1, min(memory/lightEach, mostLight))) }

// share is the budget of a lane where that of its card is as large.
func (o *Options) share(budget, memory int64, light bool) int64 {
	n := int64(lightLanes(memory))
	own := min(budget/8, n*lightMemory)
	if light {
		return own / n
	}
	return (budget - own) / int64(o.lanes(memory))
}

// Ptr is an address in device memory.
type Ptr uint64

// Grid is how a launch is divided. Of Blocks and Threads, y and z count as 1 where
// they are 0.
type Grid struct {
	Blocks  [3]int // x, y, z
	Threads [3]int // per block: x, y, z
	Shared  int    // bytes of dynamic shared memory per block
}

// parse reads a device specification: card is -1 for any.
func parse(spec string) (card int, insists bool, err error) {
	switch {
	case spec == "" || spec == "auto":
		return -1, false, nil
	case spec == "cuda":
		return -1, true, nil
	case strings.HasPrefix(spec, "cuda:"):
		if n, err := strconv.ParseUint(spec[len("cuda:"):], 10, 16); err == nil {
			return int(n), true, nil
		}
	}
	return 0, false, fmt.Errorf("gpu: device %q: want auto, cpu, cuda or cuda:N", spec)
}
