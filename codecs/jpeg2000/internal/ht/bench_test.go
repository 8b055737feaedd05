package ht

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// detail is a code-block like that of a photograph's finest subbands: magnitudes fall off
// exponentially, with the given mean.
func detail(mean float64) []int32 {
	rng := rand.New(rand.NewPCG(9, 10))
	out := make([]int32, 64*64)
	for i := range out {
		// Neighbours are alike: the mean changes slowly.
		local := mean * (1 + 0.8*math.Sin(float64(i%64)/9)*math.Cos(float64(i/64)/7))
		out[i] = int32(rng.ExpFloat64() * local)
		if rng.IntN(2) == 0 {
			out[i] = -out[i]
		}
	}
	return out
}

var details = []struct {
	name string
	mean float64
}{{"smooth", 0.7}, {"photo", 4}, {"noise", 40}}

func BenchmarkDecode(b *testing.B) {
	for _, d := range details {
		b.Run(d.name, func(b *testing.B) {
			segment, _ := Encode(nil, detail(d.mean), 64, 64, 64)
			block := &codestream.Block{Width: 64, Height: 64, Planes: 16, ZeroPlanes: 15, Segments: []codestream.Segment{{Data: segment, Passes: 1}}}
			dst := make([]int32, 64*64)
			b.ReportMetric(8*float64(len(segment))/4096, "bits/sample")
			for b.Loop() {
				if err := Decode(dst, 64, block); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/sample")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, d := range details {
		b.Run(d.name, func(b *testing.B) {
			src := detail(d.mean)
			var out []byte
			for b.Loop() {
				out, _ = Encode(out[:0], src, 64, 64, 64)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/sample")
		})
	}
}
