package neuquant

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codectest"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// refIndexed is what the pixels of frames that share a palette become: the palette's
// entries of each, found from what README.md says, one pixel after the other.
func refIndexed(m *raster.Image, o *Options) []uint32 {
	var list []refColour
	for i := range m.Width * m.Height * m.Depth {
		s := m.Pix[i*m.Channels:][:m.Channels]
		c := refColour{int(s[0]), int(s[0]), int(s[0]), 255}
		if m.Channels >= 3 {
			c[1], c[2] = int(s[1]), int(s[2])
		}
		if m.Alpha() {
			c[3] = int(s[len(s)-1])
		}
		if o.gif && c[3] < 128 {
			c = refColour{}
		} else if o.gif {
			c[3] = 255
		}
		list = append(list, c)
	}
	if len(refDistinct(list)) <= o.colours {
		return refPack(list)
	}
	// Parts: 0 transparent, 1 opaque, 2 other.
	part := make([]int, len(list))
	var parts [3][]refColour
	for i, c := range list {
		switch c[3] {
		case 0:
			part[i] = 0
		case 255:
			part[i] = 1
		default:
			part[i] = 2
		}
		for t := range 3 {
			list[i][t] = (c[t]*c[3] + 127) / 255
		}
	}
	has := func(k int) bool { return slices.Contains(part, k) }
	if o.colours == 2 && has(0) && has(1) && has(2) {
		for i := range part {
			part[i] = max(part[i], 2-part[i])
			if part[i] == 2 && list[i][3] == 255 {
				part[i] = 1
			}
		}
	}
	for i, c := range list {
		parts[part[i]] = append(parts[part[i]], c)
	}
	n := o.colours
	if len(parts[0]) > 0 {
		n--
	}
	d1, d2 := len(refDistinct(parts[1])), len(refDistinct(parts[2]))
	n1, n2 := refNeed(parts[1]), refNeed(parts[2])
	k1, k2 := n, n
	if d1 > 0 && d2 > 0 {
		k2 = min(max((2*n*n2+n1+n2)/(2*(n1+n2)), 1), n-1)
		if d2 <= k2 {
			k2 = d2
		} else if d1 <= n-k2 {
			k2 = n - d1
		}
		k1 = n - k2
	}
	var entries [3][]refColour
	for k, most := range []int{1, k1, k2} {
		d := refDistinct(parts[k])
		switch {
		case k == 0 || len(d) == 0:
			entries[k] = []refColour{{}}
		case len(d) <= most:
			entries[k] = d
		default:
			p := problem{values: refPack(parts[k]), entries: most, opaque: k == 1}
			e, _ := refSolve(&p, o)
			for _, v := range e {
				entries[k] = append(entries[k], refUnpack(v))
			}
		}
	}
	if o.refine > 0 && (d1 > k1 || d2 > k2) { // not so many colours that they are not counted
		refExactly(parts, &entries, 4*o.refine)
	}
	out := make([]uint32, len(list))
	sums := make([][4]int, len(list))
	for i, c := range list {
		k := part[i]
		z, y, x := i/m.Width/m.Height, i/m.Width%m.Height, i%m.Width
		if k != 0 && o.dither == ordered {
			s := 0
			for (s+1)*(s+1)*(s+1)*len(entries[k]) <= 48*48*48 {
				s++
			}
			for t := range 3 {
				c[t] = min(max(c[t]+(2*refBayer(x%8, y%8, 8)-63)*s/128, 0), c[3])
			}
		}
		if k != 0 && o.dither == floydSteinberg {
			for t := range c {
				c[t] = min(max(c[t]+(sums[i][t]+8)>>4, 0), 255)
			}
		}
		at, _, _ := refNearest(c, entries[k])
		e := entries[k][at]
		if k != 0 && o.dither == floydSteinberg {
			for _, to := range [][3]int{{1, 0, 7}, {-1, 1, 3}, {0, 1, 5}, {1, 1, 1}} {
				u, v := x+to[0], y+to[1]
				if u < 0 || u >= m.Width || v >= m.Height {
					continue
				}
				if j := (z*m.Height+v)*m.Width + u; part[j] == k {
					for t := range c {
						sums[j][t] += to[2] * (c[t] - e[t])
					}
				}
			}
		}
		if k == 2 {
			e[3] = min(max(e[3], 1), 254)
			for t := range 3 {
				e[t] = min(255, (e[t]*255+e[3]/2)/e[3])
			}
		}
		out[i] = refPack([]refColour{e})[0]
	}
	return out
}

// refNeed is the sum over the colours of their counts to the power of 5/8.
func refNeed(list []refColour) (need int) {
	count := map[refColour]int{}
	for _, c := range list {
		count[c]++
	}
	root := func(v int) (r int) {
		for (r+1)*(r+1) <= v {
			r++
		}
		return r
	}
	for _, w := range count {
		need += root(w * root(root(w<<16)<<8))
	}
	return need
}

func refDistinct(list []refColour) []refColour {
	v := refPack(list)
	slices.Sort(v)
	var out []refColour
	for _, v := range slices.Compact(v) {
		out = append(out, refUnpack(v))
	}
	return out
}

// refBayer is the ordered matrix of n x n.
func refBayer(x, y, n int) int {
	if n == 1 {
		return 0
	}
	h := n / 2
	quarter := [2][2]int{{0, 2}, {3, 1}}
	return 4*refBayer(x%h, y%h, h) + quarter[y/h][x/h]
}

// randomImage has opaque, transparent and other pixels as share says, in per cent.
func randomImage(rng *rand.Rand, w, h, depth, channels int, share [3]int, few bool) *raster.Image {
	m := raster.New(w, h, depth, channels, 8)
	m.Frames = depth > 1
	for i := range w * h * depth {
		s := m.Pix[i*channels:][:channels]
		for t := range s {
			s[t] = byte(rng.IntN(256))
			if few {
				s[t] = byte(rng.IntN(3) * 100)
			} else if rng.IntN(4) > 0 && i > 0 {
				s[t] = m.Pix[(i-1)*channels+t] + byte(rng.IntN(9)-4)
			}
		}
		if m.Alpha() {
			switch r := rng.IntN(100); {
			case r < share[0]:
				s[channels-1] = 0
			case r < share[0]+share[1]:
				s[channels-1] = 255
			}
		}
	}
	return m
}

// TestImagesAreTheReference looks at the colours that images become.
func TestImagesAreTheReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	type size struct{ w, h, depth int }
	sizes := []size{{1, 1, 1}, {2, 1, 1}, {1, 7, 1}, {9, 8, 1}, {31, 17, 1}, {130, 9, 1}, {400, 7, 1}, {65, 66, 1}, {12, 9, 3}, {40, 30, 2}}
	shares := [][3]int{{0, 100, 0}, {100, 0, 0}, {0, 0, 100}, {30, 70, 0}, {30, 0, 70}, {0, 60, 40}, {20, 50, 30}, {1, 98, 1}, {33, 1, 66}}
	for n := range codectest.Rounds(600) {
		s, share := sizes[rng.IntN(len(sizes))], shares[rng.IntN(len(shares))]
		o := Options{
			colours: []int{2, 3, 4, 16, 255, 256}[rng.IntN(6)], sample: 1 + 9*rng.IntN(2), refine: 6 * rng.IntN(2),
			dither: dither(rng.IntN(3)), gif: s.depth > 1 || rng.IntN(3) == 0, own: rng.IntN(3) == 0,
		}
		m := randomImage(rng, s.w, s.h, s.depth, 1+rng.IntN(4), share, rng.IntN(5) == 0)
		name := fmt.Sprintf("%d: %s, shares %v, %v", n, m.Shape, share, &o)
		before := slices.Clone(m.Pix)
		c := pool.Of(1 + n%3)
		var j job
		j.readScopes(m, &o)
		for _, scope := range j.scopes {
			var list []problem
			for _, p := range scope.problems() {
				p.mapped = o.dither == noDither
				list = append(list, p.problem)
			}
			j.solutions = append(j.solutions, cpuSteps{c}.solve(context.Background(), list, &o))
		}
		got, _, err := j.index(context.Background(), c, &o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want []uint32
		if o.own {
			for z := range m.Depth {
				want = append(want, refIndexed(m.Slice(z), &o)...)
			}
		} else {
			want = refIndexed(m, &o)
		}
		var colours []uint32
		for z, frame := range got.frames {
			p := got.palettes[min(z, len(got.palettes)-1)]
			if len(p) > o.colours {
				t.Fatalf("%s: %d entries", name, len(p))
			}
			for _, k := range frame {
				colours = append(colours, p[k])
			}
		}
		if !slices.Equal(colours, want) {
			t.Errorf("%s: other colours than the reference's", name)
		}
		if !slices.Equal(m.Pix, before) {
			t.Fatalf("%s: the picture changed", name)
		}
	}
}
