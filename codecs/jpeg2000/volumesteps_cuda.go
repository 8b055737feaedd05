package jpeg2000

import (
	"context"
	"errors"
	"iter"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// Volumes of Part 10 on a device: all trials of the volumes of a batch go through together,
// the first of each, then the second, and so on. What is tried and chosen is package
// volume's, as on the CPU; the host puts files together.

// volumeBatching is the division of a call's volumes, in samples.
var volumeBatching = gpu.Batching{Calls: 4, Least: 64 << 20, Most: 256 << 20, Items: 4096}

// A code-block is a thread's, so that one of 64x64x64 takes 64 times as long as one of Part 1,
// be they few or many. Batches of code-blocks with more than smallBlock coefficients are
// done by the CPU's cores where they are fewer than 16 of these take as long for: on an H200
// some 350 to encode and 2,200 to decode. Tests change the numbers.
const smallBlock = 4096

var leastLarge = struct{ encode, decode int }{512, 2048}

// worthwhile says whether code-blocks of so many coefficients in all are for a device.
func worthwhile(blocks, coefficients, least int) bool {
	return blocks >= least || coefficients <= blocks*smallBlock
}

// volumeEncoder encodes the volumes of a call.
type volumeEncoder struct {
	device   *gpu.Device
	ctx      context.Context
	workers  *pool.Pool
	effort   volume.Effort
	items    []codec.Item
	searches []*volume.Search // by item, once a lane has done it; nil: the CPU has to
}

func (d *volumeEncoder) run(list []int, onCPU func([]int), out []codec.Encoded) {
	d.device.Run(d.ctx, d.batching().Divide(list, func(i int) int { return d.items[i].Image.Samples() }), gpu.Work{
		Device: d.encode,
		Host: func(list []int) {
			var left []int
			for _, i := range list {
				if s := d.searches[i]; s != nil {
					out[i] = codec.Encoded{Data: s.File, Err: s.Err}
				} else {
					left = append(left, i)
				}
			}
			onCPU(left)
		},
		CPU: onCPU,
		Failed: func(list []int, err error) {
			for _, i := range list {
				out[i] = codec.Encoded{Err: err}
			}
		},
	})
}

// batching is the division of a call's volumes: with large code-blocks as few batches as
// there can be.
func (d *volumeEncoder) batching() gpu.Batching {
	b := volumeBatching
	if d.effort != volume.Fast {
		b.Calls, b.Least = 1, b.Most
	}
	return b
}

// deviceSearch is the search for the coding of a volume of a batch.
type deviceSearch struct {
	search  *volume.Search
	samples int // where they begin in those of the batch
	next    func() (*volume.Trial, bool)
	trial   *volume.Trial // the current one
}

// encode encodes volumes, unless they are for the CPU.
func (d *volumeEncoder) encode(l *gpu.Lane, list []int) error {
	samples := 0
	for _, i := range list {
		samples += d.items[i].Image.Samples()
	}
	if d.effort != volume.Fast && !worthwhile(samples/volume.LargeBlock, samples, leastLarge.encode) {
		return nil
	}
	b := newVolumeBatch(d.device, l, d.workers)
	var layout gpu.Layout
	var parts []gpu.Part
	searches := make([]*deviceSearch, len(list))
	for k, i := range list {
		m := d.items[i].Image
		s := &deviceSearch{search: volume.NewSearch(m, d.effort), samples: layout.Take(m.Size())}
		var stop func()
		s.next, stop = iter.Pull(s.search.Trials())
		defer stop()
		searches[k] = s
		parts = append(parts, gpu.Part{At: s.samples, Bytes: m.Pix})
	}
	if err := l.Room(&b.batch.samples, layout.Size); err != nil {
		return err
	}
	if err := b.staging.Upload(b.batch.samples, layout.Size, parts); err != nil {
		return err
	}
	if err := d.try(b, searches); err != nil {
		if errors.Is(err, errTooSmall) {
			return nil // for the CPU
		}
		return err
	}
	for k, i := range list {
		d.searches[i] = searches[k].search
	}
	return nil
}

// try makes all trials of searches.
func (d *volumeEncoder) try(b *volumeBatch, searches []*deviceSearch) error {
	for {
		var active []*deviceSearch
		var volumes []deviceVolume
		for _, s := range searches {
			t, ok := s.next()
			if !ok {
				continue
			}
			s.trial = t
			shape := t.Image.Shape
			volumes = append(volumes, deviceVolume{
				shape: shape, samples: s.samples + t.First*(shape.Size()/shape.Depth), coding: t.Coding, coloured: volume.Transformed(shape),
			})
			active = append(active, s)
		}
		if len(active) == 0 {
			return nil
		}
		if err := b.take(volumes); err != nil {
			return err
		}
		blocks, err := b.encode(d.ctx)
		if err != nil {
			return err
		}
		d.workers.Each(len(active), func(k int) {
			t := active[k].trial
			t.File = t.Coding.File(t.Image, blocks[k])
		})
		if b.result != nil {
			b.result.Free()
			b.result = nil
		}
	}
}

// decodedVolume is a volume that a device decodes.
type decodedVolume struct {
	packets *volume.Packets
	samples []byte
	memory  *sharedHost
}

// volumeDecoder decodes the volumes of a call.
type volumeDecoder struct {
	device  *gpu.Device
	ctx     context.Context
	workers *pool.Pool
	files   [][]byte
	decoded []*decodedVolume // by file, once a lane has done it; nil: the CPU has to
}

func (d *volumeDecoder) run(list []int, out []codec.Decoded) {
	onCPU := func(list []int) {
		d.workers.Each(len(list), func(j int) {
			i := list[j]
			out[i].Image, out[i].Err = decode(d.ctx, codec.Run{Pool: d.workers}, d.files[i], codec.View{})
		})
	}
	samples := func(i int) int {
		h, err := volume.Read(d.files[i])
		if err != nil {
			return 1
		}
		return h.Samples()
	}
	d.device.Run(d.ctx, volumeBatching.Divide(list, samples), gpu.Work{
		Device: d.decode,
		Host: func(list []int) {
			var left []int
			for _, i := range list {
				if d.decoded[i] == nil {
					left = append(left, i)
				}
			}
			onCPU(left)
			for _, i := range list {
				if v := d.decoded[i]; v != nil {
					m := &raster.Image{Shape: v.packets.Shape, Pix: make([]byte, len(v.samples))}
					d.workers.Spans(len(v.samples), copyBytes, func(lo, hi int) { copy(m.Pix[lo:hi], v.samples[lo:hi]) })
					v.packets.Attach(m)
					out[i].Image = m
					v.memory.release()
				}
			}
		},
		CPU: onCPU,
		Failed: func(list []int, err error) {
			for _, i := range list {
				out[i] = codec.Decoded{Err: err}
			}
		},
	})
}

// prepare reads the packets of a file. It returns nil where the file is not one that a device
// decodes; whatever is wrong with it, the CPU finds too.
func (d *volumeDecoder) prepare(file []byte) *decodedVolume {
	h, err := volume.Read(file)
	if err != nil || d.ctx.Err() != nil {
		return nil
	}
	const leastExp, few = 8, 1 << 16 // lists of smaller code-blocks may take more memory than the samples
	if h.BlockExp[axisX]+h.BlockExp[axisY]+h.BlockExp[axisZ] < leastExp && h.Samples() > few {
		return nil
	}
	packets, err := volume.ReadPackets(file)
	if err != nil || packets.Transformed && packets.Channels < 3 {
		return nil
	}
	return &decodedVolume{packets: packets}
}

// decode decodes files, unless they are for the CPU.
func (d *volumeDecoder) decode(l *gpu.Lane, list []int) error {
	read := make([]*decodedVolume, len(list))
	d.workers.Each(len(list), func(k int) { read[k] = d.prepare(d.files[list[k]]) })
	var layout gpu.Layout
	var volumes []deviceVolume
	var numbers []int // in read
	for k, v := range read {
		if v != nil {
			numbers = append(numbers, k)
			p := v.packets
			volumes = append(volumes, deviceVolume{shape: p.Shape, samples: layout.Take(p.Size()), coding: p.Coding, coloured: p.Transformed})
		}
	}
	if len(volumes) == 0 {
		return nil
	}
	b := newVolumeBatch(d.device, l, d.workers)
	if err := l.Room(&b.batch.samples, layout.Size); err != nil {
		return err
	}
	if err := b.take(volumes); err != nil {
		return err
	}
	lists := make([]*passList, len(volumes))
	well := make([]bool, len(volumes))
	d.workers.Each(len(volumes), func(k int) { lists[k], well[k] = b.passBlocks(&volumes[k], read[numbers[k]].packets) })
	var taken []*passList
	blocks, coefficients := 0, 0
	for k, l := range lists {
		if well[k] {
			taken = append(taken, l)
			blocks += len(l.blocks)
			for i := range l.blocks {
				p := &l.blocks[i]
				coefficients += int(p.Width * p.Height * p.Depth)
			}
		}
	}
	if !worthwhile(blocks, coefficients, leastLarge.decode) {
		return nil
	}
	if err := b.decode(d.ctx, taken); err != nil {
		return err
	}
	memory := &sharedHost{host: b.result}
	for k := range volumes {
		if v := read[numbers[k]]; well[k] {
			v.samples, v.memory = b.result.Bytes[volumes[k].samples:][:v.packets.Size()], memory
			memory.left.Add(1)
			d.decoded[list[numbers[k]]] = v
		}
	}
	if memory.left.Load() == 0 {
		b.result.Free()
	}
	return nil
}
