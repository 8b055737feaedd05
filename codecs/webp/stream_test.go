package webp

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/vp8l"

	"github.com/pelmill/pelmill/codecs/codectest"
	"github.com/pelmill/pelmill/codecs/webp/internal/backref"
	"github.com/pelmill/pelmill/codecs/webp/internal/bitstream"
	"github.com/pelmill/pelmill/codecs/webp/internal/format"
	"github.com/pelmill/pelmill/codecs/webp/internal/testimages"
)

func channel(v uint32, s int) int { return int(v >> s & 255) }

// perChannel applies f to each byte of a, b and c.
func perChannel(a, b, c uint32, f func(a, b, c int) int) (v uint32) {
	for s := 0; s < 32; s += 8 {
		v |= uint32(f(channel(a, s), channel(b, s), channel(c, s))&255) << s
	}
	return v
}

func slowPrediction(mode uint32, l, t, tr, tl uint32) uint32 {
	avg := func(a, b uint32) uint32 {
		return perChannel(a, b, 0, func(a, b, _ int) int { return (a + b) / 2 })
	}
	clamp := func(v int) int { return min(max(v, 0), 255) }
	switch mode {
	case 0:
		return 0xff000000
	case 1:
		return l
	case 2:
		return t
	case 3:
		return tr
	case 4:
		return tl
	case 5:
		return avg(avg(l, tr), t)
	case 6:
		return avg(l, tl)
	case 7:
		return avg(l, t)
	case 8:
		return avg(tl, t)
	case 9:
		return avg(t, tr)
	case 10:
		return avg(avg(l, tl), avg(t, tr))
	case 11:
		pl, pt := 0, 0
		for s := 0; s < 32; s += 8 {
			e := channel(l, s) + channel(t, s) - channel(tl, s)
			pl += max(e-channel(l, s), channel(l, s)-e)
			pt += max(e-channel(t, s), channel(t, s)-e)
		}
		if pl < pt {
			return l
		}
		return t
	case 12:
		return perChannel(l, t, tl, func(a, b, c int) int { return clamp(a + b - c) })
	case 13:
		return perChannel(avg(l, t), tl, 0, func(a, b, _ int) int { return clamp(a + (a-b)/2) })
	}
	return 0xff000000
}

// undo returns the image before the transform (RFC 9649, 3.5), slowly.
func undo(t format.Transform, p format.Pixels, width int) format.Pixels {
	out := format.Pixels{W: width, H: p.H, ARGB: make([]uint32, width*p.H)}
	across := (width + 1<<t.Bits - 1) >> t.Bits
	for y := range p.H {
		for x := range width {
			i := y*width + x
			switch t.Kind {
			case format.PredictorTransform:
				mode := t.Data.ARGB[y>>t.Bits*across+x>>t.Bits] >> 8 & 15
				var q uint32
				switch {
				case i == 0:
					q = 0xff000000
				case y == 0:
					q = out.ARGB[i-1]
				case x == 0:
					q = out.ARGB[i-width]
				default:
					// The pixel right above of the last in a row is the first of its row.
					q = slowPrediction(mode, out.ARGB[i-1], out.ARGB[i-width], out.ARGB[i-width+1], out.ARGB[i-width-1])
				}
				out.ARGB[i] = perChannel(p.ARGB[i], q, 0, func(a, b, _ int) int { return a + b })
			case format.ColourTransform:
				m := t.Data.ARGB[y>>t.Bits*across+x>>t.Bits]
				delta := func(m, c uint32) int { return int(int8(m)) * int(int8(c)) >> 5 }
				v := p.ARGB[i]
				green := v >> 8 & 255
				red := uint32(int(v>>16&255)+delta(m&255, green)) & 255
				blue := uint32(int(v&255)+delta(m>>8&255, green)+delta(m>>16&255, red)) & 255
				out.ARGB[i] = v&0xff00ff00 | red<<16 | blue
			case format.SubtractGreen:
				v := p.ARGB[i]
				g := v >> 8 & 255
				out.ARGB[i] = v&0xff00ff00 | (v>>16+g)&255<<16 | (v+g)&255
			case format.ColourIndexing:
				b := bundling(t.Data.W)
				index := int(p.ARGB[y*p.W+x>>b]) >> 8 & 255 >> (x & (1<<b - 1) << (3 - b)) & (1<<(8>>b) - 1)
				if index < t.Data.W {
					out.ARGB[i] = t.Data.ARGB[index]
				}
			}
		}
	}
	return out
}

// bundling is log2 of the pixels in one (RFC 9649, 3.5.4).
func bundling(colours int) int {
	switch {
	case colours <= 2:
		return 3
	case colours <= 4:
		return 2
	case colours <= 16:
		return 1
	}
	return 0
}

// randomStream is a stream that no encoder would make, and the image it stands for.
func randomStream(r *rand.Rand) (*bitstream.Stream, format.Pixels) {
	s := &bitstream.Stream{Width: 1 + r.IntN(70), Height: 1 + r.IntN(40), Alpha: true, Small: backref.ParseSmall}
	if r.IntN(8) == 0 {
		s.Width = 1 + r.IntN(700)
	}
	values := func(n, spread int) []uint32 {
		v := make([]uint32, n)
		for i := range v {
			v[i] = r.Uint32()
			if spread > 0 {
				v[i] = uint32(r.IntN(spread))<<24 | uint32(r.IntN(spread))<<16 | uint32(r.IntN(spread))<<8 | uint32(r.IntN(spread))
			}
		}
		return v
	}
	width := s.Width
	widths := []int{}
	for _, kind := range r.Perm(4) {
		if r.IntN(2) == 0 {
			continue
		}
		t := format.Transform{Kind: kind}
		widths = append(widths, width)
		switch kind {
		case format.PredictorTransform, format.ColourTransform:
			t.Bits = 2 + r.IntN(8)
			tw, th := (width+1<<t.Bits-1)>>t.Bits, (s.Height+1<<t.Bits-1)>>t.Bits
			t.Data = format.Pixels{W: tw, H: th, ARGB: values(tw*th, 0)}
			if kind == format.PredictorTransform {
				for i := range t.Data.ARGB {
					t.Data.ARGB[i] = 0xff000000 | uint32(r.IntN(14))<<8
				}
			}
		case format.ColourIndexing:
			n := 1 + r.IntN([]int{2, 4, 16, 256}[r.IntN(4)])
			t.Data = format.Pixels{W: n, H: 1, ARGB: values(n, 0)}
			b := bundling(n)
			width = (width + 1<<b - 1) >> b
		}
		s.Transforms = append(s.Transforms, t)
	}
	n := width * s.Height
	s.Pixels = format.Pixels{W: width, H: s.Height, ARGB: values(n, []int{0, 2, 4, 40}[r.IntN(4)])}
	if r.IntN(4) > 0 {
		randomParse(r, s)
	}
	if r.IntN(2) == 0 {
		s.Entropy.Bits = 2 + r.IntN(8)
		across, down := (width+1<<s.Entropy.Bits-1)>>s.Entropy.Bits, (s.Height+1<<s.Entropy.Bits-1)>>s.Entropy.Bits
		s.Entropy.Groups = 1 + r.IntN([]int{2, 40, 1000, 2600}[r.IntN(4)])
		s.Entropy.Group = make([]uint16, across*down)
		for i := range s.Entropy.Group {
			s.Entropy.Group[i] = uint16(r.IntN(s.Entropy.Groups))
		}
	}
	p := s.Pixels
	for i := len(s.Transforms) - 1; i >= 0; i-- {
		p = undo(s.Transforms[i], p, widths[i])
	}
	return s, p
}

// randomParse codes the pixels of s anew with backward references and a cache, and changes those that
// are coded so.
func randomParse(r *rand.Rand, s *bitstream.Stream) {
	p, q := s.Pixels, &s.Parse
	q.Length, q.Value = make([]uint16, len(p.ARGB)), make([]uint32, len(p.ARGB))
	if r.IntN(3) > 0 {
		q.CacheBits = 1 + r.IntN(11)
	}
	cache := make([]uint32, 1<<q.CacheBits)
	for i := 0; i < len(p.ARGB); {
		n := 1
		switch r.IntN(6) {
		case 0:
			if i > 0 && len(p.ARGB)-i >= 2 {
				n = min(2+r.IntN(1<<r.IntN(13)), 4095, len(p.ARGB)-i)
				code, distance := uint32(121), 1
				if r.IntN(2) == 0 {
					distance = 1 + r.IntN(i)
					code = uint32(distance + 120)
				} else { // near, by RFC 9649, 3.6.2.2
					code = []uint32{1, 2, 3, 4}[r.IntN(4)]
					distance = []int{p.W, 1, p.W + 1, p.W - 1}[code-1]
					distance = max(distance, 1)
				}
				if distance > i {
					code, distance = 121, 1
				}
				q.Length[i], q.Value[i] = uint16(n), code
				for j := i; j < i+n; j++ {
					p.ARGB[j] = p.ARGB[j-distance]
					if j > i {
						q.Length[j] = format.Covered
					}
				}
			}
		case 1, 2:
			if q.CacheBits > 0 {
				q.Length[i], q.Value[i] = format.Cached, r.Uint32N(1<<q.CacheBits)
				p.ARGB[i] = cache[q.Value[i]]
			}
		}
		for ; n > 0; n-- {
			if q.CacheBits > 0 {
				cache[p.ARGB[i]*0x1e35a7bd>>(32-q.CacheBits)] = p.ARGB[i]
			}
			i++
		}
	}
}

// argbOf decodes a bitstream by golang.org/x/image.
func argbOf(bitstream []byte) (format.Pixels, error) {
	m, err := vp8l.Decode(bytes.NewReader(bitstream))
	if err != nil {
		return format.Pixels{}, err
	}
	n := m.(*image.NRGBA)
	p := format.Pixels{W: n.Rect.Dx(), H: n.Rect.Dy(), ARGB: make([]uint32, len(n.Pix)/4)}
	for i := range p.ARGB {
		s := n.Pix[4*i:]
		p.ARGB[i] = uint32(s[3])<<24 | uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])
	}
	return p, nil
}

func samePixels(a, b format.Pixels) error {
	if a.W != b.W || a.H != b.H {
		return fmt.Errorf("%d x %d pixels, want %d x %d", a.W, a.H, b.W, b.H)
	}
	for i := range a.ARGB {
		if a.ARGB[i] != b.ARGB[i] {
			return fmt.Errorf("pixel %d, %d is %08x, want %08x", i%a.W, i/a.W, a.ARGB[i], b.ARGB[i])
		}
	}
	return nil
}

func TestStreamsDecodeToWhatTheySay(t *testing.T) {
	for seed := range uint64(codectest.Rounds(400)) {
		s, want := randomStream(rand.New(rand.NewPCG(9, seed)))
		got, err := argbOf(s.Write(testimages.Pools[0]))
		if err == nil {
			err = samePixels(got, want)
		}
		if err != nil {
			t.Fatalf("stream %d of %d x %d, %d transforms, cache %d, groups %d: %v",
				seed, s.Width, s.Height, len(s.Transforms), s.Parse.CacheBits, s.Entropy.Groups, err)
		}
	}
}

// The histograms are what write codes: as many literals, backward references and cached pixels.
func TestHistogramsCountEverySymbol(t *testing.T) {
	for seed := range uint64(codectest.Rounds(200)) {
		s, _ := randomStream(rand.New(rand.NewPCG(10, seed)))
		coded, references := 0, 0
		for i := range s.Pixels.ARGB {
			switch {
			case s.Parse.Length == nil || s.Parse.Length[i] == 0 || s.Parse.Length[i] == format.Cached:
				coded++
			case s.Parse.Length[i] != format.Covered:
				coded++
				references++
			}
		}
		greens, distances := 0, 0
		for _, h := range s.Histograms(testimages.Pools[0]) {
			for _, n := range h[format.GreenAt:] {
				greens += int(n)
			}
			for _, n := range h[format.DistanceAt:format.GreenAt] {
				distances += int(n)
			}
		}
		if greens != coded || distances != references {
			t.Errorf("stream %d: %d greens and %d distances, want %d and %d", seed, greens, distances, coded, references)
		}
	}
}
