package neuquant

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
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
	d := &deviceSteps{device: run.Device, pool: workers}
	sets := together(batch, taken)
	// Who waits for the card keeps no core from working.
	pool.Of(min(len(sets), setsAtOnce)).Each(len(sets), func(s int) {
		encode(ctx, workers, d, batch, sets[s], o, out)
	})
	return out
}

// together divides images into sets of neighbours that a card takes in one go, whatever
// their sizes.
func together(batch []*raster.Image, items []int) [][]int {
	samples := func(i int) int { return batch[i].Samples() }
	all := 0
	for _, i := range items {
		all += samples(i)
	}
	return pool.Sets(items, min(max(all/setsOfBatch, leastSet), mostSet), len(items), samples)
}

// A batch makes some sets, so that the files of one are written while a card solves
// another, but none so small that a card has solved it in no less time than a larger one:
// training takes the same time for a thousand images as for one.
const (
	setsOfBatch = 4
	setsAtOnce  = 3
	leastSet    = 64 << 20 // samples
	mostSet     = 1 << 30
)

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
	cuts      []*cut // one, or one for each frame
	solutions [][]solution
}

// encode makes the files of the images in set, whose problems d solves together.
func encode(ctx context.Context, c *pool.Pool, d steps, batch []*raster.Image, set []int, o *Options, out []codec.Encoded) {
	jobs := make([]job, len(set))
	c.Each(len(set), func(j int) { jobs[j].cut(batch[set[j]], o) })
	var list []problem
	for j := range jobs {
		for _, cut := range jobs[j].cuts {
			for _, p := range cut.problems() {
				p.mapped = o.dither == noDither
				list = append(list, p.problem)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		for _, i := range set {
			out[i].Err = err
		}
		return
	}
	solved := d.solve(ctx, list, o)
	for j := range jobs {
		for _, cut := range jobs[j].cuts {
			n := len(cut.problems())
			jobs[j].solutions = append(jobs[j].solutions, solved[:n])
			solved = solved[n:]
		}
	}
	c.Each(len(set), func(j int) { out[set[j]] = jobs[j].file(ctx, c, o) })
}

// cut divides an image, or each of its frames, into problems.
func (j *job) cut(m *raster.Image, o *Options) {
	j.image = m
	if !o.own {
		j.cuts = []*cut{newCut(m, o)}
		return
	}
	for z := range m.Depth {
		j.cuts = append(j.cuts, newCut(m.Slice(z), o))
	}
}

// file makes the file of an image whose problems are solved.
func (j *job) file(ctx context.Context, c *pool.Pool, o *Options) codec.Encoded {
	p, facts, err := j.indexed(ctx, c, o)
	if err != nil {
		return codec.Encoded{Err: err}
	}
	write := p.png
	if o.gif {
		write = p.gif
	}
	data, err := write()
	if err != nil {
		return codec.Encoded{Err: err}
	}
	return codec.Encoded{Data: data, Facts: facts}
}

// indexed makes the palettes and the indices of an image, and says how many entries the
// largest palette uses and whether the image is whole.
func (j *job) indexed(ctx context.Context, c *pool.Pool, o *Options) (*indexed, []codec.Field, error) {
	m := j.image
	p := &indexed{width: m.Width, height: m.Height, channels: m.Channels}
	if !o.strip {
		p.meta = m.Meta
	}
	most, exact := 0, true
	for i, d := range j.cuts {
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
		most = max(most, used(frames))
		exact = exact && d.exact != nil && !d.changed
	}
	return p, []codec.Field{
		{Name: "colours", Value: strconv.Itoa(most)},
		{Name: "exact", Value: strconv.FormatBool(exact)},
	}, nil
}

// finish makes the palette and the indices of a cut of m, of whose problems solved are
// the solutions.
func (d *cut) finish(ctx context.Context, c *pool.Pool, o *Options, m *raster.Image, solved []solution) (palette []uint32, index []uint8, err error) {
	if d.exact != nil {
		return d.exact, places(&d.all, d.exact), nil
	}
	entries, indices := make([][]uint32, len(d.parts)), make([][]uint8, len(d.parts))
	for i := range d.parts {
		p := &d.parts[i]
		if p.known != nil {
			entries[i] = p.known
			if o.dither == noDither {
				indices[i] = places(&p.problem, p.known)
			}
			continue
		}
		if err := solved[0].err; err != nil {
			return nil, nil, err
		}
		entries[i], indices[i] = solved[0].entries, solved[0].index
		solved = solved[1:]
	}
	palette, first := d.palette(entries)
	if o.dither == noDither {
		return palette, d.join(indices, first), nil
	}
	index, err = d.dither(ctx, c, o, m.Width, m.Height, entries, first)
	return palette, index, err
}
