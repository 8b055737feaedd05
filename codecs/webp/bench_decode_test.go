//go:build unix

package webp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
)

// decodeTimes are the processor times of the checks of one file: of all that a check does but the comparison, and
// of its parts, the decoder and the hash; and of other decoders.
type decodeTimes struct{ check, decoder, hash, foreign, libwebp time.Duration }

// BenchmarkLibwebp prints how long it takes to decode files of the default options on one core, in nanoseconds of processor
// time a pixel, each the least of several rounds: ours and golang.org/x/image's in this process, and libwebp's in another, in
// turns. The C program is made of testdata/libwebp.c.
func BenchmarkLibwebp(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "libwebp-read")
	text, peerErr := exec.Command("cc", "-O2", "-o", program, filepath.Join("testdata", "libwebp.c"), "-l:libwebp.so.7").CombinedOutput()
	if peerErr != nil {
		fmt.Printf("NOT COMPARED with libwebp, which needs cc and libwebp.so.7: %v: %.200s\n", peerErr, text)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for b.Loop() {
		fmt.Printf("\n%-10s %6s %10s %10s %10s %12s %10s %8s   ns/px\n", "decoding", "files", "check", "decoder", "hash", "x/image", "libwebp", "times")
		for _, set := range []string{"kodak", "graphics"} {
			names, err := filepath.Glob(filepath.Join(sharedData(set), "*.png"))
			if err != nil || len(names) == 0 {
				b.Skipf("SKIPPED: %s is absent", sharedData(set))
			}
			var sum decodeTimes
			pixels := 0
			for _, name := range names {
				file, n := defaultFile(b, name)
				if file == nil {
					continue
				}
				path := filepath.Join(dir, "a.webp")
				if err := os.WriteFile(path, file, 0o600); err != nil {
					b.Fatal(err)
				}
				t := timesOf(b, file)
				if peerErr == nil {
					t.libwebp = libwebpTime(b, program, path)
				}
				sum.check, sum.decoder, sum.hash = sum.check+t.check, sum.decoder+t.decoder, sum.hash+t.hash
				sum.foreign, sum.libwebp = sum.foreign+t.foreign, sum.libwebp+t.libwebp
				pixels += n
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(pixels) }
			fmt.Printf("%-10s %6d %10.2f %10.2f %10.2f %12.2f %10.2f %8.2f\n", set, len(names), per(sum.check), per(sum.decoder), per(sum.hash),
				per(sum.foreign), per(sum.libwebp), per(sum.libwebp)/per(sum.decoder))
		}
	}
}

// defaultFile is the file of an image with the default options, nil where the codec does not take it.
func defaultFile(b *testing.B, name string) (file []byte, pixels int) {
	data, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		b.Fatal(err)
	}
	o, err := Codec{}.Options([]string{"metadata=strip"})
	if err != nil {
		b.Fatal(err)
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		return nil, 0
	}
	return e.Data, m.Width * m.Height
}

func timesOf(b *testing.B, file []byte) (t decodeTimes) {
	f, err := open(file)
	if err != nil {
		b.Fatal(err)
	}
	least := func(d *time.Duration, rounds int, what func()) {
		for range rounds {
			from := cpuTime(syscall.RUSAGE_SELF)
			what()
			if took := cpuTime(syscall.RUSAGE_SELF) - from; *d == 0 || took < *d {
				*d = took
			}
		}
	}
	for range 3 {
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0]
		if d.Err != nil {
			b.Fatal(d.Err)
		}
		least(&t.check, 4, func() { Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{file}, nil)[0].Image.Hash() })
		least(&t.decoder, 4, func() { _, err = f.source.Decode() })
		least(&t.hash, 4, func() { d.Image.Hash() })
		least(&t.foreign, 2, func() { _, err = f.source.DecodeForeign() })
	}
	return t
}

func libwebpTime(b *testing.B, program, file string) time.Duration {
	out, err := exec.Command(program, "12", file).Output()
	var pixels int
	var seconds float64
	if err == nil {
		_, err = fmt.Fscan(strings.NewReader(string(out)), &pixels, &seconds)
	}
	if err != nil {
		b.Fatalf("libwebp-read says %q: %v", out, err)
	}
	return time.Duration(seconds * 1e9)
}
