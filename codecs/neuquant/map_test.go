package neuquant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// The kernel that maps colours gives the nearest entries, of equally near ones the first, with the products of tensor cores and
// without: for all numbers of entries around whole tiles, the greatest distances and sums, and as many colours as leave parts of
// warps and blocks idle. It runs on a CPU, where the lanes of a warp take turns.
func TestMapKernel(t *testing.T) {
	for _, source := range []string{"map.cc", "map_tensor.cc"} {
		t.Run(source, func(t *testing.T) {
			program := gputest.CPUProgram(t, "../..", "testdata/"+source, "codecs/neuquant/map.cuh", "codecs/neuquant/problem.cuh",
				"codecs/neuquant/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh", "gpu/include/alllanes.cuh")
			testMapKernel(t, program)
		})
	}
}

func testMapKernel(t *testing.T, program string) {
	r := rand.New(rand.NewPCG(17, 3))
	corner := func() uint32 { return 0xff * (r.Uint32() & 0x01010101) }
	type mapped struct {
		name             string
		colours, entries []uint32
	}
	var list []mapped
	var in bytes.Buffer
	sizes := []int{1, 2, 3, 4, 5, 15, 16, 17, 85, 127, 128, 129, 255, 256, 257, 2047, 2048, 2049}
	if testing.Short() {
		sizes = sizes[:len(sizes)-3]
	}
	counts := []int{1, 2, 7, 8, 9, 15, 16, 17, 100, 247, 248, 249, 255, 256}
	for i := range 3 * len(sizes) {
		n, k := sizes[i%len(sizes)], counts[r.IntN(len(counts))]
		opaque, kind := r.IntN(2) == 0, r.IntN(4)
		colour := func() uint32 {
			v := r.Uint32()
			switch kind {
			case 1: // the greatest distances
				v = corner()
			case 2: // many at the same distance
				v = v & 0x03030303
			case 3: // some of both
				v = v&0x01010101 + corner()&0xfefefefe
			}
			if opaque {
				v |= opaqueAlpha
			}
			return v
		}
		m := mapped{name: fmt.Sprintf("%d: %d colours, %d entries, opaque %v, kind %d", i, n, k, opaque, kind)}
		for range k {
			m.entries = append(m.entries, colour())
		}
		samples := uint32(0)
		if opaque {
			samples = 1
		}
		for _, v := range []uint32{uint32(n), uint32(k), samples} {
			binary.Write(&in, binary.LittleEndian, v)
		}
		in.Write(gpu.Bytes(m.entries))
		for range n {
			v := colour()
			m.colours = append(m.colours, v)
			width := 4
			if opaque {
				width = 3
			}
			in.Write(binary.LittleEndian.AppendUint32(nil, v)[:width])
		}
		list = append(list, m)
	}
	out := gputest.RunCPU(t, program, in.Bytes())
	for _, m := range list {
		entries := refColours(&problem{values: m.entries})
		for i, v := range m.colours {
			if want, _, _ := refNearest(refUnpack(v), entries); int(out[i]) != want {
				t.Fatalf("%s: colour %d, %08x, goes to entry %d, want %d", m.name, i, v, out[i], want)
			}
		}
		out = out[len(m.colours):]
	}
}
