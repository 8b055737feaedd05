//go:build cuda && cgo

package pcwt

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// imagesOf are pictures of one slice as images in pinned memory, as a reader can put them there.
func imagesOf(b *testing.B, dev *gpu.Device, list []picture) []*raster.Image {
	images := make([]*raster.Image, len(list))
	size := 0
	for _, p := range list {
		size += len(p.pix)
	}
	host, err := dev.Host(size)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(host.Free)
	at := 0
	for i, p := range list {
		pix := host.Bytes[at:][:len(p.pix):len(p.pix)]
		at += copy(pix, p.pix)
		images[i] = &raster.Image{Shape: raster.Shape{Width: p.width, Height: p.height, Depth: 1, Channels: p.channels, Bits: p.bits}, Pix: pix}
	}
	return images
}

// BenchmarkCardBatches is Encode and Decode of both profiles, from and to host memory, checksums included, with results in pinned
// memory that is used again and again, and in new memory.
func BenchmarkCardBatches(b *testing.B) {
	dev := gputest.Device(b, &gpu.Options{Pinned: 12 << 30})
	sets := []struct {
		name     string
		list     []*raster.Image
		required [3]string // for profile 1, fast and profile 0
	}{
		{"1536 x Kodak grey", imagesOf(b, dev, kodakPictures(b, 1536, 1)), [3]string{"10 / 10", "15 / 15", "50 times the paper"}},
		{"512 x Kodak RGB", imagesOf(b, dev, kodakPictures(b, 512, 3)), [3]string{}},
		{"8 x 8192 x 8192 grey", imagesOf(b, dev, slices.Repeat([]picture{landscape(8192, 8192, 1)}, 8)), [3]string{}},
		{"1 x 8192 x 8192 grey", imagesOf(b, dev, []picture{landscape(8192, 8192, 1)}), [3]string{"", "", "50 times the paper"}},
		{"1 x Kodak grey", imagesOf(b, dev, kodakPictures(b, 1, 1)), [3]string{}},
	}
	for b.Loop() {
		fmt.Printf("\nhost to host on %s\n%-22s %-12s %10s %10s %8s\n%-22s %-12s %10s %10s\n", dev.Name(),
			"", "", "encode", "decode", "ratio", "images", "", "Gsamples/s", "Gsamples/s")
		for _, s := range sets {
			for i, pairs := range [][]string{{"effort=0"}, {"effort=0", "fast=true"}, {"profile=0"}} {
				results := &gputest.Results{Device: dev}
				err := rates(dev, results, s.name, s.list, pairs, s.required[i])
				results.Free()
				if err == nil {
					err = rates(dev, nil, "  new memory", s.list, pairs, "")
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func rates(dev *gpu.Device, results *gputest.Results, name string, list []*raster.Image, pairs []string, required string) error {
	o, err := Codec{}.Options(pairs)
	if err != nil {
		return err
	}
	run := codec.Run{Device: dev, Pool: pool.New()}
	if results != nil {
		run.Alloc = results.Alloc
	}
	samples, size := 0, 0
	for _, m := range list {
		samples += m.Samples()
	}
	files := make([][]byte, len(list))
	encode, decode := time.Hour, time.Hour
	for range 4 {
		results.Reuse()
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
	decoded := &gputest.Results{Device: dev} // apart from the files
	defer decoded.Free()
	if results != nil {
		run.Alloc = decoded.Alloc
	}
	for range 4 {
		decoded.Reuse()
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
	if required != "" {
		fmt.Printf("   required: %s", required)
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
			{"128 x Kodak grey", imagesOf(b, dev, kodakPictures(b, 128, 1))}, {"43 x Kodak RGB", imagesOf(b, dev, kodakPictures(b, 43, 3))},
			{"8192 x 8192 grey", imagesOf(b, dev, []picture{landscape(8192, 8192, 1)})},
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
	all := time.Duration(0)
	for _, step := range []struct {
		name string
		f    func() error
	}{
		{"split", b.split},
		{"predict", b.predict}, {"scale", b.scale}, {"encode tiles", b.encode},
	} {
		t, err := timed(d, step.name, samples, step.f)
		if err != nil {
			return err
		}
		all += t
	}
	fmt.Printf("  %-20s %8.3f ms%s\n", "encoding", float64(all.Microseconds())/1000, required(list, fast, 5))
	files, err := d.encodeTiles(context.Background(), pictures, headers, frames)
	if err != nil {
		return err
	}
	coded := make([]*codedFile, len(headers))
	for i, h := range headers {
		if coded[i], err = readTiles(h, files.file(pool.New(), i, func(int) []byte { return nil }), 0); err != nil {
			return err
		}
	}
	return decodeTimes(d, pictures, headers, frames, coded, samples, required(list, fast, 8))
}

// required is the limit for the kernels of one large image, in milliseconds.
func required(list []*raster.Image, fast bool, ms int) string {
	if fast || len(list) != 1 || list[0].Width != 8192 {
		return ""
	}
	return fmt.Sprintf("   required: at most %d", ms)
}

func decodeTimes(d *deviceSteps, pictures []picture, headers []*header, frames []frame, coded []*codedFile, samples int, note string) error {
	b, err := d.newModelBatch(pictures, headers, frames, 0, false)
	if err != nil {
		return err
	}
	bytes, err := b.upload(coded)
	if err != nil {
		return err
	}
	names := []string{"know", "decode HL", "know LH", "decode LH", "know HH", "decode HH", "join"}
	sum, err := decodeSteps(d, b, bytes.Ptr, names)
	if err != nil {
		return err
	}
	for _, name := range append(names, "decode HH level 1", "decode HH level 2", "decode HH level 4", "know level 1", "know HH level 1", "join level 1") {
		t := sum[name]
		fmt.Printf("  %-20s %8.3f ms %8.1f Gsamples/s\n", name, float64(t.Microseconds())/1000, float64(samples)/t.Seconds()/1e9)
	}
	least := time.Hour
	for range 3 {
		t, err := d.stream.Time(func() error { return b.decodeLevels(context.Background(), bytes) })
		if err != nil {
			return err
		}
		least = min(least, t)
	}
	fmt.Printf("  %-20s %8.3f ms%s\n", "decoding", float64(least.Microseconds())/1000, note)
	return nil
}

// decodeSteps times the steps of all levels, by name, each alone.
func decodeSteps(d *deviceSteps, b *modelBatch, bytes gpu.Ptr, names []string) (map[string]time.Duration, error) {
	sum := map[string]time.Duration{}
	step := func(level int, name string, f func() error) error {
		t, err := d.stream.Time(f)
		sum[name] += t
		sum[fmt.Sprintf("%s level %d", name, level+1)] += t
		return err
	}
	for level := b.most - 1; level >= 0; level-- {
		for c := range mostChannels {
			from, to := b.ranges[c][level], b.ranges[c][level+1]
			for i, kernel := range []string{"pcwt_know", "pcwt_decode_hl", "pcwt_know_lh", "pcwt_decode_lh", "pcwt_know_hh", "pcwt_decode_hh"} {
				f := func() error { return b.run(kernel, from, to) }
				if i%2 == 1 {
					f = func() error { return b.runWith(kernel, bytes, from, to) }
				}
				if err := step(level, names[i], f); err != nil {
					return nil, err
				}
			}
		}
		if err := step(level, "join", func() error { return b.join(level) }); err != nil {
			return nil, err
		}
	}
	return sum, nil
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
		_, err := b.code(func(sizes []int) (files [][]byte) {
			for _, n := range sizes {
				files = append(files, make([]byte, n))
			}
			return files
		})
		return err
	})
	return err
}
