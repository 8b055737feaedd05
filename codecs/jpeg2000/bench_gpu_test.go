package jpeg2000

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// landscape is an image of smooth slopes, edges and grain.
func landscape(seed uint64, w, h int) *raster.Image {
	m := raster.New(w, h, 1, 3, 8)
	pool.New().Each(h, func(y int) {
		r := rand.New(rand.NewPCG(seed, uint64(y)))
		for x := range w {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31+float64(seed)) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			grain := float64(r.IntN(12))
			for c := range 3 {
				m.Pix[3*(y*w+x)+c] = byte(min(max(v*(1-float64(c)/9)+grain+float64(r.IntN(5)), 0), 255))
			}
		}
	})
	return m
}

// wholeTile is an image as one tile with five levels and code-blocks of 64 x 64.
func wholeTile(m *raster.Image, style codestream.BlockStyle) *deviceTile {
	size := codestream.Size{Image: image.Rect(0, 0, m.Width, m.Height), Tile: image.Pt(m.Width, m.Height)}
	params := codestream.Params{Layers: 1, MCT: m.Channels >= 3}
	for range m.Channels {
		size.Components = append(size.Components, codestream.Component{Bits: m.Bits, Step: image.Pt(1, 1)})
		params.Components = append(params.Components, codestream.Coding{
			Levels: 5, BlockExp: image.Pt(6, 6), Style: style, Transform: codestream.Reversible53,
			Quantization: codestream.Quantization{Guard: 2, Steps: slices.Repeat([]codestream.Step{{Exponent: m.Bits + 2}}, 16)},
		})
	}
	return &deviceTile{image: m, tile: size.NewTile(0, &params), coloured: params.MCT}
}

// BenchmarkCardSteps prints how long each step takes on a card.
func BenchmarkCardSteps(b *testing.B) {
	dev := gputest.Device(b, nil)
	for _, size := range []struct {
		n, w, h int
		style   codestream.BlockStyle
	}{{1, 3840, 2160, codestream.HT}, {8, 3840, 2160, codestream.HT}, {96, 768, 512, codestream.HT}, {1, 3840, 2160, 0}, {8, 3840, 2160, 0}, {96, 768, 512, 0}} {
		var made []*raster.Image
		for i := range min(size.n, 4) {
			made = append(made, benchImage(b, i, size.w, size.h))
		}
		var tiles []*deviceTile
		for i := range size.n {
			tiles = append(tiles, wholeTile(made[i%len(made)], size.style))
		}
		pixels := float64(size.n * size.w * size.h)
		for round := range 3 {
			err := dev.Do(b.Context(), func(l *gpu.Lane) error {
				for _, t := range tiles {
					t.segments = nil
				}
				e := newBatch(dev, l, pool.New(), tiles)
				e.timed = func(what string, took time.Duration) {
					if round == 2 {
						fmt.Printf("%d x %d x %d: %-20s %8.3f ms %8.2f Gpx/s\n", size.n, size.w, size.h, what, took.Seconds()*1e3, pixels/took.Seconds()/1e9)
					}
				}
				start := time.Now()
				if err := e.encode(b.Context(), 0, false); err != nil {
					return err
				}
				e.timed("encode", time.Since(start))
				for _, t := range tiles {
					i := 0
					for c := range t.tile.Components {
						eachBlock(&t.tile.Components[c], func(band *codestream.Subband, _ image.Rectangle) {
							t.segments[i].data = bytes.Clone(t.segments[i].data)
							t.segments[i].asDecoded(band, size.style)
							i++
						})
					}
				}
				e.result.Free()
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			err = dev.Do(b.Context(), func(l *gpu.Lane) error {
				e := newBatch(dev, l, pool.New(), tiles)
				e.timed = func(what string, took time.Duration) {
					if round == 2 {
						fmt.Printf("%d x %d x %d: %-20s %8.3f ms %8.2f Gpx/s\n", size.n, size.w, size.h, what, took.Seconds()*1e3, pixels/took.Seconds()/1e9)
					}
				}
				start := time.Now()
				if err := e.decode(b.Context()); err != nil {
					return err
				}
				e.timed("decode", time.Since(start))
				defer e.result.Free()
				if !bytes.Equal(e.samplesOf(tiles[0].image), tiles[0].image.Pix) {
					return errors.New("samples differ")
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkCardHT is [benchmarkCard] for High Throughput code-blocks.
func BenchmarkCardHT(b *testing.B) {
	benchmarkCard(b, "mode=ht", []cardRow{
		{24, 3840, 2160, "7.7", "11.9"}, {96, 768, 512, "7.4", "8.2"}, {480, 768, 512, "7.4", "8.2"},
	})
}

// BenchmarkCardPart1 is [benchmarkCard] for code-blocks of Part 1.
func BenchmarkCardPart1(b *testing.B) {
	benchmarkCard(b, "mode=part1", []cardRow{
		{24, 3840, 2160, "2.2", "3.3"}, {96, 768, 512, "1.5", "2.5"}, {480, 768, 512, "1.5", "2.5"},
	})
}

// cardRow is so many RGB images of 8 bits, and the rates in Gpx/s that their encoding and
// decoding must reach on an H200.
type cardRow struct {
	n, w, h        int
	encode, decode string
}

// benchmarkCard prints how fast images in pinned memory become files, and these images again, with
// results in pinned memory that is used again and again, as the benchmark of nvJPEG2000 has them, a
// call alone and with others at the same time, and in new memory; with what is required, the rates of nvJPEG2000 where its benchmark is at hand,
// and those of the CPU with all its cores.
func benchmarkCard(b *testing.B, mode string, rows []cardRow) {
	dev := gputest.Device(b, nil)
	o, err := Codec{}.Options([]string{"effort=fast", "container=j2c", mode})
	if err != nil {
		b.Fatal(err)
	}
	fmt.Printf("\n%s without loss, host to host, on %s\n%-24s %-10s %9s %9s %9s %9s %8s\n%-24s %-10s %9s %9s %9s %9s\n", mode, dev.Name(),
		"", "", "encode", "required", "decode", "required", "bits", "images", "by", "Gpx/s", "", "Gpx/s", "a pixel")
	for _, r := range rows {
		name := fmt.Sprintf("%d x %d x %d RGB", r.n, r.w, r.h)
		images := r.images(b, dev)
		pixels := float64(r.n * r.w * r.h)
		rate := func(d time.Duration) float64 { return pixels / d.Seconds() / 1e9 }
		results := &gputest.Results{Device: dev}
		rounds := 8 * max(1, int(480*768*512/pixels)) // small calls are measured as long as large ones
		encode, decode, size := r.rates(b, codec.Run{Device: dev, Alloc: results.Alloc}, results, o, images, rounds)
		fmt.Printf("%-24s %-10s %9.2f %9s %9.2f %9s %8.3f\n", name, "this", rate(encode), r.encode, rate(decode), r.decode, 8*float64(size)/pixels)
		results.Free()
		encode, decode = r.ratesAtOnce(b, dev, o, images, rounds/2)
		fmt.Printf("%-24s %-10s %9.2f %9s %9.2f %9s\n", name, fmt.Sprint(callsAtOnce, " calls"), rate(encode), r.encode, rate(decode), r.decode)
		encode, decode, _ = r.rates(b, codec.Run{Device: dev}, nil, o, images, 6)
		fmt.Printf("%-24s %-10s %9.2f %9s %9.2f\n", name, "new memory", rate(encode), "", rate(decode))
		if encode, decode, err := r.nvJPEG2000(b, mode, images[0]); err != nil {
			fmt.Printf("%-24s nvJPEG2000 not measured: %v\n", name, err)
		} else {
			fmt.Printf("%-24s %-10s %9.2f %9s %9.2f\n", name, "nvJPEG2000", encode, "", decode)
		}
		encode, decode, _ = r.rates(b, codec.Run{}, nil, o, images[:min(r.n, 16)], 1)
		pixels = float64(min(r.n, 16) * r.w * r.h)
		fmt.Printf("%-24s %-10s %9.2f %9s %9.2f\n", name, fmt.Sprintf("CPU of %d", runtime.NumCPU()), rate(encode), "", rate(decode))
	}
}

// images are those of a row in pinned memory, as a reader can put them there.
func (r *cardRow) images(b *testing.B, dev *gpu.Device) (images []*raster.Image) {
	var made []*raster.Image
	for i := range min(r.n, 4) {
		made = append(made, benchImage(b, i, r.w, r.h))
	}
	for i := range r.n {
		m := made[i%len(made)]
		pinned, err := dev.Host(len(m.Pix))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pinned.Free)
		copy(pinned.Bytes, m.Pix)
		images = append(images, &raster.Image{Shape: m.Shape, Pix: pinned.Bytes})
	}
	return images
}

// rates are the best times of encoding the images and of decoding their files, and the
// bytes of these.
func (r *cardRow) rates(b *testing.B, run codec.Run, results *gputest.Results, o codec.Options, images []*raster.Image, rounds int) (encode, decode time.Duration, size int) {
	var files [][]byte
	encode, decode = time.Hour, time.Hour
	for range rounds {
		files = files[:0]
		results.Reuse()
		start := time.Now()
		coded := Codec{}.Encode(b.Context(), run, codec.Items(images...), o)
		encode = min(encode, time.Since(start))
		for _, e := range coded {
			if e.Err != nil {
				b.Fatal(e.Err)
			}
			files = append(files, e.Data)
		}
		start = time.Now()
		decoded := Codec{}.Decode(b.Context(), run, files, nil)
		decode = min(decode, time.Since(start))
		for i, d := range decoded {
			if d.Err != nil || !bytes.Equal(d.Image.Pix, images[i].Pix) {
				b.Fatalf("image %d: %v, or other samples", i, d.Err)
			}
		}
	}
	return encode, decode, total(files)
}

// callsAtOnce is how many calls for a card the worker has at a time.
const callsAtOnce = 2

// ratesAtOnce is the time that a call takes, of several that each of callsAtOnce goroutines makes one after the
// other, of encoding the images and of decoding their files: the best of some rounds.
func (r *cardRow) ratesAtOnce(b *testing.B, dev *gpu.Device, o codec.Options, images []*raster.Image, rounds int) (encode, decode time.Duration) {
	const calls = 3 // of a goroutine in a round
	var files, samples [callsAtOnce]gputest.Results
	var coded [callsAtOnce][][]byte
	for k := range callsAtOnce {
		files[k].Device, samples[k].Device = dev, dev
		defer files[k].Free()
		defer samples[k].Free()
	}
	each := func(call func(k int)) time.Duration {
		start := time.Now()
		var all sync.WaitGroup
		for k := range callsAtOnce {
			all.Go(func() {
				for range calls {
					call(k)
				}
			})
		}
		all.Wait()
		return time.Since(start) / (calls * callsAtOnce)
	}
	encode, decode = time.Hour, time.Hour
	for range rounds {
		encode = min(encode, each(func(k int) {
			files[k].Reuse()
			coded[k] = coded[k][:0]
			for _, e := range (Codec{}).Encode(b.Context(), codec.Run{Device: dev, Alloc: files[k].Alloc}, codec.Items(images...), o) {
				if e.Err != nil {
					b.Error(e.Err)
				}
				coded[k] = append(coded[k], e.Data)
			}
		}))
		decode = min(decode, each(func(k int) {
			samples[k].Reuse()
			for _, d := range (Codec{}).Decode(b.Context(), codec.Run{Device: dev, Alloc: samples[k].Alloc}, coded[k], nil) {
				if d.Err != nil {
					b.Error(d.Err)
				}
			}
		}))
	}
	return encode, decode
}

// benchImage is made of photographs side by side where they are at hand, as the benchmark
// of nvJPEG2000 beside ours does it, and else drawn.
func benchImage(b *testing.B, number, w, h int) *raster.Image {
	var list []*raster.Image
	for _, n := range []string{"05", "01", "02", "03"} {
		name := "../../../shared/data/kodak/" + n + ".png"
		if _, err := os.Stat(name); err != nil {
			return landscape(uint64(number), w, h)
		}
		list = append(list, readImage(b, name))
	}
	m := raster.New(w, h, 1, 3, 8)
	across := (w + 767) / 768
	for y := range h {
		for x := 0; x < w; x += 768 {
			from := list[(number+y/512*across+x/768)%len(list)]
			copy(m.Pix[3*(y*w+x):3*(y+1)*w], from.Pix[3*768*(y%512):][:3*768])
		}
	}
	return m
}

func total(files [][]byte) (n int) {
	for _, f := range files {
		n += len(f)
	}
	return n
}
