package webp

import (
	"bytes"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"

	"golang.org/x/image/vp8l"
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

// undo returns the image before the transform (RFC 9649, 4), slowly.
func undo(t transform, p pixels, width int) pixels {
	out := pixels{width, p.h, make([]uint32, width*p.h)}
	across := (width + 1<<t.bits - 1) >> t.bits
	for y := range p.h {
		for x := range width {
			i := y*width + x
			switch t.kind {
			case predictorTransform:
				mode := t.data.argb[y>>t.bits*across+x>>t.bits] >> 8 & 15
				var q uint32
				switch {
				case i == 0:
					q = 0xff000000
				case y == 0:
					q = out.argb[i-1]
				case x == 0:
					q = out.argb[i-width]
				default:
					// The pixel right above of the last in a row is the first of its row.
					q = slowPrediction(mode, out.argb[i-1], out.argb[i-width], out.argb[i-width+1], out.argb[i-width-1])
				}
				out.argb[i] = perChannel(p.argb[i], q, 0, func(a, b, _ int) int { return a + b })
			case colourTransform:
				m := t.data.argb[y>>t.bits*across+x>>t.bits]
				delta := func(m, c uint32) int { return int(int8(m)) * int(int8(c)) >> 5 }
				v := p.argb[i]
				green := v >> 8 & 255
				red := uint32(int(v>>16&255)+delta(m&255, green)) & 255
				blue := uint32(int(v&255)+delta(m>>8&255, green)+delta(m>>16&255, red)) & 255
				out.argb[i] = v&0xff00ff00 | red<<16 | blue
			case subtractGreen:
				v := p.argb[i]
				g := v >> 8 & 255
				out.argb[i] = v&0xff00ff00 | (v>>16+g)&255<<16 | (v+g)&255
			case colourIndexing:
				b := bundling(t.data.w)
				index := int(p.argb[y*p.w+x>>b]) >> 8 & 255 >> (x & (1<<b - 1) << (3 - b)) & (1<<(8>>b) - 1)
				if index < t.data.w {
					out.argb[i] = t.data.argb[index]
				}
			}
		}
	}
	return out
}

// bundling is log2 of the pixels in one (RFC 9649, 4.4).
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
func randomStream(r *rand.Rand) (*stream, pixels) {
	s := &stream{width: 1 + r.IntN(70), height: 1 + r.IntN(40), alpha: true, small: parseSmall}
	if r.IntN(8) == 0 {
		s.width = 1 + r.IntN(700)
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
	width := s.width
	widths := []int{}
	for _, kind := range r.Perm(4) {
		if r.IntN(2) == 0 {
			continue
		}
		t := transform{kind: kind}
		widths = append(widths, width)
		switch kind {
		case predictorTransform, colourTransform:
			t.bits = 2 + r.IntN(8)
			tw, th := (width+1<<t.bits-1)>>t.bits, (s.height+1<<t.bits-1)>>t.bits
			t.data = pixels{tw, th, values(tw*th, 0)}
			if kind == predictorTransform {
				for i := range t.data.argb {
					t.data.argb[i] = 0xff000000 | uint32(r.IntN(14))<<8
				}
			}
		case colourIndexing:
			n := 1 + r.IntN([]int{2, 4, 16, 256}[r.IntN(4)])
			t.data = pixels{n, 1, values(n, 0)}
			b := bundling(n)
			width = (width + 1<<b - 1) >> b
		}
		s.transforms = append(s.transforms, t)
	}
	n := width * s.height
	s.pixels = pixels{width, s.height, values(n, []int{0, 2, 4, 40}[r.IntN(4)])}
	if r.IntN(4) > 0 {
		randomParse(r, s)
	}
	if r.IntN(2) == 0 {
		s.entropy.bits = 2 + r.IntN(8)
		across, down := (width+1<<s.entropy.bits-1)>>s.entropy.bits, (s.height+1<<s.entropy.bits-1)>>s.entropy.bits
		s.entropy.groups = 1 + r.IntN([]int{2, 40, 1000, 2600}[r.IntN(4)])
		s.entropy.group = make([]uint16, across*down)
		for i := range s.entropy.group {
			s.entropy.group[i] = uint16(r.IntN(s.entropy.groups))
		}
	}
	p := s.pixels
	for i := len(s.transforms) - 1; i >= 0; i-- {
		p = undo(s.transforms[i], p, widths[i])
	}
	return s, p
}

// randomParse codes the pixels of s anew with copies and a cache, and changes those that
// are coded so.
func randomParse(r *rand.Rand, s *stream) {
	p, q := s.pixels, &s.parse
	q.length, q.value = make([]uint16, len(p.argb)), make([]uint32, len(p.argb))
	if r.IntN(3) > 0 {
		q.cacheBits = 1 + r.IntN(11)
	}
	cache := make([]uint32, 1<<q.cacheBits)
	for i := 0; i < len(p.argb); {
		n := 1
		switch r.IntN(6) {
		case 0:
			if i > 0 && len(p.argb)-i >= 2 {
				n = min(2+r.IntN(1<<r.IntN(13)), 4095, len(p.argb)-i)
				code, distance := uint32(121), 1
				if r.IntN(2) == 0 {
					distance = 1 + r.IntN(i)
					code = uint32(distance + 120)
				} else { // near, by RFC 9649, 5.2.2
					code = []uint32{1, 2, 3, 4}[r.IntN(4)]
					distance = []int{p.w, 1, p.w + 1, p.w - 1}[code-1]
					distance = max(distance, 1)
				}
				if distance > i {
					code, distance = 121, 1
				}
				q.length[i], q.value[i] = uint16(n), code
				for j := i; j < i+n; j++ {
					p.argb[j] = p.argb[j-distance]
					if j > i {
						q.length[j] = covered
					}
				}
			}
		case 1, 2:
			if q.cacheBits > 0 {
				q.length[i], q.value[i] = cached, r.Uint32N(1<<q.cacheBits)
				p.argb[i] = cache[q.value[i]]
			}
		}
		for ; n > 0; n-- {
			if q.cacheBits > 0 {
				cache[p.argb[i]*0x1e35a7bd>>(32-q.cacheBits)] = p.argb[i]
			}
			i++
		}
	}
}

// argbOf decodes a bitstream by golang.org/x/image.
func argbOf(bitstream []byte) (pixels, error) {
	m, err := vp8l.Decode(bytes.NewReader(bitstream))
	if err != nil {
		return pixels{}, err
	}
	n := m.(*image.NRGBA)
	p := pixels{n.Rect.Dx(), n.Rect.Dy(), make([]uint32, len(n.Pix)/4)}
	for i := range p.argb {
		s := n.Pix[4*i:]
		p.argb[i] = uint32(s[3])<<24 | uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])
	}
	return p, nil
}

func samePixels(a, b pixels) error {
	if a.w != b.w || a.h != b.h {
		return fmt.Errorf("%d x %d pixels, want %d x %d", a.w, a.h, b.w, b.h)
	}
	for i := range a.argb {
		if a.argb[i] != b.argb[i] {
			return fmt.Errorf("pixel %d, %d is %08x, want %08x", i%a.w, i/a.w, a.argb[i], b.argb[i])
		}
	}
	return nil
}

func TestStreamsDecodeToWhatTheySay(t *testing.T) {
	for seed := range uint64(400) {
		s, want := randomStream(rand.New(rand.NewPCG(9, seed)))
		got, err := argbOf(s.write(pools[0]))
		if err == nil {
			err = samePixels(got, want)
		}
		if err != nil {
			t.Fatalf("stream %d of %d x %d, %d transforms, cache %d, groups %d: %v",
				seed, s.width, s.height, len(s.transforms), s.parse.cacheBits, s.entropy.groups, err)
		}
	}
}

// The histograms are what write codes: as many literals, copies and cached pixels.
func TestHistogramsCountEverySymbol(t *testing.T) {
	for seed := range uint64(200) {
		s, _ := randomStream(rand.New(rand.NewPCG(10, seed)))
		coded, copies := 0, 0
		for i := range s.pixels.argb {
			switch {
			case s.parse.length == nil || s.parse.length[i] == 0 || s.parse.length[i] == cached:
				coded++
			case s.parse.length[i] != covered:
				coded++
				copies++
			}
		}
		greens, distances := 0, 0
		for _, h := range s.histograms(pools[0]) {
			for _, n := range h[greenAt:] {
				greens += int(n)
			}
			for _, n := range h[distanceAt:greenAt] {
				distances += int(n)
			}
		}
		if greens != coded || distances != copies {
			t.Errorf("stream %d: %d greens and %d distances, want %d and %d", seed, greens, distances, coded, copies)
		}
	}
}
