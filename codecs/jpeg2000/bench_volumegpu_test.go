package jpeg2000

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/volume"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// benchCardVolume is the magnetic resonance volume of the table in internal/volume/README.md,
// or one of its size that is drawn.
func benchCardVolume(b *testing.B) *raster.Image {
	if m := tryVolume(b, "spm152"); m != nil {
		return m
	}
	m := raster.New(207, 256, 215, 1, 8)
	for z := range m.Depth {
		for i, v := range landscape(1, m.Width, m.Height).Pix {
			if i%3 == 0 {
				m.Pix[z*m.Width*m.Height+i/3] = v/2 + byte(z/4)
			}
		}
	}
	return m
}

// BenchmarkCardVolumes prints how fast volumes in pinned memory become files of Part 10 in
// memory, and these volumes again, and how long the steps of a batch take.
func BenchmarkCardVolumes(b *testing.B) {
	dev := gputest.Device(b, nil)
	m := benchCardVolume(b)
	pinned, err := dev.Host(len(m.Pix))
	if err != nil {
		b.Fatal(err)
	}
	defer pinned.Free()
	copy(pinned.Bytes, m.Pix)
	m.Pix = pinned.Bytes
	volumeSteps(b, dev, m)
	for _, c := range []struct {
		options  []string
		n, times int
	}{
		{[]string{"container=jp3d", "effort=fast"}, 96, 4}, {[]string{"container=jp3d", "effort=fast"}, 12, 3},
		{[]string{"effort=fast"}, 48, 3}, {[]string{"effort=fast", "mode=ht"}, 48, 3}, {[]string{"container=jp3d"}, 32, 1},
	} {
		o, err := Codec{}.Options(c.options)
		if err != nil {
			b.Fatal(err)
		}
		for _, run := range []codec.Run{{Device: dev}, {}} {
			n, times, what := c.n, c.times, dev.Name()
			if run.Device == nil {
				n, times, what = 1, 1, "CPU"
			}
			images := make([]*raster.Image, n)
			for i := range images {
				images[i] = m
			}
			encode, decode, size := time.Hour, time.Hour, 0
			for range times {
				start := time.Now()
				coded := Codec{}.Encode(b.Context(), run, codec.Items(images...), o)
				encode = min(encode, time.Since(start))
				var files [][]byte
				for _, e := range coded {
					if e.Err != nil {
						b.Fatal(e.Err)
					}
					files = append(files, e.Data)
				}
				size = len(files[0])
				start = time.Now()
				decoded := Codec{}.Decode(b.Context(), run, files, nil)
				decode = min(decode, time.Since(start))
				for i, d := range decoded {
					if d.Err != nil || !bytes.Equal(d.Image.Pix, m.Pix) {
						b.Fatalf("volume %d: %v, or other samples", i, d.Err)
					}
				}
			}
			voxels := float64(n * m.Pixels())
			fmt.Printf("%3d volumes of %s, %v, %-12s: encode %7.3f Gvoxel/s, decode %7.3f Gvoxel/s, %d bytes (required 1 Gvoxel/s with effort=fast, aim 4)\n",
				n, m.Shape, c.options, what, voxels/encode.Seconds()/1e9, voxels/decode.Seconds()/1e9, size)
		}
	}
}

// volumeSteps prints how long each step of 24 volumes takes.
func volumeSteps(b *testing.B, dev *gpu.Device, m *raster.Image) {
	c := volume.Coding{Levels: [3]int{3, 3, 2}, BlockExp: [3]int{5, 5, 2}}
	const n = 24
	for round := range 2 {
		err := dev.Do(b.Context(), func(l *gpu.Lane) error {
			e := newVolumeBatch(dev, l, pool.New())
			e.timed = func(what string, took time.Duration) {
				if round == 1 {
					fmt.Printf("%d volumes: %-24s %8.3f ms\n", n, what, took.Seconds()*1e3)
				}
			}
			var list []deviceVolume
			var layout gpu.Layout
			var parts []gpu.Part
			for range n {
				v := deviceVolume{shape: m.Shape, samples: layout.Take(m.Size()), coding: c}
				list, parts = append(list, v), append(parts, gpu.Part{At: v.samples, Bytes: m.Pix})
			}
			if err := l.Room(&e.batch.samples, layout.Size); err != nil {
				return err
			}
			if err := e.staging.Upload(e.batch.samples, layout.Size, parts); err != nil {
				return err
			}
			start := time.Now()
			if err := e.take(list); err != nil {
				return err
			}
			blocks, err := e.encode(b.Context())
			if err != nil {
				return err
			}
			e.timed("all of encode", time.Since(start))
			start = time.Now()
			files := make([][]byte, n)
			e.pool.Each(n, func(i int) { files[i] = c.File(m, blocks[i]) })
			e.timed("files", time.Since(start))
			e.result.Free()
			start = time.Now()
			lists := make([]*passList, n)
			packets := make([]*volume.Packets, n)
			errs := make([]error, n)
			e.pool.Each(n, func(i int) {
				if packets[i], errs[i] = volume.ReadPackets(files[i]); errs[i] == nil {
					lists[i], _ = e.passBlocks(&list[i], packets[i])
				}
			})
			for i := range lists {
				if errs[i] != nil {
					return errs[i]
				}
			}
			e.timed("packets", time.Since(start))
			start = time.Now()
			if err := e.decode(b.Context(), lists); err != nil {
				return err
			}
			e.timed("all of decode", time.Since(start))
			e.result.Free()
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
