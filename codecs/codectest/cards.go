package codectest

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/internal/comparison"
	"github.com/pelmill/pelmill/raster"
)

// cards are those of the machine, or nil. They stay open until the process ends: a target of fuzzing has an image a millisecond.
var cards = sync.OnceValues(func() (*gpu.Device, error) {
	return gpu.OpenWith("auto", &gpu.Options{Apart: os.Getenv("PELMILL_SANITIZE") != ""}) // see package gputest
})

// SameOnCards says what the machine's cards make of an image, or of the file that want has of it, that is not what the CPU makes of
// it. The codec leaves nothing to the cores that a card can do. Without a card there is nothing to say.
func SameOnCards(c codec.Codec, m *raster.Image, o codec.Options, want codec.Encoded) error {
	dev, err := cards()
	if dev == nil || err != nil {
		return err
	}
	ctx, run := context.Background(), codec.Run{Device: dev, Pool: pool.Of(1)}
	for _, e := range c.Encode(ctx, run, codec.Items(m, m), o) {
		if fmt.Sprint(e.Err) != fmt.Sprint(want.Err) || !bytes.Equal(e.Data, want.Data) {
			return fmt.Errorf("encode %s with %q: %s gives other bytes than the CPU (%v, %v)", m.Shape, o, dev.Name(), e.Err, want.Err)
		}
	}
	if want.Err != nil {
		return nil
	}
	here := c.Decode(ctx, codec.Run{}, [][]byte{want.Data}, nil)[0]
	for _, there := range c.Decode(ctx, run, slices.Repeat([][]byte{want.Data}, cardCopies), nil) {
		switch {
		case there.Err != nil || here.Err != nil:
			return fmt.Errorf("decode %s: %v on %s, %v on the CPU", m.Shape, there.Err, dev.Name(), here.Err)
		case !there.Image.Same(here.Image.Shape) || !bytes.Equal(there.Image.Pix, here.Image.Pix):
			return fmt.Errorf("decode %s with %q: %s gives another image than the CPU", m.Shape, o, dev.Name())
		}
	}
	return nil
}

// SameDecoded compares what a device decodes with what the CPU does: images with their attributes, errors, and whether a decoder of other
// authors agreed.
func SameDecoded(t testing.TB, want, got []codec.Decoded) {
	t.Helper()
	for i := range want {
		w, g := &want[i], &got[i]
		switch {
		case (w.Err == nil) != (g.Err == nil) || w.Err != nil && w.Err.Error() != g.Err.Error():
			t.Errorf("file %d: error %v, on the CPU %v", i, g.Err, w.Err)
		case w.Second != g.Second:
			t.Errorf("file %d: second decoder %q, on the CPU %q", i, g.Second, w.Second)
		case w.Err == nil && !reflect.DeepEqual(w.Image, g.Image):
			t.Errorf("file %d: %v is not the image of the CPU, %v", i, g.Image.Shape, w.Image.Shape)
		}
	}
}

// cardCopies of a file are so many that a card decodes them sooner than a core.
const cardCopies = 12

// Digests has a device encode images with digests of what their files decode to, and compares these with the images that the CPU
// decodes. It returns of how many images there are some.
func Digests(t testing.TB, dev *gpu.Device, c codec.Codec, images []*raster.Image, o codec.Options, assets codec.Assets) (made int) {
	t.Helper()
	ctx := context.Background()
	want := c.Encode(ctx, codec.Run{}, codec.Items(images...), o)
	for i, e := range c.Encode(ctx, codec.Run{Device: dev, Digests: true}, codec.Items(images...), o) {
		if want[i].Decoded != nil {
			t.Errorf("%q: picture %d, %s: digests without a device", o, i, images[i].Shape)
		}
		if fmt.Sprint(e.Err) != fmt.Sprint(want[i].Err) || !bytes.Equal(e.Data, want[i].Data) || fmt.Sprint(e.Facts) != fmt.Sprint(want[i].Facts) {
			t.Errorf("%q: picture %d, %s: other bytes with digests (%v, %v)", o, i, images[i].Shape, e.Err, want[i].Err)
			continue
		}
		if e.Decoded == nil {
			continue
		}
		made++
		d := c.Decode(ctx, codec.Run{}, [][]byte{e.Data}, assets)[0]
		if d.Err != nil || hex.EncodeToString(e.Decoded.Image[:]) != d.Image.Hash() || !e.Decoded.Are(d.Image) {
			t.Errorf("%q: picture %d, %s: other digests (%v)", o, i, images[i].Shape, d.Err)
		}
	}
	return made
}

// Compared checks what a device finds that compares the images of files with originals. want is what the CPU decodes, and decode has the
// device decode the files. Some of the images are to come to the host as well, some originals differ from theirs, or have another shape,
// or are not there. It returns how many were compared, and how many there are that a device takes.
func Compared(t testing.TB, want []codec.Decoded, decode func(originals []codec.Original) []codec.Decoded) (compared, taken int) {
	t.Helper()
	originals := make([]codec.Original, len(want))
	for i, w := range want {
		o := &originals[i]
		if o.Fetch = i%3 == 1; w.Err != nil || i%7 == 6 {
			continue
		}
		same := *w.Image
		o.Image = &same
		if i%5 != 4 && comparison.Takes(same.Shape) {
			taken++
		}
		switch {
		case i%5 == 4:
			o.Image = raster.New(w.Image.Width+1, w.Image.Height, 1, w.Image.Channels, 8)
		case i%4 > 1:
			same.Pix = bytes.Clone(same.Pix)
			for k := i % 5; k < len(same.Pix); k += 11 {
				same.Pix[k] ^= byte(1 + i%6)
			}
		}
	}
	got := decode(originals)
	bare := make([]codec.Decoded, len(want))
	for i := range got {
		bare[i] = got[i]
		c, o := got[i].Compared, originals[i]
		if bare[i].Compared = nil; c == nil {
			continue
		}
		compared++
		if want[i].Err != nil || o.Image == nil || !o.Image.Same(want[i].Image.Shape) {
			t.Errorf("file %d was compared: %+v", i, *c)
			continue
		}
		host := codec.Comparison{Identical: bytes.Equal(o.Image.Pix, want[i].Image.Pix), PSNR: raster.Identical, SSIM: 1}
		if !host.Identical {
			var err error
			if host.PSNR, host.SSIM, err = raster.Quality(o.Image, want[i].Image); err != nil {
				t.Fatal(err)
			}
		}
		if *c != host {
			t.Errorf("file %d, %s: the device finds %+v, the host %+v", i, o.Image.Shape, *c, host)
		}
		if !o.Fetch {
			if bare[i].Image.Pix != nil {
				t.Errorf("file %d, %s: its samples were not asked for", i, o.Image.Shape)
			}
			whole := *bare[i].Image
			whole.Pix, bare[i].Image = want[i].Image.Pix, &whole
		}
	}
	SameDecoded(t, want, bare)
	return compared, taken
}
