package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkCompress compares the whole command, from the listing to the report,
// with a direct loop over the same files that calls the same reader, codec and
// verification, a goroutine a core, and writes nothing. Both run in turn, three
// times. "ratio" is the command's rate over that of the loop.
func BenchmarkCompress(b *testing.B) {
	b.Run("2000x256x256", func(b *testing.B) {
		dir := b.TempDir()
		for i := range 2000 {
			s := faults.Image(uint64(i), fmt.Sprintf("%04d.png", i), 256, 256)
			if err := os.WriteFile(filepath.Join(dir, s.Key), s.Data, 0o666); err != nil {
				b.Fatal(err)
			}
		}
		benchCompress(b, dir)
	})
	b.Run("48x768x512", func(b *testing.B) {
		kodak, _ := filepath.Glob("../../../shared/data/kodak/*.png")
		if len(kodak) == 0 {
			b.Log("NO KODAK PICTURES in ../shared/data/kodak: the files are made instead")
		}
		dir := b.TempDir()
		for i := range 48 {
			data := faults.Image(uint64(i), "", 768, 512).Data
			if len(kodak) > 0 {
				var err error
				if data, err = os.ReadFile(kodak[i%len(kodak)]); err != nil {
					b.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.png", i)), data, 0o666); err != nil {
				b.Fatal(err)
			}
		}
		benchCompress(b, dir)
	})
}

func benchCompress(b *testing.B, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		b.Fatal(err)
	}
	var loop, command time.Duration
	for b.Loop() {
		for range 3 {
			loop += benchLoop(b, files)
			p := &program{stdout: io.Discard, stderr: io.Discard, env: func(string) (string, bool) { return "", false }}
			start := time.Now()
			if code := p.run(b.Context(), []string{"compress", dir, b.TempDir(), "--codec", "vq", "-q"}); code != 0 {
				b.Fatalf("exit code %d", code)
			}
			command += time.Since(start)
		}
	}
	objects := float64(3 * b.N * len(files))
	b.ReportMetric(objects/command.Seconds(), "objects/s")
	b.ReportMetric(objects/loop.Seconds(), "loop-objects/s")
	b.ReportMetric(loop.Seconds()/command.Seconds(), "ratio")
}

func benchLoop(b *testing.B, files []string) time.Duration {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if err := benchOne(b.Context(), files[i]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// benchOne verifies as a job does: the decoded image's hash, PSNR and SSIM.
func benchOne(ctx context.Context, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		return err
	}
	m.Hash()
	encoded := vq.Codec{}.Encode(ctx, codec.Run{}, codec.Items(m), nil)[0]
	if encoded.Err != nil {
		return encoded.Err
	}
	decoded := vq.Codec{}.Decode(ctx, codec.Run{}, [][]byte{encoded.Data}, nil)[0]
	if decoded.Err != nil {
		return decoded.Err
	}
	decoded.Image.Hash()
	_, _, err = raster.Quality(m, decoded.Image)
	return err
}
