//go:build unix

package pcwt

import (
	"context"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
)

// BenchmarkOneCore measures one photograph on one core: Mpx/s are of processor time, MB/s of time, a pixel
// being a byte.
func BenchmarkOneCore(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the heap of a worker is larger than that of one image
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
			processorRate(b, m.Pixels(), func() { Codec{}.Encode(context.Background(), run, codec.Items(m), o) })
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(m.Pixels()))
			b.ReportAllocs()
			processorRate(b, m.Pixels(), func() { Codec{}.Decode(context.Background(), run, [][]byte{file}, nil) })
		})
	}
}

// processorRate measures f, which does so many pixels, by the processor time of the process.
func processorRate(b *testing.B, pixels int, f func()) {
	start, n := processorTime(b), 0
	for b.Loop() {
		f()
		n++
	}
	b.ReportMetric(float64(n*pixels)/1e6/(processorTime(b)-start).Seconds(), "Mpx/s")
}

// processorTime is what the process has used, for itself and in the system: how a short time is divided between the two is not
// known well.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
