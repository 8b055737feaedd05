package jpeg2000

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// openJPEGTimes is how often each program and each of our calls runs; the least counts.
const openJPEGTimes = 3

// BenchmarkOpenJPEG prints our Part 1 files of the Kodak suite beside OpenJPEG's: bytes of
// the codestreams with the same levels and blocks, without its comment, CPU time for a pixel on one core, that of its
// programs from start to end with files of PNM, and the mean PSNR at four rates.
func BenchmarkOpenJPEG(b *testing.B) {
	need(b, "opj_compress")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	images := kodak(b)
	benchLossless(b, images)
	fmt.Printf("%-10s %10s %10s %10s %10s\n", "9/7, bpp", "ours bpp", "dB", "peer bpp", "dB")
	for _, bpp := range []float64{0.25, 0.5, 1, 2} {
		benchLossy(b, images, bpp)
	}
}

func benchLossless(b *testing.B, images []*raster.Image) {
	o, err := Codec{}.Options([]string{"container=j2c", "effort=fast"})
	if err != nil {
		b.Fatal(err)
	}
	standard, err := Codec{}.Options([]string{"container=j2c"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, run := context.Background(), codec.Run{Pool: pool.Of(1)}
	var pixels, bytes, peerBytes int
	var encode, sampled, decode, peerEncode, peerDecode time.Duration
	for i, m := range images {
		var data []byte
		encode += leastCPU(openJPEGTimes, func() { data = Codec{}.Encode(ctx, run, codec.Items(m), o)[0].Data })
		sampled += leastCPU(openJPEGTimes, func() { Codec{}.Encode(ctx, run, codec.Items(m), standard) })
		var back codec.Decoded
		decode += leastCPU(openJPEGTimes, func() { back = Codec{}.Decode(ctx, run, [][]byte{data}, nil)[0] })
		if back.Err != nil || back.Image.Hash() != m.Hash() {
			b.Fatalf("image %d: %v, or other samples", i, back.Err)
		}
		ppm, j2k := ppmFile(b, m), filepath.Join(b.TempDir(), "a.j2k")
		peerEncode += leastOf(b, "opj_compress", "-i", ppm, "-o", j2k)
		peerDecode += leastOf(b, "opj_decompress", "-i", j2k, "-o", ppm)
		peer, err := os.ReadFile(j2k)
		if err != nil {
			b.Fatal(err)
		}
		pixels, bytes, peerBytes = pixels+m.Pixels(), bytes+len(data), peerBytes+len(peer)-comment
	}
	ns := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(pixels) }
	fmt.Printf("%d images, Part 1 without loss    bytes        encode        decode\n", len(images))
	fmt.Printf("ours     %29d %7.1f ns/pixel %5.1f ns/pixel\n", bytes, ns(encode), ns(decode))
	fmt.Printf("OpenJPEG %29d %7.1f ns/pixel %5.1f ns/pixel\n", peerBytes, ns(peerEncode), ns(peerDecode))
	required(b, "Part 1, CPU time to encode of OpenJPEG's, effort=fast", 1, ns(encode)/ns(peerEncode))
	required(b, "Part 1, CPU time to encode of OpenJPEG's, effort=default", 1, ns(sampled)/ns(peerEncode))
	required(b, "Part 1, CPU time to decode of OpenJPEG's", 1, ns(decode)/ns(peerDecode))
	required(b, "Part 1, bytes of Kodak", float64(peerBytes), float64(bytes))
}

// required prints what is promised, at most so much, beside what was measured.
func required(b *testing.B, what string, most, measured float64) {
	state := "met"
	if measured > most {
		state = "MISSED"
	}
	format := "%-64s required %12.0f  measured %12.0f  %s\n"
	if most < 1000 {
		format = "%-64s required %12.3f  measured %12.3f  %s\n"
	}
	fmt.Printf(format, what, most, measured, state)
}

func benchLossy(b *testing.B, images []*raster.Image, bpp float64) {
	var bits, psnr, peerBits, peerPSNR float64
	for _, m := range images {
		data := encoded(b, m, "container=j2c", fmt.Sprint("bpp=", bpp))
		peer := openJPEGFile(b, ppmFile(b, m), "-I", "-r", fmt.Sprint(24/bpp))
		bits += 8 * float64(len(data)) / float64(m.Pixels())
		peerBits += 8 * float64(len(peer)) / float64(m.Pixels())
		psnr += psnrOf(b, m, data)
		peerPSNR += psnrOf(b, m, peer)
	}
	n := float64(len(images))
	fmt.Printf("%-10g %10.4f %10.3f %10.4f %10.3f\n", bpp, bits/n, psnr/n, peerBits/n, peerPSNR/n)
	required(b, fmt.Sprintf("9/7 at %g bits per pixel, dB below OpenJPEG's", bpp), 0, (peerPSNR-psnr)/n)
}

// ppmFile writes an image of three channels as PPM.
func ppmFile(t testing.TB, m *raster.Image) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.ppm")
	if err := os.WriteFile(name, fmt.Appendf(nil, "P6\n%d %d\n255\n%s", m.Width, m.Height, m.Pix), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// leastOf is the least CPU time of a program.
func leastOf(b *testing.B, program string, args ...string) time.Duration {
	b.Helper()
	least := time.Hour
	for range openJPEGTimes {
		cmd := exec.Command(program, args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", program, err, out)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return least
}
