//go:build cuda && cgo

package pcwt

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// imagesOf are pictures of one slice as images.
func imagesOf(list []picture) []*raster.Image {
	images := make([]*raster.Image, len(list))
	for i, p := range list {
		images[i] = raster.New(p.width, p.height, 1, p.channels, p.bits)
		copy(images[i].Pix, p.pix)
	}
	return images
}

// BenchmarkCardBatches is Encode and Decode of both profiles, from and to host memory, checksums included.
func BenchmarkCardBatches(b *testing.B) {
	dev := gputest.Device(b, nil)
	sets := []struct {
		name string
		list []*raster.Image
	}{
		{"1536 x Kodak grey", imagesOf(kodakPictures(b, 1536, 1))},
		{"512 x Kodak RGB", imagesOf(kodakPictures(b, 512, 3))},
		{"8 x 8192 x 8192 grey", imagesOf([]picture{
			landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1),
			landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1), landscape(8192, 8192, 1)})},
		{"1 x Kodak grey", imagesOf(kodakPictures(b, 1, 1))},
	}
	for b.Loop() {
		fmt.Printf("\nhost to host on %s\n%-22s %-12s %10s %10s %8s\n%-22s %-12s %10s %10s\n", dev.Name(),
			"", "", "encode", "decode", "ratio", "images", "", "Gsamples/s", "Gsamples/s")
		for _, s := range sets {
			for _, pairs := range [][]string{{"effort=0"}, {"effort=0", "fast=true"}, {"profile=0"}} {
				if err := rates(dev, s.name, s.list, pairs); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func rates(dev *gpu.Device, name string, list []*raster.Image, pairs []string) error {
	o, err := Codec{}.Options(pairs)
	if err != nil {
		return err
	}
	run := codec.Run{Device: dev, Pool: pool.New()}
	samples, size := 0, 0
	for _, m := range list {
		samples += m.Samples()
	}
	files := make([][]byte, len(list))
	encode, decode := time.Hour, time.Hour
	for range 4 {
		start := time.Now()
		out := Codec{}.Encode(context.Background(), run, codec.Items(list...), o)
		encode = min(encode, time.Since(start))
		for i, e := range out {
			if e.Err != nil {
				return e.Err
			}
			files[i] = e.Data
		}
	}
	for range 4 {
		start := time.Now()
		out := Codec{}.Decode(context.Background(), run, files, nil)
		decode = min(decode, time.Since(start))
		for _, d := range out {
			if d.Err != nil {
				return d.Err
			}
		}
	}
	for _, f := range files {
		size += len(f)
	}
	rate := func(t time.Duration) float64 { return float64(samples) / t.Seconds() / 1e9 }
	kind := pairs[len(pairs)-1]
	if kind == "effort=0" {
		kind = "profile 1"
	}
	fmt.Printf("%-22s %-12s %10.2f %10.2f %8.3f", name, kind, rate(encode), rate(decode), float64(size)/float64(samples))
	if kind == "profile=0" {
		const paper = 0.201 // Gpx/s, the best of table 5.2
		fmt.Printf("   %.0f times the paper's encoder", rate(encode)/paper)
	}
	fmt.Println()
	return nil
}

// BenchmarkCardSteps is the kernels' times for a batch and for one large image, without copies.
func BenchmarkCardSteps(b *testing.B) {
	dev := gputest.Device(b, nil)
	for b.Loop() {
		for _, s := range []struct {
			name string
			list []*raster.Image
		}{
			{"128 x Kodak grey", imagesOf(kodakPictures(b, 128, 1))}, {"43 x Kodak RGB", imagesOf(kodakPictures(b, 43, 3))},
			{"8192 x 8192 grey", imagesOf([]picture{landscape(8192, 8192, 1)})},
		} {
			for _, fast := range []bool{false, true} {
				err := dev.Do(context.Background(), func(l *gpu.Lane) error { return stepTimes(newDeviceSteps(l, pool.New()), s.name, s.list, fast) })
				if err != nil {
					b.Fatal(err)
				}
			}
			err := dev.Do(context.Background(), func(l *gpu.Lane) error { return treeTimes(newDeviceSteps(l, pool.New()), s.name, s.list) })
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// timed prints the least time of a few runs of a step.
func timed(d *deviceSteps, name string, samples int, f func() error) (time.Duration, error) {
	least := time.Hour
	for range 3 {
		t, err := d.stream.Time(f)
		if err != nil {
			return 0, err
		}
		least = min(least, t)
	}
	fmt.Printf("  %-20s %8.3f ms %8.1f Gsamples/s\n", name, float64(least.Microseconds())/1000, float64(samples)/least.Seconds()/1e9)
	return least, nil
}

func stepTimes(d *deviceSteps, name string, list []*raster.Image, fast bool) error {
	o := defaults
	o.fast, o.effort = fast, 0
	headers := make([]*header, len(list))
	samples := 0
	for i, m := range list {
		headers[i] = (&encoder{context.Background(), pool.New(), m, &o}).plain()
		if err := headers[i].setTables(); err != nil {
			return err
		}
		samples += m.Samples()
	}
	fmt.Printf("\n%s, fast %t, kernels on %s\n", name, fast, d.lane.Card().Name)
	pictures, frames := slicePictures(list, headers)
	b, err := d.newModelBatch(pictures, headers, frames, 0, true)
	if err != nil {
		return err
	}
	if err := d.makePlanes(b.images); err != nil {
		return err
	}
	each := func(kernel string) func() error { return func() error { return b.run(kernel, 0, len(b.models)) } }
	all := time.Duration(0)
	for _, step := range []struct {
		name string
		f    func() error
	}{
		{"split", func() error {
			for level := range b.most {
				if err := b.transform("pcwt_split", level); err != nil {
					return err
				}
			}
			return nil
		}},
		{"predict", each("pcwt_predict")}, {"scale", each("pcwt_scale")}, {"encode tiles", each("pcwt_encode_tiles")},
	} {
		t, err := timed(d, step.name, samples, step.f)
		if err != nil {
			return err
		}
		all += t
	}
	fmt.Printf("  %-20s %8.3f ms\n", "encoding", float64(all.Microseconds())/1000)
	files, err := d.encodeTiles(context.Background(), pictures, headers, frames, func() {})
	if err != nil {
		return err
	}
	coded := make([]*codedFile, len(files))
	for i, f := range files {
		if coded[i], err = readTiles(headers[i], f, 0); err != nil {
			return err
		}
	}
	return decodeTimes(d, pictures, headers, frames, coded, samples)
}

func decodeTimes(d *deviceSteps, pictures []picture, headers []*header, frames []frame, coded []*codedFile, samples int) error {
	b, err := d.newModelBatch(pictures, headers, frames, 0, false)
	if err != nil {
		return err
	}
	bytes, err := b.upload(coded)
	if err != nil {
		return err
	}
	all := time.Duration(0)
	sum := map[string]time.Duration{}
	for level := b.most - 1; level >= 0; level-- {
		for c := range mostChannels {
			for _, step := range []struct {
				name string
				f    func() error
			}{
				{"know", func() error { return b.run("pcwt_know", b.ranges[c][level], b.ranges[c][level+1]) }},
				{"decode tiles", func() error {
					return b.runWith("pcwt_decode_tiles", bytes.Ptr, b.ranges[c][level], b.ranges[c][level+1])
				}},
			} {
				t, err := d.stream.Time(step.f)
				if err != nil {
					return err
				}
				sum[step.name] += t
				all += t
				if level < 2 {
					sum[fmt.Sprintf("%s level %d", step.name, level+1)] += t
				}
			}
		}
		t, err := d.stream.Time(func() error { return b.transform("pcwt_join", level) })
		if err != nil {
			return err
		}
		sum["join"] += t
		all += t
	}
	for _, name := range []string{"know", "know level 1", "decode tiles", "decode tiles level 1", "decode tiles level 2", "join"} {
		t := sum[name]
		fmt.Printf("  %-20s %8.3f ms %8.1f Gsamples/s\n", name, float64(t.Microseconds())/1000, float64(samples)/t.Seconds()/1e9)
	}
	fmt.Printf("  %-20s %8.3f ms\n", "decoding", float64(all.Microseconds())/1000)
	return nil
}

func treeTimes(d *deviceSteps, name string, list []*raster.Image) error {
	o := defaults
	o.profile = 0
	headers := make([]*header, len(list))
	samples := 0
	for i, m := range list {
		headers[i] = (&encoder{context.Background(), pool.New(), m, &o}).header()
		samples += m.Samples()
	}
	fmt.Printf("\n%s, profile 0, kernels\n", name)
	pictures, _ := slicePictures(list, headers)
	var params = treeParams(&o, pictures)
	b, err := d.newTreeBatch(pictures, params)
	if err != nil {
		return err
	}
	if err := d.makePlanes(b.images); err != nil {
		return err
	}
	if _, err := timed(d, "analyse", samples, b.analyse); err != nil {
		return err
	}
	_, err = timed(d, "code, with copies", samples, func() error {
		return b.code(func(sizes []int) (files [][]byte) {
			for _, n := range sizes {
				files = append(files, make([]byte, n))
			}
			return files
		})
	})
	return err
}
