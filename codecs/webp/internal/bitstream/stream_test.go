package bitstream

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// A stream that is appended has the same bytes as one by itself, and what its caller appends has room behind it.
func TestAppendTo(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	sizes := append(testimages.Sizes[:len(testimages.Sizes):len(testimages.Sizes)], [2]int{640, 480}) // more than one band
	for _, size := range sizes {
		for range codectest.Rounds(4) {
			s := &Stream{Width: size[0], Height: size[1], Pixels: testimages.Drawn(r, size[0], size[1], 1+r.IntN(300))}
			if r.IntN(2) == 0 {
				s.Parse = testimages.SomeParse(r, len(s.Pixels.ARGB))
			}
			want, head, behind := s.Write(testimages.Pools[0]), []byte("RIFF"), r.IntN(100)
			for i, memory := range [][]byte{head, append(make([]byte, 0, len(want)+200), head...)} {
				packed := *s
				packed.Coded, packed.Packer = nil, &cpuPacker{stream: s}
				for kind, s := range map[string]*Stream{"pixels": s, "packed": &packed, "written": {Written: want}} {
					got := s.AppendTo(memory, behind, testimages.Pools[0])
					if string(got[:4]) != "RIFF" || !bytes.Equal(got[4:], want) {
						t.Fatalf("%dx%d, memory %d, %s: other bytes", size[0], size[1], i, kind)
					}
					if kind == "packed" && cap(got)-len(got) < behind {
						t.Fatalf("%dx%d, memory %d: room for %d bytes, want %d", size[0], size[1], i, cap(got)-len(got), behind)
					}
				}
			}
		}
	}
}

// cpuPacker packs the pixels of a stream as a device does: in whole words, without what is held of the first byte.
type cpuPacker struct{ stream *Stream }

func (p *cpuPacker) Counts() [][]uint32 { return p.stream.Histograms(testimages.Pools[0]) }
func (p *cpuPacker) Failed() error      { return nil }
func (p *cpuPacker) Release()           {}

func (p *cpuPacker) Pack(out []byte, codes [][]Code, first, size int) {
	w := &bitWriter{}
	w.put(0, uint(first))
	p.stream.writePixels(testimages.Pools[0], w, codes)
	if w.len() != first+size {
		panic("the bits of the symbols are not what the codes say")
	}
	for w.len()%32 != 0 {
		w.put(0, 1)
	}
	copy(out[:max(4, w.len()/8)], w.bytes())
}
