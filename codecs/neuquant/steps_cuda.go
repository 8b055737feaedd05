package neuquant

import (
	"context"
	"os"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/sha256batch"
)

// deviceSteps runs the steps on a device: its lanes take batches of problems, so that the
// copies of one batch run beside the kernels of another.
type deviceSteps struct {
	device *gpu.Device
	pool   *pool.Pool

	trainer  trainer           // who trains
	digests  bool              // of what the files decode to are wanted
	most     int               // problems of a batch; 0: as many as serve best
	parseAll bool              // even where the cores would be sooner
	note     func(what string) // told what has just ended, step by step; nil: nobody
}

const (
	// mostColours of a problem keep every sum that the bins of a device count below 2^32
	// (bins.cuh); a batch has as many at most.
	mostColours = 1<<27 - 1

	// A batch of leastBatch problems takes no longer than a smaller one, since training is
	// a chain of samples, and with mostBatch every multiprocessor of an H200 trains; a call
	// makes some batches (BenchmarkCardBatch).
	leastBatch, mostBatch = 64, 512
	batchesOfCall         = 6
)

// batching divides n problems into batches of like size: the cores would train a small rest.
func (d *deviceSteps) batching(n int) gpu.Batching {
	most := d.most
	if most == 0 {
		most = min(max((n+batchesOfCall-1)/batchesOfCall, leastBatch), mostBatch)
		batches := max(1, (n+most-1)/most)
		most = max(1, (n+batches-1)/batches)
	}
	return gpu.Batching{Most: mostColours, Items: most}
}

func (d *deviceSteps) solve(ctx context.Context, list []problem, o *Options) []solution {
	out := make([]solution, len(list))
	onCPU := func(items []int) {
		left := make([]problem, len(items))
		for j, i := range items {
			left[j] = list[i]
		}
		for j, s := range (cpuSteps{d.pool}).solve(ctx, left, o) {
			out[items[j]] = s
		}
	}
	var items, left []int
	for i := range list {
		if list[i].entries == 1 || list[i].n() > mostColours {
			left = append(left, i)
			continue
		}
		items = append(items, i)
	}
	batches := d.batching(len(items)).Divide(items, func(i int) int { return list[i].n() })
	d.device.Run(ctx, batches, gpu.Work{
		Device: func(l *gpu.Lane, items []int) error {
			b := &batch{
				deviceSteps: d, lane: l, options: o,
				staging: gpu.Staging{Lane: l, Spans: d.pool.Spans},
			}
			for _, i := range items {
				b.problems = append(b.problems, &list[i])
			}
			solved, err := b.solve(ctx)
			for j, s := range solved {
				out[items[j]] = s
			}
			return err
		},
		CPU: onCPU,
		Failed: func(items []int, err error) {
			for _, i := range items {
				out[i] = solution{err: err}
			}
		},
	})
	onCPU(left)
	return out
}

// batch is problems that a lane solves together: every kernel runs once for all of them.
// Training is a chain of samples, whose length decides how long it takes for one problem
// or for a thousand; the bins are made beside it, in the other stream.
type batch struct {
	*deviceSteps
	lane     *gpu.Lane
	staging  gpu.Staging
	options  *Options
	problems []*problem
	entry    []deviceProblem // of each problem

	list    *gpu.Buffer // of the entries
	colours *gpu.Buffer
	palette *gpu.Buffer // maxEntries of each problem
	index   *gpu.Buffer
	bins    *gpu.Buffer // of binsTogether problems
	network *gpu.Buffer
	found   *gpu.Buffer // the occupied bins
	uses    *gpu.Buffer // maxEntries counters of each problem with a width
	rows    *gpu.Buffer

	pictures *sha256batch.Pictures // what decoders make of the indices

	up, down           []gpu.Part // of colours, of index
	upBytes, downBytes int

	withRows  []int // problems that may have rows, by their numbers
	rowsBytes int   // of all rows
}

const (
	// binsTogether is how many problems have bins at a time, 4 MiB each of which little is touched: enough to fill a device.
	binsTogether  = 32
	binBytes      = 16 << binBits
	alphaBytes    = 4 << binBits
	occupiedBytes = (1 << binBits) / 8

	// launchSamples bounds the training of a launch: at 226 ns a sample (deviceSample)
	// to 0.12 s.
	launchSamples = 1 << 19
)

// mark tells that what began with the last mark has ended.
func (d *deviceSteps) mark(l *gpu.Lane, what string) error {
	if d.note == nil {
		return nil
	}
	err := l.Sync()
	d.note(what)
	return err
}

// solve answers the problems.
func (b *batch) solve(ctx context.Context) ([]solution, error) {
	for _, step := range []func() error{b.place, b.load, b.train, b.refine} {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.fetch()
}

// place takes memory.
func (b *batch) place() error {
	var colours, index, networks, found, uses, rows gpu.Layout
	b.entry = make([]deviceProblem, len(b.problems))
	binned, alphas := 0, 0 // bytes of all bins of a problem
	for i, p := range b.problems {
		e := &b.entry[i]
		n := p.n()
		r := newRates(n, p.entries, b.options.sample)
		e.N, e.K = uint32(n), uint32(p.entries)
		e.Cycle, e.Cycles = uint32(r.cycle), uint32(r.cycles)
		e.Stride, e.Decay = uint32(r.stride), uint32(r.decay)
		if p.opaque {
			e.Opaque = 1
		}
		bytes, at := p.samples, &e.Samples
		if p.values != nil {
			bytes, at = gpu.Bytes(p.values), &e.Values
		}
		// The last group of four colours may end behind the bytes that Take rounds up to.
		*at = gpu.Ptr(colours.Take(len(bytes) + 3*3))
		b.up = append(b.up, gpu.Part{At: int(*at), Bytes: bytes})
		if p.mapped {
			e.Index = gpu.Ptr(index.Take(n))
		}
		if p.width > 0 {
			b.withRows = append(b.withRows, i)
			e.Width, e.Uses, e.Rows = uint32(p.width), gpu.Ptr(uses.Take(4*maxEntries)), gpu.Ptr(rows.Take(p.rowsBytes()))
		}
		e.Network = gpu.Ptr(networks.Take(4 * networkWords))
		if b.options.refine == 0 {
			continue
		}
		binned = binBytes + occupiedBytes
		if !p.opaque {
			alphas = alphaBytes
		}
		most := min(n, 1<<binBits)
		e.Counts = gpu.Ptr(found.Take(4 * (binParts + 1)))
		e.Colours, e.Weights, e.Numbers = gpu.Ptr(found.Take(4*most)), gpu.Ptr(found.Take(4*most)), gpu.Ptr(found.Take(4*most))
		e.Rests, e.Nearest = gpu.Ptr(found.Take(16*most)), gpu.Ptr(found.Take(most))
	}
	b.upBytes, b.downBytes, b.rowsBytes = colours.Size, index.Size, rows.Size
	together := min(len(b.problems), binsTogether)
	for _, r := range []struct {
		buffer **gpu.Buffer
		size   int
	}{
		{&b.colours, colours.Size}, {&b.palette, 4 * maxEntries * len(b.problems)}, {&b.index, index.Size},
		{&b.network, networks.Size}, {&b.found, found.Size}, {&b.bins, together * (binned + alphas)},
		{&b.uses, uses.Size}, {&b.rows, rows.Size},
	} {
		if err := b.lane.Room(r.buffer, r.size); err != nil {
			return err
		}
	}
	for i, p := range b.problems {
		e := &b.entry[i]
		if p.values != nil {
			e.Values += b.colours.Ptr
		} else {
			e.Samples += b.colours.Ptr
		}
		if p.mapped {
			e.Index += b.index.Ptr
		}
		if p.width > 0 {
			e.Uses, e.Rows = e.Uses+b.uses.Ptr, e.Rows+b.rows.Ptr
		}
		e.Entries = b.palette.Ptr + gpu.Ptr(4*maxEntries*i)
		e.Network += b.network.Ptr
		if b.options.refine == 0 {
			continue
		}
		e.Bins = b.bins.Ptr + gpu.Ptr(i%together*binBytes)
		e.Occupied = b.bins.Ptr + gpu.Ptr(together*binBytes+i%together*occupiedBytes)
		if !p.opaque {
			e.Alphas = b.bins.Ptr + gpu.Ptr(together*(binBytes+occupiedBytes)+i%together*alphaBytes)
		}
		for _, at := range []*gpu.Ptr{&e.Counts, &e.Colours, &e.Weights, &e.Numbers, &e.Rests, &e.Nearest} {
			*at += b.found.Ptr
		}
	}
	return nil
}

// load brings the problems to the device. What comes back is zero before: downloads take
// whole buffers, and kernels write neither the entries that a palette does not have nor
// what lies between the indices of two problems.
func (b *batch) load() (err error) {
	for _, buffer := range []*gpu.Buffer{b.palette, b.index, b.uses, b.rows} {
		if err := b.lane.Stream(0).Fill(buffer, 0, buffer.Size, 0); err != nil {
			return err
		}
	}
	if err := b.placePictures(); err != nil {
		return err
	}
	if b.list, err = b.lane.Stream(0).Put(gpu.Bytes(b.entry)); err != nil {
		return err
	}
	if err := b.staging.Upload(b.colours, b.upBytes, b.up); err != nil {
		return err
	}
	if err := b.lane.Stream(1).Follow(b.lane.Stream(0)); err != nil { // for collect
		return err
	}
	return b.mark(b.lane, "upload")
}

// placePictures takes memory for those of which digests are wanted.
func (b *batch) placePictures() (err error) {
	heads, sizes := make([][]byte, len(b.problems)), make([]int, len(b.problems))
	for i, p := range b.problems {
		if heads[i] = p.head; b.digests && p.head != nil {
			sizes[i] = 3 * p.n()
		}
	}
	if b.pictures, err = sha256batch.NewPictures(b.lane, heads, sizes); err != nil {
		return err
	}
	for i := range b.entry {
		b.entry[i].Picture = b.pictures.At(i)
	}
	return nil
}

// from is the address of the list from problem i on.
func (b *batch) from(i int) gpu.Ptr { return b.list.Ptr + gpu.Ptr(len(gpu.Bytes(b.entry[:i]))) }

// train makes entries of the samples, and the bins beside.
func (b *batch) train() error {
	onDevice := b.chooseTrainer() == trainOnDevice
	if onDevice {
		samples := 0
		for i := range b.entry {
			samples = max(samples, int(b.entry[i].Cycles))
		}
		for first := 0; first < samples; first += launchSamples {
			p := &trainParams{List: b.from(0), Count: uint32(len(b.entry)), First: uint32(first), Most: launchSamples}
			if err := gpu.LaunchFor(&kernels, b.lane.Stream(0), "nq_train", b.entry, p); err != nil {
				return err
			}
		}
		if err := b.mark(b.lane, "train"); err != nil {
			return err
		}
	}
	if err := b.collect(); err != nil {
		return err
	}
	if onDevice {
		return nil
	}
	all := make([]uint32, maxEntries*len(b.problems))
	b.pool.Each(len(b.problems), func(i int) {
		copy(all[maxEntries*i:], train(b.problems[i], b.options.sample))
	})
	if err := b.lane.Stream(0).Upload(b.palette, 0, gpu.Bytes(all)); err != nil {
		return err
	}
	return b.mark(b.lane, "train")
}

// collect lists the occupied bins.
func (b *batch) collect() error {
	if b.options.refine == 0 {
		return nil
	}
	s := b.lane.Stream(1)
	if err := s.Fill(b.bins, 0, b.bins.Size, 0); err != nil {
		return err
	}
	for lo := 0; lo < len(b.entry); lo += binsTogether {
		hi := min(len(b.entry), lo+binsTogether)
		for _, kernel := range []string{"nq_bins", "nq_count_bins", "nq_list_bins"} {
			if err := gpu.LaunchFor(&kernels, s, kernel, b.entry[lo:hi], &listParams{b.from(lo)}); err != nil {
				return err
			}
		}
	}
	return b.mark(b.lane, "bins")
}

// refine moves the entries to where they serve best, and maps the colours to them.
func (b *batch) refine() error {
	s := b.lane.Stream(0)
	if err := s.Follow(b.lane.Stream(1)); err != nil {
		return err
	}
	if n := b.options.refine; n > 0 {
		if err := gpu.LaunchFor(&kernels, s, "nq_refine", b.entry, &refineParams{b.from(0), uint32(n)}); err != nil {
			return err
		}
		if err := b.mark(b.lane, "refine"); err != nil {
			return err
		}
	}
	if b.downBytes == 0 {
		return nil
	}
	if err := gpu.LaunchFor(&kernels, s, "nq_map", b.entry, &listParams{b.from(0)}); err != nil {
		return err
	}
	if err := b.mark(b.lane, "map"); err != nil {
		return err
	}
	if len(b.withRows) > 0 {
		if err := gpu.LaunchFor(&kernels, s, "nq_census", b.entry, &listParams{b.from(0)}); err != nil {
			return err
		}
	}
	if b.pictures.None() {
		return nil
	}
	if err := gpu.LaunchFor(&kernels, s, "nq_expand", b.entry, &listParams{b.from(0)}); err != nil {
		return err
	}
	return b.pictures.Start()
}

// fetch brings the solutions to the host.
func (b *batch) fetch() ([]solution, error) {
	out := make([]solution, len(b.problems))
	b.pool.Each(len(out), func(i int) {
		p := b.problems[i]
		var memory []byte
		switch {
		case p.width > 0:
			memory = codec.Uncleared(p.rowsBytes())
			out[i].file = &fileRows{rows: memory}
		case p.mapped:
			memory = codec.Uncleared(p.n())
			out[i].index = memory
		}
		// While the device works, the system finds the memory.
		for at := 0; at < len(memory); at += os.Getpagesize() {
			memory[at] = 0
		}
	})
	all := make([]uint32, maxEntries*len(b.problems))
	if err := b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(all)}}, b.palette, b.palette.Size); err != nil {
		return nil, err
	}
	for i, p := range b.problems {
		out[i].entries = all[maxEntries*i:][:p.entries:p.entries]
	}
	if err := b.makeRows(out); err != nil {
		return nil, err
	}
	for i, s := range out {
		if s.index != nil {
			b.down = append(b.down, gpu.Part{At: int(b.entry[i].Index - b.index.Ptr), Bytes: s.index})
		}
	}
	if len(b.down) > 0 {
		if err := b.staging.Download(b.down, b.index, b.downBytes); err != nil {
			return nil, err
		}
	}
	digests, err := b.pictures.End()
	if err != nil {
		return nil, err
	}
	for i, d := range digests {
		out[i].digests = d
	}
	return out, b.mark(b.lane, "download")
}

// rowsBytes is how long the rows of a PNG file of 8 bits are, each behind its filter.
func (p *problem) rowsBytes() int { return p.n() / p.width * (1 + p.width) }

// makeRows makes the rows of files, in the order of entries that the census asks for. Where a file has fewer bits, or the census not as
// many pixels as the picture, there are none, and the indices are wanted.
func (b *batch) makeRows(out []solution) error {
	if len(b.withRows) == 0 {
		return nil
	}
	uses := make([]uint32, maxEntries*len(b.withRows))
	if err := b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(uses)}}, b.uses, 4*len(uses)); err != nil {
		return err
	}
	places := make([][maxEntries]uint8, len(b.withRows))
	b.pool.Each(len(b.withRows), func(j int) {
		i := b.withRows[j]
		p, f, pixels := b.problems[i], out[i].file, 0
		for _, n := range uses[maxEntries*j:][:p.entries] {
			f.census = append(f.census, int(n))
			pixels += int(n)
		}
		f.list = sorted(out[i].entries, f.census)
		if pixels != p.n() || depth(len(f.list)) < 8 {
			out[i].file, out[i].index = nil, make([]uint8, p.n())
		}
		for at, v := range f.list {
			places[j][v] = uint8(at)
		}
	})
	s := b.lane.Stream(0)
	put, err := s.Put(gpu.Bytes(places))
	if err != nil {
		return err
	}
	var list []deviceProblem
	var down []gpu.Part
	for j, i := range b.withRows {
		if out[i].file == nil {
			continue
		}
		e := b.entry[i]
		e.Places = put.Ptr + gpu.Ptr(maxEntries*j)
		list, down = append(list, e), append(down, gpu.Part{At: int(e.Rows - b.rows.Ptr), Bytes: out[i].file.rows})
	}
	if len(list) == 0 {
		return nil
	}
	entries, err := s.Put(gpu.Bytes(list))
	if err != nil {
		return err
	}
	if err := gpu.LaunchFor(&kernels, s, "nq_rows", list, &listParams{entries.Ptr}); err != nil {
		return err
	}
	return b.staging.Download(down, b.rows, b.rowsBytes)
}
