//go:build cuda && cgo

package neuquant

import (
	"context"
	"os"

	"github.com/pelmill/pelmill/gpu"
)

// A batch is problems that a card solves together: every kernel runs once for all of them.
// Training is a chain of samples, whose length decides how long it takes for one problem
// or for a thousand; the bins are made beside it, in the other stream.
type batch struct {
	*card
	options  *Options
	problems []*problem

	frames  []cardProblem
	list    *gpu.Buffer // of frames
	colours *gpu.Buffer
	entries *gpu.Buffer // maxEntries of each
	index   *gpu.Buffer
	bins    *gpu.Buffer // of binsTogether problems
	network *gpu.Buffer
	found   *gpu.Buffer // the occupied bins

	up, down     []stretch
	upAt, downAt int // bytes
}

const (
	// binsTogether is how many problems have all bins at a time, 4 MiB each: enough to fill
	// a card, and not much more than its cache.
	binsTogether = 32
	binBytes     = 16 << binBits
	alphaBytes   = 4 << binBits
	binParts     = 256

	networkBytes = 4 * 41 * 32 // of train.cuh

	// launchSamples bounds the training of a launch: some tenths of a second.
	launchSamples = 1 << 19
)

// The blocks of the kernels.
const (
	cardThreads   = 256
	trainWarps    = 4 // a problem each
	refineThreads = 512
	threadColours = 8 // of nq_bins and nq_map
)

// solve answers the problems.
func (g *batch) solve(ctx context.Context) ([]solution, error) {
	for _, step := range []func() error{g.place, g.load, g.train, g.refine} {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	return g.fetch()
}

// place takes memory.
func (g *batch) place() error {
	var colours, index, networks, found gpu.Layout
	g.frames = make([]cardProblem, len(g.problems))
	binned, alphas := 0, 0 // bytes of all bins of a problem
	for i, p := range g.problems {
		f := &g.frames[i]
		n := p.n()
		r := newRates(n, p.entries, g.options.sample)
		f.N, f.K = uint32(n), uint32(p.entries)
		f.Cycle, f.Cycles = uint32(r.cycle), uint32(r.cycles)
		f.Stride, f.Decay = uint32(r.stride), uint32(r.decay)
		if p.opaque {
			f.Opaque = 1
		}
		bytes := p.samples
		if p.values != nil {
			bytes = asBytes(p.values)
			f.Values = gpu.Ptr(colours.Take(len(bytes)))
			g.up = append(g.up, stretch{int(f.Values), bytes})
		} else {
			f.Samples = gpu.Ptr(colours.Take(len(bytes)))
			g.up = append(g.up, stretch{int(f.Samples), bytes})
		}
		if p.mapped {
			f.Index = gpu.Ptr(index.Take(n))
		}
		f.Network = gpu.Ptr(networks.Take(networkBytes))
		if g.options.refine == 0 {
			continue
		}
		binned = binBytes
		if !p.opaque {
			alphas = alphaBytes
		}
		most := min(n, 1<<binBits)
		f.Counts = gpu.Ptr(found.Take(4 * (binParts + 1)))
		f.Colours, f.Weights, f.Numbers = gpu.Ptr(found.Take(4*most)), gpu.Ptr(found.Take(4*most)), gpu.Ptr(found.Take(4*most))
		f.Rests, f.Nearest = gpu.Ptr(found.Take(16*most)), gpu.Ptr(found.Take(most))
	}
	g.upAt, g.downAt = colours.Size, index.Size
	together := min(len(g.problems), binsTogether)
	for _, b := range []struct {
		buffer **gpu.Buffer
		size   int
	}{
		{&g.list, len(asBytes(g.frames))}, {&g.colours, colours.Size}, {&g.entries, 4 * maxEntries * len(g.problems)},
		{&g.index, index.Size}, {&g.network, networks.Size}, {&g.found, found.Size}, {&g.bins, together * (binned + alphas)},
	} {
		var err error
		if *b.buffer, err = g.lane.Device(max(b.size, 1)); err != nil {
			return err
		}
	}
	for i, p := range g.problems {
		f := &g.frames[i]
		if p.values != nil {
			f.Values += g.colours.Ptr
		} else {
			f.Samples += g.colours.Ptr
		}
		if p.mapped {
			f.Index += g.index.Ptr
		}
		f.Entries = g.entries.Ptr + gpu.Ptr(4*maxEntries*i)
		f.Network += g.network.Ptr
		if g.options.refine == 0 {
			continue
		}
		f.Bins = g.bins.Ptr + gpu.Ptr(i%together*binBytes)
		if !p.opaque {
			f.Alphas = g.bins.Ptr + gpu.Ptr(together*binBytes+i%together*alphaBytes)
		}
		for _, at := range []*gpu.Ptr{&f.Counts, &f.Colours, &f.Weights, &f.Numbers, &f.Rests, &f.Nearest} {
			*at += g.found.Ptr
		}
	}
	return nil
}

// load brings the problems to the card.
func (g *batch) load() error {
	if err := g.lane.Stream(0).Upload(g.list, 0, asBytes(g.frames)); err != nil {
		return err
	}
	if err := g.upload(g.colours, g.up, g.upAt); err != nil {
		return err
	}
	return g.mark("upload")
}

// from is the address of the list from problem i on.
func (g *batch) from(i int) gpu.Ptr { return g.list.Ptr + gpu.Ptr(i*len(asBytes(g.frames[:1]))) }

// most is the number of colours of the largest of some problems.
func most(frames []cardProblem) (n int) {
	for i := range frames {
		n = max(n, int(frames[i].N))
	}
	return n
}

// train makes entries of the samples, and the bins beside.
func (g *batch) train() error {
	onCard := g.trainer() == trainOnCard
	if onCard {
		cycles := 0
		for i := range g.frames {
			cycles = max(cycles, int(g.frames[i].Cycles))
		}
		for first := 0; first < cycles; first += launchSamples {
			p := &trainParams{g.from(0), uint32(len(g.frames)), uint32(first), launchSamples}
			blocks := (len(g.frames) + trainWarps - 1) / trainWarps
			if err := launch(g.card, g.lane.Stream(0), "nq_train", [3]int{blocks}, 32*trainWarps, p); err != nil {
				return err
			}
		}
		if err := g.mark("train"); err != nil {
			return err
		}
	}
	if err := g.collect(); err != nil {
		return err
	}
	if onCard {
		return nil
	}
	all := make([]uint32, maxEntries*len(g.problems))
	g.pool.Each(len(g.problems), func(i int) {
		copy(all[maxEntries*i:], train(g.problems[i], g.options.sample))
	})
	if err := g.lane.Stream(0).Upload(g.entries, 0, asBytes(all)); err != nil {
		return err
	}
	return g.mark("train")
}

// collect lists the occupied bins.
func (g *batch) collect() error {
	if g.options.refine == 0 {
		return nil
	}
	s := g.lane.Stream(1)
	for lo := 0; lo < len(g.frames); lo += binsTogether {
		hi := min(len(g.frames), lo+binsTogether)
		if err := s.Fill(g.bins, 0, g.bins.Size, 0); err != nil {
			return err
		}
		p := &listParams{g.from(lo)}
		for _, k := range []struct {
			name    string
			threads int
		}{
			{"nq_bins", (most(g.frames[lo:hi]) + threadColours - 1) / threadColours},
			{"nq_count_bins", 32 * binParts},
			{"nq_list_bins", 32 * binParts},
		} {
			if err := launch(g.card, s, k.name, [3]int{(k.threads + cardThreads - 1) / cardThreads, hi - lo}, cardThreads, p); err != nil {
				return err
			}
		}
	}
	return g.mark("bins")
}

// refine moves the entries to where they serve best, and maps the colours to them.
func (g *batch) refine() error {
	s := g.lane.Stream(0)
	if err := g.follow(0, 1); err != nil {
		return err
	}
	if n := g.options.refine; n > 0 {
		if err := launch(g.card, s, "nq_refine", [3]int{len(g.frames)}, refineThreads, &refineParams{g.from(0), uint32(n)}); err != nil {
			return err
		}
		if err := g.mark("refine"); err != nil {
			return err
		}
	}
	if g.downAt == 0 {
		return nil
	}
	blocks := (most(g.frames) + threadColours*cardThreads - 1) / (threadColours * cardThreads)
	if err := launch(g.card, s, "nq_map", [3]int{blocks, len(g.frames)}, cardThreads, &listParams{g.from(0)}); err != nil {
		return err
	}
	return g.mark("map")
}

// fetch brings the solutions to the host.
func (g *batch) fetch() ([]solution, error) {
	out := make([]solution, len(g.problems))
	g.pool.Each(len(out), func(i int) {
		if p := g.problems[i]; p.mapped {
			// While the card works, the system finds the memory.
			out[i].index = make([]uint8, p.n())
			for at := 0; at < p.n(); at += os.Getpagesize() {
				out[i].index[at] = 0
			}
		}
	})
	for i, p := range g.problems {
		if p.mapped {
			g.down = append(g.down, stretch{int(g.frames[i].Index - g.index.Ptr), out[i].index})
		}
	}
	if g.downAt > 0 {
		if err := g.download(g.index, g.down, g.downAt); err != nil {
			return nil, err
		}
	}
	all := make([]uint32, maxEntries*len(g.problems))
	if err := g.download(g.entries, []stretch{{0, asBytes(all)}}, g.entries.Size); err != nil {
		return nil, err
	}
	for i, p := range g.problems {
		out[i].entries = all[maxEntries*i:][:p.entries:p.entries]
	}
	return out, g.mark("download")
}
