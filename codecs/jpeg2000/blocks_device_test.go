package jpeg2000

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/bitplane/bitplanetest"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// Code-blocks of Part 1 of all styles, whole, cut, damaged and random, become the coefficients on
// a device that they become on the CPU.
func TestDamagedBlocksOnADevice(t *testing.T) {
	dev := gputest.Device(t, nil)
	calls, each := 4, 80
	if testing.Short() {
		calls, each = 1, 2
	}
	count := 0
	for call := range calls {
		var blocks []*codestream.Block
		for style := range codestream.BlockStyle(64) {
			for n := range each {
				most := 33
				if n%16 == 0 {
					most = 64
				}
				blocks = append(blocks, bitplanetest.Block(rand.New(rand.NewPCG(uint64(style), uint64(call*each+n))), style, most))
			}
		}
		rand.New(rand.NewPCG(uint64(call), 7)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		count += len(blocks)
		var got [][]int32
		err := dev.Do(t.Context(), func(l *gpu.Lane) (err error) {
			got, err = deviceDecodes(dev, l, blocks)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		different := 0
		for i, b := range blocks {
			want := decodedOnCPU(t, b, halfStep(i))
			for k := range want {
				if got[i][k] != want[k] {
					different++
					t.Errorf("call %d, block %d, %dx%d, %d bit-planes, style %#x: coefficient %d is %#x, want %#x", call, i, b.Width, b.Height, b.Planes-b.ZeroPlanes, b.Style, k, got[i][k], want[k])
					break
				}
			}
			if different > 20 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d code-blocks on %s", count, dev.Name())
}

// halfStep is what a device multiplies the coefficients of block i by, the bits of a float32; 0: they
// are integers.
func halfStep(i int) uint32 {
	if i%2 == 0 {
		return 0
	}
	return math.Float32bits(0.75)
}

// deviceDecodes decodes blocks on a device.
func deviceDecodes(dev *gpu.Device, l *gpu.Lane, blocks []*codestream.Block) ([][]int32, error) {
	b := newBatch(dev, l, pool.New(), nil)
	list, samples := newPassList(nil), 0
	for i, block := range blocks {
		if len(block.Segments) > 0 {
			s := &deviceSegment{planes: block.Planes - block.ZeroPlanes, style: block.Style, orientation: block.Orientation, list: block.Segments, step: halfStep(i)}
			list.add(gpu.Ptr(4*samples), uint32(block.Width), block.Width, block.Height, 1, s)
		}
		samples += block.Width * block.Height
	}
	list.components = []int{len(list.blocks)}
	memory, err := b.stream.Zeros(4 * samples)
	if err != nil {
		return nil, err
	}
	if err := b.decodePasses([]*passList{list}, func(int, int) gpu.Ptr { return memory.Ptr }); err != nil {
		return nil, err
	}
	all := make([]int32, samples)
	if err := b.staging.Download([]gpu.Part{{Bytes: gpu.Bytes(all)}}, memory, 4*samples); err != nil {
		return nil, err
	}
	var out [][]int32
	for _, block := range blocks {
		n := block.Width * block.Height
		out, all = append(out, all[:n]), all[n:]
	}
	return out, nil
}

// decodedOnCPU are the coefficients of a block as a device is to have them, with the half of the
// quantization step; 0: the block is reversible.
func decodedOnCPU(t *testing.T, b *codestream.Block, step uint32) []int32 {
	out := make([]int32, b.Width*b.Height)
	if err := bitplane.Decode(out, b.Width, b); err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if step == 0 {
			out[i] = v / 2
		} else {
			out[i] = int32(math.Float32bits(float32(v) * math.Float32frombits(step)))
		}
	}
	return out
}
