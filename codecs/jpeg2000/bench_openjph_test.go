package jpeg2000

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// cpuTime is the CPU time of the process, which others that share the machine change less
// than the time of the clock.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// leastCPU is the least CPU time of f.
func leastCPU(times int, f func()) time.Duration {
	least := time.Hour
	for range times {
		start := cpuTime()
		f()
		least = min(least, cpuTime()-start)
	}
	return least
}

// kodak are the images of the Kodak suite that are at hand.
func kodak(b testing.TB) []*raster.Image {
	names, err := filepath.Glob("../../../shared/data/kodak/*.png")
	if err != nil || len(names) == 0 {
		b.Skip("NOT TESTED: ../shared/data/kodak, which is no part of the project, is absent")
	}
	var list []*raster.Image
	for _, name := range names {
		list = append(list, readImage(b, name))
	}
	return list
}

// BenchmarkOpenJPH prints our HT files of the Kodak suite beside OpenJPH's: bytes of the
// codestreams, and CPU time for a pixel on one core.
func BenchmarkOpenJPH(b *testing.B) {
	const times = 5
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	images := kodak(b)
	dir := b.TempDir()
	var jobs []openJPHJob
	for i, m := range images {
		encode := encodeJob(b, dir, i, m, times)
		jobs = append(jobs, encode, openJPHJob{Decode: true, In: encode.Out, Out: encode.Out + ".samples", Times: times})
	}
	seconds := openJPH(b, jobs)
	o, err := Codec{}.Options([]string{"mode=ht", "container=j2c", "effort=fast"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, run := context.Background(), codec.Run{Pool: pool.Of(1)}
	var pixels, bytes, peerBytes int
	var encode, decode, peerEncode, peerDecode float64
	for i, m := range images {
		var data []byte
		encode += leastCPU(times, func() { data = Codec{}.Encode(ctx, run, codec.Items(m), o)[0].Data }).Seconds()
		var back codec.Decoded
		decode += leastCPU(times, func() { back = Codec{}.Decode(ctx, run, [][]byte{data}, nil)[0] }).Seconds()
		if back.Err != nil || back.Image.Hash() != m.Hash() {
			b.Fatalf("image %d: %v, or other samples", i, back.Err)
		}
		peer, err := os.ReadFile(jobs[2*i].Out)
		if err != nil {
			b.Fatal(err)
		}
		if len(data) > len(peer) {
			b.Errorf("image %d: %d bytes, OpenJPH %d", i, len(data), len(peer))
		}
		pixels, bytes, peerBytes = pixels+m.Pixels(), bytes+len(data), peerBytes+len(peer)
		peerEncode, peerDecode = peerEncode+seconds[2*i], peerDecode+seconds[2*i+1]
	}
	ns := func(seconds float64) float64 { return seconds * 1e9 / float64(pixels) }
	fmt.Printf("%d images, HT without loss   bytes        encode        decode\n", len(images))
	fmt.Printf("ours     %26d %7.1f ns/pixel %5.1f ns/pixel\n", bytes, ns(encode), ns(decode))
	fmt.Printf("OpenJPH  %26d %7.1f ns/pixel %5.1f ns/pixel\n", peerBytes, ns(peerEncode), ns(peerDecode))
	required(b, "HT, CPU time to encode of OpenJPH's", 2, encode/peerEncode)
	required(b, "HT, CPU time to decode of OpenJPH's", 2, decode/peerDecode)
	required(b, "HT, bytes of Kodak", float64(peerBytes), float64(bytes))
}
