package neuquant

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

// The kernels that make a census, rows and pictures of indices, compiled for this machine, give what the host makes of them, inside
// their memory.
func TestExpandKernelsOnCPU(t *testing.T) {
	program := gputest.CPUProgram(t, "../..", "testdata/expand.cc", "codecs/neuquant/expand.cuh", "codecs/neuquant/problem.cuh",
		"codecs/neuquant/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh", "gpu/include/alllanes.cuh")
	r := rand.New(rand.NewPCG(5, 6))
	var in bytes.Buffer
	put := func(v any) { binary.Write(&in, binary.LittleEndian, v) }
	type picture struct {
		indexed
		list []uint8
	}
	var pictures []picture
	for i, size := range [][2]int{{1, 1}, {1, 2}, {1, 7}, {2, 3}, {3, 1}, {4, 4}, {5, 3}, {31, 2}, {32, 3}, {33, 5}, {97, 103}, {256, 32}, {1, 9000}, {9001, 1}} {
		p := picture{indexed: indexed{width: size[0], height: size[1], palettes: [][]uint32{nil}, frames: [][]uint8{make([]uint8, size[0]*size[1])}}}
		for range maxEntries {
			p.palettes[0] = append(p.palettes[0], r.Uint32()|opaqueAlpha)
		}
		for j := range p.frames[0] {
			p.frames[0][j] = uint8(r.IntN(1 + i*40%maxEntries))
		}
		for v := range maxEntries {
			p.list = append(p.list, uint8(v)) // all are in the file, which so has 8 bits
		}
		r.Shuffle(len(p.list), func(a, b int) { p.list[a], p.list[b] = p.list[b], p.list[a] })
		var places [maxEntries]uint8
		for at, v := range p.list {
			places[v] = uint8(at)
		}
		put([]uint32{uint32(p.width), uint32(p.height)})
		put(p.palettes[0])
		put(places)
		put(p.frames[0])
		pictures = append(pictures, p)
	}
	out := bytes.NewReader(gputest.RunCPU(t, program, in.Bytes()))
	for _, p := range pictures {
		t.Run(fmt.Sprintf("%dx%d", p.width, p.height), func(t *testing.T) {
			rows := p.rows(p.list)
			uses, gotRows, pixels := make([]uint32, maxEntries), make([]byte, len(rows)), make([]byte, 3*len(p.frames[0]))
			for _, v := range []any{uses, gotRows, pixels} {
				if err := binary.Read(out, binary.LittleEndian, v); err != nil {
					t.Fatal(err)
				}
			}
			for v, n := range p.census(0) {
				if int(uses[v]) != n {
					t.Errorf("entry %d has %d pixels, want %d", v, uses[v], n)
				}
			}
			if !bytes.Equal(gotRows, rows) {
				t.Error("other rows")
			}
			want := make([]byte, len(pixels))
			expandGo(want, p.frames[0], (*[256]uint32)(slices.Clone(p.palettes[0])))
			if !bytes.Equal(pixels, want) {
				t.Error("another picture")
			}
		})
	}
}
