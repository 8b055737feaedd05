package imageio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Pages of all depths and layouts, of sides around those of tiles, vectors and tables, have the samples that are found
// one by one.
func TestTIFFPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for n := range 3000 {
		p := &randomPage{
			width: 1 + rng.IntN(40), height: 1 + rng.IntN(20), samples: []int{1, 1, 3, 3, 4}[rng.IntN(5)], bits: []int{1, 2, 4, 8, 8, 12, 16, 16}[rng.IntN(8)],
			order: []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[rng.IntN(2)], planar: rng.IntN(2) == 0, white: rng.IntN(3) == 0,
			blockW: 16 * (1 + rng.IntN(2)), blockH: 16, packed: rng.IntN(3) == 0,
		}
		if p.samples == 1 && n%4 == 0 {
			p.width, p.height = 300+rng.IntN(70), 20 // large enough for a table
		}
		if rng.IntN(2) == 0 {
			p.blockW, p.blockH = p.width, 1+rng.IntN(p.height)
			p.strips = true
		}
		p.white = p.white && p.samples == 1
		p.planar = p.planar && p.samples > 1
		data, want := p.make(rng)
		m, err := Decode(data, nil)
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		for i, v := range want {
			if m.Sample(i) != v {
				t.Fatalf("%+v: sample %d of %s is %d, want %d", p, i, m.Shape, m.Sample(i), v)
			}
		}
		if len(want) != m.Samples() {
			t.Fatalf("%+v: %s", p, m.Shape)
		}
	}
}

// randomPage describes a page of random samples.
type randomPage struct {
	width, height, samples, bits  int
	order                         binary.ByteOrder
	planar, white, strips, packed bool
	blockW, blockH                int
}

// make returns a file, and the samples of its image.
func (p *randomPage) make(rng *rand.Rand) (data []byte, want []int) {
	per, planes := p.samples, 1
	if p.planar {
		per, planes = 1, p.samples
	}
	want = make([]int, p.width*p.height*p.samples)
	most := 1<<p.bits - 1
	f := &tiffFile{order: p.order, tiles: !p.strips}
	for plane := range planes {
		for y := 0; y < p.height; y += p.blockH {
			for x := 0; x < p.width; x += p.blockW {
				rows := p.blockH
				if p.strips {
					rows = min(rows, p.height-y)
				}
				row := (p.blockW*per*p.bits + 7) / 8
				block := make([]byte, row*rows)
				for i := range block {
					block[i] = byte(rng.Uint32() >> (8 * rng.IntN(3)))
				}
				f.blocks = append(f.blocks, block)
				if p.packed {
					f.blocks[len(f.blocks)-1] = packBits(block)
				}
				for r := range min(rows, p.height-y) {
					for i := range min(p.blockW, p.width-x) * per {
						v := p.sample(block[r*row:], i)
						if p.white {
							v = most - v
						}
						if p.samples == 1 && p.bits < 8 {
							v *= 255 / most
						}
						at := ((y+r)*p.width+x)*p.samples + i
						if p.planar {
							at = ((y+r)*p.width+x+i)*p.samples + plane
						}
						want[at] = v
					}
				}
			}
		}
	}
	photometric := tiffBlackIsZero
	if p.white {
		photometric = tiffWhiteIsZero
	} else if p.samples > 1 {
		photometric = tiffRGB
	}
	compression, planar := tiffNone, 1
	if p.packed {
		compression = tiffPackBits
	}
	if p.planar {
		planar = 2
	}
	f.fields = map[int][]int{tagWidth: {p.width}, tagLength: {p.height}, tagBits: {p.bits}, tagCompression: {compression},
		tagPhotometric: {photometric}, tagSamples: {p.samples}, tagPlanar: {planar}}
	if p.samples == 4 {
		f.fields[tagExtraSamples] = []int{tiffStraight}
	}
	if p.strips {
		f.fields[tagRowsPerStrip] = []int{p.blockH}
	} else {
		f.fields[tagTileWidth], f.fields[tagTileLength] = []int{p.blockW}, []int{p.blockH}
	}
	return f.bytes(), want
}

// sample is sample i of a row.
func (p *randomPage) sample(row []byte, i int) int {
	if p.bits == 16 {
		return int(p.order.Uint16(row[2*i:]))
	}
	v := 0
	for b := i * p.bits; b < (i+1)*p.bits; b++ {
		v = v<<1 | int(row[b/8]>>(7-b%8)&1)
	}
	return v
}

// PackBits of runs and literals of all lengths, whole and cut short, to buffers of all lengths around theirs.
func TestUnpackBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for range 20000 {
		src := make([]byte, rng.IntN(60))
		for i := range src {
			src[i] = byte(rng.IntN(256))
			if rng.IntN(2) == 0 {
				src[i] = byte(rng.IntN(24) - 12)
			}
		}
		want := make([]byte, rng.IntN(300))
		got := bytes.Repeat([]byte{0xa5}, len(want)+9)
		wantErr, err := unpackBitsSlowly(want, src), unpackBits(got[:len(want)], src)
		if !errors.Is(err, wantErr) || err == nil && !bytes.Equal(got[:len(want)], want) {
			t.Fatalf("%x: %x, %v, want %x, %v", src, got, err, want, wantErr)
		}
		if !bytes.Equal(got[len(want):], bytes.Repeat([]byte{0xa5}, 9)) {
			t.Fatalf("%x: something is written behind %d bytes", src, len(want))
		}
	}
}

func unpackBitsSlowly(dst, src []byte) error {
	for len(dst) > 0 {
		if len(src) < 2 {
			return io.ErrUnexpectedEOF
		}
		n := int(int8(src[0]))
		src = src[1:]
		switch {
		case n >= 0:
			n = min(n+1, len(dst))
			if n > len(src) {
				return io.ErrUnexpectedEOF
			}
			copy(dst, src[:n])
			dst, src = dst[n:], src[n:]
		case n != -128:
			n = min(1-n, len(dst))
			for i := range n {
				dst[i] = src[0]
			}
			dst, src = dst[n:], src[1:]
		}
	}
	return nil
}

func TestReverseBits(t *testing.T) {
	for n := range 300 {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i)
		}
		reverseBits(p)
		for i, v := range p {
			if v != bits.Reverse8(byte(i)) {
				t.Fatalf("byte %d of %d is %02x", i, n, v)
			}
		}
	}
}

// All inks over all blacks.
func TestOverBlack(t *testing.T) {
	for ink := range 256 {
		for black := range 256 {
			other := 255 - ink
			got := overBlack(uint32(ink | other<<8 | ink<<16 | black<<24))
			of := func(v int) uint32 { return uint32((255 - v) * (255 - black) / 255) }
			if want := of(ink) | of(other)<<8 | of(ink)<<16; got != want {
				t.Fatalf("%d and %d over %d: %06x, want %06x", ink, other, black, got, want)
			}
		}
	}
}
