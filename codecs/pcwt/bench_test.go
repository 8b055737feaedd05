package pcwt

import (
	"context"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
)

// BenchmarkOneCore measures one photograph on one core, in pixels as bytes.
func BenchmarkOneCore(b *testing.B) {
	for _, c := range []struct {
		name    string
		options []string
		grey    bool
	}{
		{"grey", nil, true},
		{"grey/fast", []string{"fast=true"}, true},
		{"rgb", nil, false},
		{"grey/profile=0", []string{"profile=0"}, true},
	} {
		m, ok := kodak(b, 5, c.grey)
		if !ok {
			b.Skipf("SKIPPED: %s is absent", sharedData("kodak"))
		}
		o, err := Codec{}.Options(c.options)
		if err != nil {
			b.Fatal(err)
		}
		run := codec.Run{Pool: pool.Of(1)}
		file := Codec{}.Encode(context.Background(), run, codec.Items(m), o)[0].Data
		b.Run(c.name+"/encode", func(b *testing.B) {
			b.SetBytes(int64(m.Pixels()))
			b.ReportAllocs()
			for b.Loop() {
				Codec{}.Encode(context.Background(), run, codec.Items(m), o)
			}
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(m.Pixels()))
			b.ReportAllocs()
			for b.Loop() {
				Codec{}.Decode(context.Background(), run, [][]byte{file}, nil)
			}
		})
	}
}
