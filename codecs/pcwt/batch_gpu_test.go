//go:build cuda && cgo

package pcwt

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// mixedImages is images of all depths, kinds and odd sizes, with tiles at the limits of theirs.
func mixedImages(seed uint64, n int) []*raster.Image {
	r := rand.New(rand.NewPCG(seed, 5))
	var list []*raster.Image
	for i := range n {
		p := randomPicture(r)
		if i%3 == 0 {
			p = landscape(1+r.IntN(400), 1+r.IntN(400), 1+i%4)
		}
		depth := 1 + r.IntN(8)/7
		m := raster.Make(raster.Shape{Width: p.width, Height: p.height, Depth: depth, Channels: p.channels, Bits: p.bits, Signed: p.signed})
		for z := range depth {
			copy(m.Slice(z).Pix, p.pix)
		}
		list = append(list, m)
	}
	for _, size := range [][2]int{{1, 1}, {12, 12}, {24, 23}, {127, 129}, {128, 128}, {129, 127}, {257, 250}} {
		p := landscape(size[0], size[1], 3)
		m := raster.New(p.width, p.height, 1, 3, 8)
		copy(m.Pix, p.pix)
		list = append(list, m)
	}
	// Large enough for trials: a volume of like slices, and 12 bits.
	p := landscape(133, 121, 1)
	volume, deep := raster.New(p.width, p.height, 5, 1, 8), raster.New(p.width, p.height, 1, 1, 12)
	for i, v := range p.pix {
		for z := range volume.Depth {
			volume.Slice(z).Pix[i] = v + byte(z+r.IntN(2))
		}
		binary.LittleEndian.PutUint16(deep.Pix[2*i:], 5*uint16(v)+uint16(r.IntN(9)))
	}
	return append(list, volume, deep)
}

var deviceOptions = [][]string{
	nil, {"effort=0"}, {"fast=true", "effort=0"}, {"tile=128", "effort=0"}, {"tile=256", "effort=0"}, {"near-lossless=3", "effort=0"},
	{"qmin=2", "effort=0"}, {"profile=0"}, {"profile=0", "zero-signs=true", "near-lossless=1"},
}

// Images of all sizes and kinds in one batch give the bytes that each gives on the CPU, and files the same images.
func TestBatch(t *testing.T) {
	dev := gputest.Device(t, nil)
	n := 40
	if testing.Short() {
		n = 6
	}
	for k, pairs := range deviceOptions {
		images := mixedImages(uint64(k), n)
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(images...), o)
		got := Codec{}.Encode(context.Background(), codec.Run{Device: dev}, codec.Items(images...), o)
		var files [][]byte
		for i := range want {
			if want[i].Err != nil || got[i].Err != nil || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("%q: picture %d, %s: other bytes, %d for %d (%v, %v)", o, i, images[i].Shape, len(got[i].Data), len(want[i].Data), want[i].Err, got[i].Err)
			}
			files = append(files, want[i].Data)
		}
		back := Codec{}.Decode(context.Background(), codec.Run{}, files, nil)
		for i, d := range (Codec{}).Decode(context.Background(), codec.Run{Device: dev}, files, nil) {
			if d.Err != nil || back[i].Err != nil || d.Image.Hash() != back[i].Image.Hash() {
				t.Errorf("%q: picture %d, %s: other samples (%v, %v)", o, i, images[i].Shape, d.Err, back[i].Err)
			}
		}
	}
}

// Views of files, whole or cut behind what the view takes, are those that the CPU decodes.
func TestViewsOfABatch(t *testing.T) {
	dev := gputest.Device(t, nil)
	n := 12
	if testing.Short() {
		n = 4
	}
	for k, pairs := range [][]string{nil, {"qmin=2"}, {"profile=0"}} {
		images := mixedImages(uint64(100+k), n)
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, view := range []codec.View{
			{}, {Reduce: 1}, {Reduce: 3}, {Region: image.Rect(0, 0, 150, 90)}, {Region: image.Rect(70, 30, 75, 31)}, {Reduce: 1, Region: image.Rect(3, 1, 300, 301)},
		} {
			var files [][]byte
			for _, e := range (Codec{}).Encode(context.Background(), codec.Run{}, codec.Items(images...), o) {
				files = append(files, e.Data)
				if h, err := readHeader(e.Data); err == nil && h.profile == 1 && !h.stored() && view.Reduce <= h.levels {
					end := h.start
					for _, n := range h.sections[:(1+h.levels-view.Reduce)*h.shape.Depth] {
						end += n
					}
					files = append(files, e.Data[:end])
				}
			}
			want := Codec{}.DecodeView(context.Background(), codec.Run{}, files, nil, view)
			for i, d := range (Codec{}).DecodeView(context.Background(), codec.Run{Device: dev}, files, nil, view) {
				if (d.Err == nil) != (want[i].Err == nil) {
					t.Errorf("%v: file %d: %v, on the CPU %v", view, i, d.Err, want[i].Err)
				} else if d.Err == nil && d.Image.Hash() != want[i].Image.Hash() {
					t.Errorf("%v: file %d, %s: other samples", view, i, d.Image.Shape)
				}
			}
		}
	}
}

// Damaged files fail on the device as on the CPU, each for itself.
func TestDamagedBatch(t *testing.T) {
	dev := gputest.Device(t, nil)
	images := mixedImages(77, 10)
	o, err := Codec{}.Options([]string{"effort=0"})
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, e := range (Codec{}).Encode(context.Background(), codec.Run{}, codec.Items(images...), o) {
		files = append(files, e.Data)
	}
	r := rand.New(rand.NewPCG(3, 4))
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	for range rounds {
		damaged := make([][]byte, len(files))
		for i, f := range files {
			damaged[i] = bytes.Clone(f)
			if i%2 == 0 {
				damaged[i][r.IntN(len(f))] ^= 1 << r.IntN(8)
			}
		}
		want := Codec{}.Decode(context.Background(), codec.Run{}, damaged, nil)
		for i, d := range (Codec{}).Decode(context.Background(), codec.Run{Device: dev}, damaged, nil) {
			if (d.Err == nil) != (want[i].Err == nil) {
				t.Errorf("picture %d, %s: %v, on the CPU %v", i, images[i].Shape, d.Err, want[i].Err)
			}
		}
	}
}

// A device with too little memory takes smaller batches, and leaves to the CPU what does not even fit alone.
func TestLittleMemory(t *testing.T) {
	images := mixedImages(5, 12)
	want := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(images...), nil)
	for memory := int64(100 << 10); memory < 128<<20; memory *= 3 {
		dev := gputest.Device(t, &gpu.Options{Lanes: 1, Memory: memory})
		var files [][]byte
		for i, e := range (Codec{}).Encode(context.Background(), codec.Run{Device: dev}, codec.Items(images...), nil) {
			if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
				t.Errorf("%d bytes: picture %d: other bytes (%v)", memory, i, e.Err)
			}
			files = append(files, e.Data)
		}
		for i, d := range (Codec{}).Decode(context.Background(), codec.Run{Device: dev}, files, nil) {
			if d.Err != nil || !bytes.Equal(d.Image.Pix, images[i].Pix) {
				t.Errorf("%d bytes: picture %d: other samples (%v)", memory, i, d.Err)
			}
		}
	}
}
