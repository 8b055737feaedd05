package bitstream

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

// The bits of a small image are known without writing it.
func TestSmallBits(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	for _, size := range testimages.Sizes {
		for range codectest.Rounds(20) {
			s := &Stream{Pixels: testimages.Drawn(r, size[0], size[1], 1+r.IntN(300))}
			if r.IntN(2) == 0 {
				s.Parse = testimages.SomeParse(r, len(s.Pixels.ARGB))
			}
			s.makeCodes(testimages.Pools[0])
			w := &bitWriter{}
			s.writeImage(testimages.Pools[0], w, false)
			if got := s.smallBits(); got != w.len() {
				t.Fatalf("%dx%d: %d bits, want %d", size[0], size[1], got, w.len())
			}
			if s.Parse.Length == nil && LiteralImageBits(testimages.Pools[0], s.Pixels) != w.len() {
				t.Fatalf("%dx%d literals: other bits", size[0], size[1])
			}
		}
	}
}

// Literals are counted one by one, also where all of them differ in green alone.
func TestCountLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 100} {
		for _, differ := range []uint32{0, 0xff00, 1, 0xff, 0xff0000, 0xff000000, 0x80000000, 0xffffffff} {
			argb, same := make([]uint32, n), r.Uint32()
			var got, want [format.CacheAt]uint32
			for i := range argb {
				v := same&^differ | r.Uint32()&differ
				argb[i] = v
				for at, symbol := range map[int]uint32{format.AlphaAt: v >> 24, format.RedAt: v >> 16, format.BlueAt: v, format.GreenAt: v >> 8} {
					want[at+int(symbol&255)]++
				}
			}
			differs := slices.ContainsFunc(argb, func(v uint32) bool { return (v^argb[0])&^0xff00 != 0 })
			if onlyGreen(argb) == differs {
				t.Fatalf("%08x differ in more than green: %t", argb, differs)
			}
			if countLiterals(argb, &got); got != want {
				t.Fatalf("%d pixels that differ in %08x: %v, want %v", n, differ, got, want)
			}
		}
	}
}

// The symbols of a parse are counted one by one, also where pixels differ in green alone.
func TestHistogramsOfParses(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	for _, size := range append(testimages.Sizes, [2]int{600, 500}) {
		for _, differ := range []uint32{0, 0xff00, 0xff00ff} {
			p := format.Pixels{W: size[0], H: size[1], ARGB: make([]uint32, size[0]*size[1])}
			for i := range p.ARGB {
				p.ARGB[i] = 0x80402010&^differ | r.Uint32()&differ
			}
			s := &Stream{Pixels: p, Parse: testimages.SomeParse(r, len(p.ARGB))}
			want := make([]uint32, s.Parse.Symbols())
			for i := 0; i < len(p.ARGB); i++ {
				switch l := s.Parse.Length[i]; l {
				case 0:
					v := p.ARGB[i]
					want[format.AlphaAt+v>>24]++
					want[format.RedAt+v>>16&255]++
					want[format.BlueAt+v&255]++
					want[format.GreenAt+v>>8&255]++
				case format.Cached:
					want[format.CacheAt+s.Parse.Value[i]]++
				default:
					countReference(want, uint32(l), s.Parse.Value[i])
					i += int(l) - 1
				}
			}
			for _, c := range testimages.Pools {
				if got := s.Histograms(c)[0]; !slices.Equal(got, want) {
					t.Fatalf("%dx%d, %08x: other counts", size[0], size[1], differ)
				}
			}
		}
	}
}
