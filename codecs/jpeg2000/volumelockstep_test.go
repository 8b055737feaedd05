package jpeg2000

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// oddVolume is a random volume with a random coding.
func oddVolume(rng *rand.Rand) (*raster.Image, volume.Coding) {
	side := func(n int) int { return 1 + rng.IntN(1+rng.IntN(n)) }
	m := raster.New(side(80), side(80), side(40), 1+rng.IntN(4), 1+rng.IntN(16))
	m.Signed = rng.IntN(4) == 0
	kind, mask := rng.IntN(4), 1<<m.Bits-1
	for i := range m.Samples() {
		x, y := i/m.Channels%m.Width, i/m.Channels/m.Width
		v := []int{rng.IntN(mask + 1), (x + 2*y + rng.IntN(4)) & mask, x / 9 % 2 * mask, mask / 2}[kind]
		if m.Signed {
			v -= (mask + 1) / 2
		}
		if m.Bits <= 8 {
			m.Pix[i] = byte(v)
		} else {
			m.Uint16()[i] = uint16(v)
		}
	}
	planar := rng.IntN(5)
	c := volume.Coding{Levels: [3]int{planar, planar, rng.IntN(planar + 1)}}
	for i := range c.BlockExp {
		c.BlockExp[i] = 2 + rng.IntN(5)
	}
	if rng.IntN(2) == 0 {
		c.BlockExp[2] = rng.IntN(3)
	}
	return m, c
}

// referenceArray are the coefficients of a component of a volume: F-9 and F-10 of Part 1 line
// by line, of each level along x, y and z, with the low-pass ones in front.
func referenceArray(m *raster.Image, component int, c *volume.Coding) []int32 {
	flat := *m
	flat.Height, flat.Depth = m.Height*m.Depth, 1
	size := codestream.Size{Image: image.Rect(0, 0, m.Width, flat.Height), Tile: image.Pt(m.Width, flat.Height)}
	params := codestream.Params{MCT: volume.Transformed(m.Shape)}
	for range m.Channels {
		size.Components = append(size.Components, codestream.Component{Bits: m.Bits, Signed: m.Signed, Step: image.Pt(1, 1)})
		params.Components = append(params.Components, codestream.Coding{Transform: codestream.Reversible53, BlockExp: image.Pt(6, 6),
			Quantization: codestream.Quantization{Steps: []codestream.Step{{Exponent: m.Bits}}}})
	}
	v := referencePlanes(&deviceTile{image: &flat, tile: size.NewTile(0, &params), coloured: params.MCT})[component].Samples
	at := func(x, y, z int) *int32 { return &v[(z*m.Height+y)*m.Width+x] }
	n := [3]int{m.Width, m.Height, m.Depth}
	for level := range c.Levels[0] {
		for z := range n[2] {
			for y := range n[1] {
				referenceLine(n[0], func(i int) *int32 { return at(i, y, z) })
			}
			for x := range n[0] {
				referenceLine(n[1], func(i int) *int32 { return at(x, i, z) })
			}
		}
		if level < c.Levels[2] {
			for y := range n[1] {
				for x := range n[0] {
					referenceLine(n[2], func(i int) *int32 { return at(x, y, i) })
				}
			}
			n[2] = (n[2] + 1) / 2
		}
		n[0], n[1] = (n[0]+1)/2, (n[1]+1)/2
	}
	return v
}

// referenceLine splits a line.
func referenceLine(n int, at func(i int) *int32) {
	if n == 1 {
		return
	}
	line := make([]int32, n)
	for i := range line {
		line[i] = *at(i)
	}
	extended := func(i int) int32 {
		if i < 0 {
			i = -i
		}
		if i >= n {
			i = 2*(n-1) - i
		}
		return line[i]
	}
	for i := 1; i < n; i += 2 {
		line[i] -= (extended(i-1) + extended(i+1)) >> 1
	}
	for i := 0; i < n; i += 2 {
		line[i] += (extended(i-1) + extended(i+1) + 2) >> 2
	}
	for i, v := range line {
		*at(i/2 + i%2*((n+1)/2)) = v
	}
}

// The steps of volumes on a device give, after every step, what slow ones give.
func TestVolumesInLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches, members := 10, 12
	if testing.Short() {
		batches, members = 2, 4
	}
	for n := range batches {
		rng := rand.New(rand.NewPCG(uint64(n), 3))
		var images []*raster.Image
		var list []deviceVolume
		var layout gpu.Layout
		var parts []gpu.Part
		for range members {
			m, c := oddVolume(rng)
			images = append(images, m)
			v := deviceVolume{shape: m.Shape, samples: layout.Take(m.Size()), coding: c, coloured: volume.Transformed(m.Shape)}
			list, parts = append(list, v), append(parts, gpu.Part{At: v.samples, Bytes: m.Pix})
		}
		err := dev.Do(t.Context(), func(l *gpu.Lane) error {
			b := newVolumeBatch(dev, l, pool.New())
			if err := l.Room(&b.batch.samples, layout.Size); err != nil {
				return err
			}
			if err := b.staging.Upload(b.batch.samples, layout.Size, parts); err != nil {
				return err
			}
			if err := b.take(list); err != nil {
				return err
			}
			return lockstepVolumes(t, b, images)
		})
		if err != nil {
			t.Fatalf("batch %d: %v", n, err)
		}
	}
	t.Logf("%d batches of %d volumes on %s", batches, members, dev.Name())
}

func lockstepVolumes(t *testing.T, b *volumeBatch, images []*raster.Image) error {
	blocks, err := b.encode(t.Context())
	if err != nil {
		return err
	}
	numbers, err := b.numbers()
	if err != nil {
		return err
	}
	files := make([][]byte, len(images))
	for i, m := range images {
		v := &b.volumes[i]
		arrays := make([][]int32, m.Channels)
		for c := range arrays {
			arrays[c] = referenceArray(m, c, &v.coding)
			first := int(b.arrays[v.first+c].Coefficients-b.memory.Ptr) / 4
			for k, want := range arrays[c] {
				if got := numbers[first+k]; got != want {
					return fmt.Errorf("%s, %+v: coefficient %d of component %d is %d, want %d", m.Shape, v.coding, k, c, got, want)
				}
			}
		}
		k := 0
		var e bitplane.Encoder
		for p := range v.coding.Places(m.Shape) {
			at := (p.Origin[2]*m.Height+p.Origin[1])*m.Width + p.Origin[0]
			want := e.EncodeSlices(arrays[p.Component][at:], m.Width, m.Width*m.Height, p.Extent[0], p.Extent[1], p.Extent[2], p.Orientation, 0)
			if got := blocks[i][k]; got.Planes != want.Planes || got.Passes != len(want.Passes) || !bytes.Equal(got.Data, want.Data) {
				return fmt.Errorf("%s, %+v: code-block %d: %d bit-planes, %x, want %d, %x", m.Shape, v.coding, k, got.Planes, got.Data, want.Planes, want.Data)
			}
			k++
		}
		files[i] = v.coding.File(m, blocks[i])
	}
	if b.result != nil {
		b.result.Free()
		b.result = nil
	}
	var lists []*passList
	for i, f := range files {
		packets, err := volume.ReadPackets(f)
		if err != nil {
			return err
		}
		blocks, ok := b.passBlocks(&b.volumes[i], packets)
		if !ok {
			return fmt.Errorf("%s: a code-block counts as malformed", images[i].Shape)
		}
		lists = append(lists, blocks)
	}
	if err := b.decode(t.Context(), lists); err != nil {
		return err
	}
	defer b.result.Free()
	for i, m := range images {
		if !bytes.Equal(b.result.Bytes[b.volumes[i].samples:][:m.Size()], m.Pix) {
			return fmt.Errorf("%s, %+v: samples differ", m.Shape, b.volumes[i].coding)
		}
	}
	return nil
}

// Volumes of Part 10 are encoded and decoded on a device to what the CPU gives, with every
// effort, whatever the size of the code-blocks.
func TestADeviceTakesPart10(t *testing.T) {
	dev := gputest.Device(t, nil)
	before := leastLarge
	defer func() { leastLarge = before }()
	leastLarge.encode, leastLarge.decode = 0, 0
	images := volumes()
	options := [][]string{{"container=jp3d", "effort=fast"}, {"container=jp3d"}}
	if !testing.Short() {
		options = append(options, []string{"container=jp3d", "effort=best"})
	}
	sameOnDevice(t, dev, images, options)
	leastLarge = before
	sameOnDevice(t, dev, images[:2], options[1:2]) // on the CPU
}
