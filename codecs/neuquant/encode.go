package neuquant

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Encode makes one file per image. See the package comment for what it takes and
// guarantees.
func (c Codec) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	batch := codec.Images(items)
	out := make([]codec.Encoded, len(batch))
	o, err := resolve(opts)
	info := c.Info()
	if err == nil {
		info = info.With(o)
	}
	var taken []int
	for i, m := range batch {
		if out[i].Err = err; err == nil {
			out[i].Err = info.Check(m.Shape)
		}
		if out[i].Err == nil && o.gif && !o.threshold && partlyTransparent(m) {
			out[i].Err = codec.Unsupportedf("neuquant: the picture has partly transparent pixels, which GIF cannot hold: -o format=png keeps them, -o alpha=threshold makes them transparent or opaque")
		}
		if out[i].Err == nil {
			taken = append(taken, i)
		}
	}
	workers := run.Cores()
	if run.Device == nil {
		workers.Each(len(taken), func(j int) {
			encode(ctx, workers, cpuSteps{workers}, batch, taken[j:j+1], o, out)
		})
		return out
	}
	onDevice := &deviceSteps{device: run.Device, pool: workers, digests: run.Digests}
	samples := 0
	for _, i := range taken {
		samples += batch[i].Samples()
	}
	share, end := run.Share(gpu.Batching{Calls: batchesAlone})
	defer end()
	batches := batching(len(taken), samples, share.Calls).Divide(taken, func(i int) int { return batch[i].Samples() })
	// Goroutines that wait for the device do not count as workers.
	pool.Of(min(len(batches), batchesAtOnce)).Each(len(batches), func(b int) {
		encode(ctx, workers, onDevice, batch, batches[b], o, out)
	})
	return out
}

// partlyTransparent reports whether a pixel of m is neither opaque nor fully transparent.
func partlyTransparent(m *raster.Image) bool {
	if !m.Alpha() {
		return false
	}
	for i := m.Channels - 1; i < len(m.Pix); i += m.Channels {
		if a := m.Pix[i]; a != 0 && a != 255 {
			return true
		}
	}
	return false
}

// batching divides n images of so many samples together into at most count batches of like size, and more where these would be too
// large: the files of one are written while a device solves another, but none is so small that a device solves it
// in no less time than a larger one. Training takes the same time for some hundred images as
// for one, and 40 MiB are 53 images of 512 x 512.
func batching(n, samples, count int) gpu.Batching {
	const least, most = 40 << 20, 1 << 30
	size := min(max(samples/count, least), most)
	batches := max(1, (samples+size/2)/size)
	return gpu.Batching{Items: (n + batches - 1) / batches, Most: most}
}

// batchesAlone is how many batches a call makes at most that is alone on the device.
const batchesAlone = 4

// batchesAtOnce bounds the memory of problems that wait: one batch is read and one is
// written while a device solves a third.
const batchesAtOnce = 3

func resolve(opts codec.Options) (*Options, error) {
	if opts == nil {
		return &defaults, nil
	}
	o, ok := opts.(*Options)
	if !ok {
		return nil, fmt.Errorf("neuquant: options of another codec: %T", opts)
	}
	return o, nil
}

// job is an image on its way to a file.
type job struct {
	image     *raster.Image
	scopes    []*paletteScope // one, or one for each frame
	solutions [][]solution

	// Of the PNG file that is made of it.
	indexed *indexed
	list    []uint8 // entries of the palette in their order there
	rows    []byte
}

// encode makes the files of the images with the numbers items, whose problems s solves
// together.
func encode(ctx context.Context, c *pool.Pool, s steps, batch []*raster.Image, items []int, o *Options, out []codec.Encoded) {
	jobs := make([]job, len(items))
	c.Each(len(items), func(j int) { jobs[j].readScopes(batch[items[j]], o) })
	var list []problem
	for j := range jobs {
		for _, scope := range jobs[j].scopes {
			for _, p := range scope.problems() {
				p.mapped = o.dither == noDither && scope.counted == nil
				if m := jobs[j].image; p.mapped && !o.gif && len(p.samples) == len(m.Pix) {
					p.head, p.width = m.HashHead(), m.Width
				}
				list = append(list, p.problem)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		for _, i := range items {
			out[i].Err = err
		}
		return
	}
	solved := s.solve(ctx, list, o)
	for j := range jobs {
		for _, scope := range jobs[j].scopes {
			n := len(scope.problems())
			jobs[j].solutions = append(jobs[j].solutions, solved[:n])
			solved = solved[n:]
		}
	}
	c.Each(len(items), func(j int) { out[items[j]] = jobs[j].place(ctx, c, o) })
	if o.gif {
		return
	}
	rows := make([][]byte, len(items))
	for j := range jobs {
		rows[j] = jobs[j].rows
	}
	streams := s.deflate(ctx, rows)
	c.Each(len(items), func(j int) {
		e := &out[items[j]]
		if e.Err != nil {
			return
		}
		data, err := jobs[j].png(&streams[j])
		if err != nil {
			*e = codec.Encoded{Err: err}
			return
		}
		e.Data = data
	})
}

// readScopes reads an image, or each of its frames, and divides it into problems.
func (j *job) readScopes(m *raster.Image, o *Options) {
	j.image = m
	if !o.own {
		j.scopes = []*paletteScope{newPaletteScope(m, o)}
		return
	}
	for z := range m.Depth {
		j.scopes = append(j.scopes, newPaletteScope(m.Slice(z), o))
	}
}

// place makes the GIF file of an image whose problems are solved, or the rows of its PNG file.
func (j *job) place(ctx context.Context, c *pool.Pool, o *Options) codec.Encoded {
	if len(j.solutions) == 1 && len(j.solutions[0]) == 1 && j.solutions[0][0].file != nil {
		return j.placeRows(&j.solutions[0][0], o)
	}
	p, facts, err := j.index(ctx, c, o)
	if err != nil {
		return codec.Encoded{Err: err}
	}
	if o.gif {
		data, err := p.gif()
		if err != nil {
			return codec.Encoded{Err: err}
		}
		return codec.Encoded{Data: data, Facts: facts}
	}
	var decoded *codec.Digests
	if len(j.solutions) == 1 && len(j.solutions[0]) == 1 {
		decoded = j.solutions[0][0].digests
	}
	j.indexed, j.list = p, sorted(p.palettes[0], p.census(0))
	j.rows = p.rows(j.list)
	j.image, j.scopes, j.solutions = nil, nil, nil // what the rows are made of is not needed while they wait
	return codec.Encoded{Facts: facts, Decoded: decoded}
}

// png makes the PNG file of an image whose rows are deflated, or are left to it, and lets go of them.
func (j *job) png(d *deflated) ([]byte, error) {
	defer func() {
		*j = job{}
		d.free()
	}()
	if d.err != nil {
		return nil, d.err
	}
	return j.indexed.assemble(j.list, d.stream(j.rows))
}

// index makes the palettes and the indices of an image, and says how many entries the
// largest palette uses and whether the image is whole.
func (j *job) index(ctx context.Context, c *pool.Pool, o *Options) (*indexed, []codec.Field, error) {
	m, p, exact := j.image, j.newIndexed(o), true
	for i, d := range j.scopes {
		palette, index, err := d.finish(ctx, c, o, m, j.solutions[i])
		if err != nil {
			return nil, nil, err
		}
		var frames [][]uint8
		for n := m.Width * m.Height; len(index) > 0; index = index[n:] {
			frames = append(frames, index[:n])
		}
		p.palettes = append(p.palettes, palette)
		p.frames = append(p.frames, frames...)
		exact = exact && d.exact != nil && !d.changed
	}
	return p, p.facts(exact), nil
}

// newIndexed is the image without palettes and indices.
func (j *job) newIndexed(o *Options) *indexed {
	m := j.image
	p := &indexed{width: m.Width, height: m.Height, channels: m.Channels, timing: m.Meta.Animation}
	if !o.strip {
		p.meta = m.Meta
	}
	return p
}

// facts says how many entries the largest palette uses and whether the image is whole.
func (p *indexed) facts(whole bool) []codec.Field {
	most := 0
	for i := range p.palettes {
		used := 0
		for _, n := range p.census(i) {
			used += min(n, 1)
		}
		most = max(most, used)
	}
	return []codec.Field{
		{Name: "colours", Value: strconv.Itoa(most)},
		{Name: "exact", Value: strconv.FormatBool(whole)},
	}
}

// placeRows is place for an image of which a device has made the rows.
func (j *job) placeRows(s *solution, o *Options) codec.Encoded {
	p := j.newIndexed(o)
	p.palettes, p.counts = [][]uint32{s.entries}, [][]int{s.file.census}
	e := codec.Encoded{Facts: p.facts(false), Decoded: s.digests}
	j.indexed, j.list, j.rows = p, s.file.list, s.file.rows
	j.image, j.scopes, j.solutions = nil, nil, nil
	return e
}

// finish makes the palette and the indices of a scope of m, of whose problems solved are
// the solutions.
func (d *paletteScope) finish(ctx context.Context, c *pool.Pool, o *Options, m *raster.Image, solved []solution) (palette []uint32, index []uint8, err error) {
	if d.exact != nil {
		return d.exact, places(&d.all, d.exact), nil
	}
	entries, indices := make([][]uint32, len(d.parts)), make([][]uint8, len(d.parts))
	for i := range d.parts {
		p := &d.parts[i]
		if p.exact != nil {
			entries[i] = p.exact
			if o.dither == noDither && d.counted == nil {
				indices[i] = places(&p.problem, p.exact)
			}
			continue
		}
		if err := solved[0].err; err != nil {
			return nil, nil, err
		}
		entries[i], indices[i] = solved[0].entries, solved[0].index
		solved = solved[1:]
	}
	if d.counted != nil {
		if entries, err = d.refineExactly(ctx, c, entries, o.refine); err != nil {
			return nil, nil, err
		}
	}
	palette, first := d.palette(entries)
	switch {
	case o.dither == noDither && d.counted != nil:
		index, err = d.mapCounted(ctx, c, entries, first)
		return palette, index, err
	case o.dither == noDither:
		return palette, d.join(indices, first), nil
	}
	index, err = d.dither(ctx, c, o, m.Width, m.Height, entries, first)
	return palette, index, err
}
