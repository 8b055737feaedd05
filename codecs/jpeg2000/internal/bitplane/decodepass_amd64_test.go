package bitplane

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// The assembly decodes whatever there is, damaged segments too, as the Go code does.
func FuzzDecodePasses(f *testing.F) {
	r := rand.New(rand.NewPCG(8, 0))
	for i := range 300 {
		data := make([]byte, r.IntN(800))
		for k := range data {
			data[k] = byte(r.Uint32())
			if r.IntN(8) < i%5 {
				data[k] = 0xFF
			}
		}
		f.Add(data, r.Uint64())
	}
	defer func(assembly bool) { useAssembly = assembly }(useAssembly)
	assembly := useAssembly
	f.Fuzz(func(t *testing.T, data []byte, shape uint64) {
		r := rand.New(rand.NewPCG(shape, 1))
		b := &codestream.Block{Width: 1 + r.IntN(64), Height: 1 + r.IntN(64), Planes: 1 + r.IntN(codestream.MaxPlanes), Orientation: codestream.Orientation(r.IntN(4))}
		if r.IntN(4) == 0 {
			b.Width = 1 + r.IntN(1024)
			b.Height = 1 + r.IntN(min(1024, maxSamples/b.Width&^3))
		}
		if shape&1 != 0 { // what an encoder makes
			src := make([]int32, b.Width*b.Height)
			for i := range src {
				src[i] = int32(r.Uint64N(1<<(shape>>1&15))) * int32(1-2*(i&1))
			}
			var e Encoder
			c := e.Encode(src, b.Width, b.Width, b.Height, b.Orientation, 0)
			b.Planes = c.Planes
			b.Segments = []codestream.Segment{{Data: c.Data, Passes: len(c.Passes)}}
			if shape>>5&1 != 0 && len(c.Data) > 0 {
				c.Data[r.IntN(len(c.Data))] ^= byte(shape >> 8)
			}
		} else {
			for rest := 3*b.Planes - 2; rest > 0 && len(data) > 0; {
				n, passes := 1+r.IntN(len(data)), 1+r.IntN(rest)
				b.Segments = append(b.Segments, codestream.Segment{Data: data[:n], Passes: passes})
				data, rest = data[n:], rest-passes
			}
		}
		for _, style := range []codestream.BlockStyle{codestream.Reset, codestream.SegmentMark, codestream.Bypass} {
			if r.IntN(4) == 0 {
				b.Style |= style
			}
		}
		if b.Style&codestream.Bypass != 0 { // segments of one pass are all with arithmetic coding or all without
			var segments []codestream.Segment
			for _, s := range b.Segments {
				for i := range s.Passes {
					segments = append(segments, codestream.Segment{Data: s.Data[min(i, len(s.Data)):], Passes: 1})
				}
			}
			b.Segments = segments
		}
		if len(b.Segments) == 0 || b.Segments[0].Passes == 0 {
			return
		}
		var decoded [2][]int32
		for i := range decoded {
			useAssembly = assembly && i == 0
			decoded[i] = make([]int32, b.Width*b.Height)
			if err := Decode(decoded[i], b.Width, b); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(decoded[0], decoded[1]) {
			t.Fatalf("%dx%d of %d planes, style %#x: other coefficients", b.Width, b.Height, b.Planes, b.Style)
		}
	})
}
