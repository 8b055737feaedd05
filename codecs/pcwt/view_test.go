package pcwt

import (
	"context"
	"image"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// viewImages are images of several tiles in their first levels, with the ways to code them.
var viewImages = map[string]struct {
	s     raster.Shape
	pairs []string
}{
	"grey":    {raster.Shape{Width: 1801, Height: 51, Depth: 1, Channels: 1, Bits: 8}, nil},
	"rgb":     {raster.Shape{Width: 40, Height: 1501, Depth: 1, Channels: 3, Bits: 8}, nil},
	"fast":    {raster.Shape{Width: 1801, Height: 30, Depth: 1, Channels: 4, Bits: 8}, []string{"fast=true"}},
	"qmin":    {raster.Shape{Width: 270, Height: 201, Depth: 1, Channels: 3, Bits: 8}, []string{"qmin=2"}},
	"tried":   {raster.Shape{Width: 300, Height: 141, Depth: 1, Channels: 1, Bits: 12}, []string{"effort=2"}},
	"volume":  {raster.Shape{Width: 1100, Height: 31, Depth: 4, Channels: 1, Bits: 8}, []string{"tile=64"}},
	"paper":   {raster.Shape{Width: 150, Height: 90, Depth: 2, Channels: 3, Bits: 8}, []string{"profile=0"}},
	"levels0": {raster.Shape{Width: 300, Height: 9, Depth: 1, Channels: 2, Bits: 8}, nil},
	"stored":  {raster.Shape{Width: 37, Height: 20, Depth: 2, Channels: 3, Bits: 11, Signed: true}, nil},
}

func viewFile(t *testing.T, name string) []byte {
	c := viewImages[name]
	o, err := Codec{}.Options(c.pairs)
	if err != nil {
		t.Fatal(err)
	}
	m := small(c.s)
	if name == "stored" {
		return (&encoder{image: m, o: &defaults}).store()
	}
	r := rand.New(rand.NewPCG(7, uint64(len(name))))
	for i := range m.Samples() {
		m.Pix[i*m.BytesPerSample()] ^= byte(r.IntN(4))
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	return e.Data
}

func viewOf(t *testing.T, file []byte, v codec.View) *raster.Image {
	t.Helper()
	d := Codec{}.DecodeView(context.Background(), codec.Run{}, [][]byte{file}, nil, v)[0]
	if d.Err != nil {
		t.Fatalf("%+v: %v", v, d.Err)
	}
	return d.Image
}

// Regions at all resolutions are crops of the whole.
func TestRegions(t *testing.T) {
	for name, c := range viewImages {
		if testing.Short() && (c.s.Depth > 1 || c.s.Channels > 3 || name == "tried") {
			continue
		}
		file := viewFile(t, name)
		h, err := readHeader(file)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		for reduce := range h.resolutions() {
			whole := viewOf(t, file, codec.View{Reduce: reduce})
			for range 4 {
				w, l := 1+r.IntN(h.shape.Width), 1+r.IntN(h.shape.Height)
				if r.IntN(3) > 0 {
					w, l = 1+r.IntN(min(w, 70)), 1+r.IntN(min(l, 70))
				}
				x, y := r.IntN(h.shape.Width-w+1), r.IntN(h.shape.Height-l+1)
				v := codec.View{Reduce: reduce, Region: image.Rect(x, y, x+w, y+l)}
				rect, err := v.In(h.shape, h.resolutions())
				if err != nil {
					continue
				}
				if viewOf(t, file, v).Hash() != raster.Crop(whole, rect).Hash() {
					t.Errorf("%s: %+v is not the crop %v", name, v, rect)
				}
			}
		}
	}
}

// What is written in the bodies of tiles that a region does not take has no effect on it.
func TestRegionsTakeTheirTiles(t *testing.T) {
	names := []string{"grey", "rgb", "fast", "volume"}
	if testing.Short() {
		names = names[:2]
	}
	for _, name := range names {
		file := viewFile(t, name)
		h, err := readHeader(file)
		if err != nil {
			t.Fatal(err)
		}
		v := codec.View{Region: image.Rect(300, 15, 320, 35)}
		if name == "rgb" {
			v.Region = image.Rect(15, 300, 35, 320)
		}
		want := viewOf(t, file, v)
		spoilt, taken, all := spoilOthers(t, h, file, v.Region)
		t.Logf("%s: %d of %d tiles", name, taken, all)
		if 2*taken > all {
			t.Errorf("%s: a region of 20x20 takes %d of %d tiles", name, taken, all)
		}
		if viewOf(t, spoilt, v).Hash() != want.Hash() {
			t.Errorf("%s: the region changes with tiles that it does not take", name)
		}
		d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{spoilt}, nil)[0]
		if d.Err == nil {
			t.Errorf("%s: the whole decodes with damaged tiles", name)
		} else {
			classified(t, d.Err)
		}
	}
}

// spoilOthers is the file with other bytes in all tiles that the region does not take, and how many it takes of how many.
func spoilOthers(t *testing.T, h *header, file []byte, region image.Rectangle) (spoilt []byte, taken, all int) {
	spoilt = append([]byte(nil), file...)
	for z := range h.shape.Depth {
		windows := h.windows(h.class(z), 0, region)
		for level := 1; level <= h.levels; level++ {
			data, err := h.sectionBytes(spoilt, h.section(level, z))
			if err != nil {
				t.Fatal(err)
			}
			columns, rows := h.tiles(level)
			bodies, err := readLengths(data, h.shape.Channels*columns*rows)
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range bodies {
				k := i % (columns * rows)
				corner := image.Pt(k%columns, k/columns).Mul(h.side())
				all++
				if corner.In(windows[i/(columns*rows)][level-1]) {
					taken++
					continue
				}
				for j := range 2 * b.words {
					data[b.at+j] = byte(j) ^ 0x5a
				}
			}
		}
	}
	return spoilt, taken, all
}

// The memory of a small region of a large image is small, and the header says so before anything is decoded.
func TestMemoryOfRegions(t *testing.T) {
	h := header{profile: 1, shape: raster.Shape{Width: 30000, Height: 20000, Depth: 1, Channels: 3, Bits: 8}, tileLog: 6, planes: make([]planeParams, 3)}
	h.levels = levelsOf(h.shape.Width, h.shape.Height)
	h.planes[1].earlier, h.planes[2].earlier = 1, 2
	whole := h.decodeMemory(0, image.Rect(0, 0, 30000, 20000))
	part := h.decodeMemory(0, image.Rect(15000, 10000, 15500, 10500))
	if part*100 > whole || part < 500*500*3*20 {
		t.Errorf("%d bytes for a region of 500x500, %d for 30000x20000", part, whole)
	}
}
