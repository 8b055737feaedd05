package neuquant

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/codectest"
	pngfile "github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// imageKinds are kinds of images that take different ways through the encoder.
var imageKinds = []string{"constant", "palette", "256", "257", "gradient", "noise", "photo", "sparse", "glass", "grey"}

// imageOf is an image of a kind, or so many frames.
func imageOf(r *rand.Rand, kind string, w, h, frames, channels int) *raster.Image {
	m := raster.New(w, h, frames, channels, 8)
	m.Frames = frames > 1
	entries := map[string]int{"constant": 1, "palette": 2 + r.IntN(40), "256": 256, "257": 257}[kind]
	palette := make([]uint32, entries)
	for i := range palette {
		palette[i] = r.Uint32()
		if r.IntN(2) == 0 {
			palette[i] |= opaque
		}
	}
	slope := [4]int{r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(9)}
	put(m.Pix, channels, func(i int) uint32 {
		x, y := i%w, i/w
		pack := func(r, g, b, a int) uint32 {
			return uint32(r&255) | uint32(g&255)<<8 | uint32(b&255)<<16 | uint32(a&255)<<24
		}
		switch kind {
		case "gradient":
			return pack(slope[0]*x+slope[1]*y, slope[1]*x+slope[2]*y, slope[2]*x+slope[3]*y, slope[3]*x+slope[0]*y)
		case "noise":
			return r.Uint32()
		case "photo":
			base := 2*x + 3*y + r.IntN(6)
			return pack(base, base*7/8+r.IntN(3), base*3/4+r.IntN(9), 255)
		case "sparse": // transparent pixels that hold colours
			v := r.Uint32()
			return v&^uint32(opaque) | uint32(255*(v>>31))<<24
		case "glass":
			return pack(3*x, 2*y, x+y, 1+(x*y)%254)
		case "grey":
			n := 3*x + r.IntN(4)
			return pack(n, n, n, 255)
		}
		return palette[(i*7+r.IntN(3))%entries]
	})
	return m
}

// roundTrip says what is wrong with the file of m and the options: it must hold what our
// decoder and the standard one agree on, be exact where it says so, leave opaque what is
// opaque and transparent what is transparent, and have no more colours than asked for. The cards of the machine, if any, must make
// the same file.
func roundTrip(m *raster.Image, o *Options) error {
	ctx := context.Background()
	e := Codec{}.Encode(ctx, codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		return e.Err
	}
	if err := codectest.SameOnCards(Codec{}, m, o, e); err != nil {
		return err
	}
	d := Codec{}.Decode(ctx, codec.Run{}, [][]byte{e.Data}, nil)[0]
	if d.Err != nil {
		return d.Err
	}
	if !d.Image.Same(m.Shape) {
		return fmt.Errorf("comes back as %s", d.Image.Shape)
	}
	same := d.Image.Hash() == m.Hash()
	facts := map[string]string{}
	for _, f := range e.Facts {
		facts[f.Name] = f.Value
	}
	if want := fmt.Sprint(same); facts["exact"] != want {
		return fmt.Errorf("the record says exact %s, and it is %s", facts["exact"], want)
	}
	got, want := colourList(d.Image), colourList(m)
	n := distinct(got)
	if n > o.colours && (m.Depth == 1 || !o.own) {
		return fmt.Errorf("%d colours, want at most %d", n, o.colours)
	}
	if m.Depth == 1 && facts["colours"] != fmt.Sprint(n) {
		return fmt.Errorf("the record says %s colours, there are %d", facts["colours"], n)
	}
	if !same && !o.gif && distinct(want) <= o.colours {
		return fmt.Errorf("%d colours fit, and it is not exact", distinct(want))
	}
	classes := map[int]bool{} // two entries cannot hold all three
	for _, v := range want {
		classes[class(v)] = true
	}
	for i, v := range want {
		if len(classes) > o.colours {
			break
		}
		a, b := v>>24, got[i]>>24
		ok := a == 0 && b == 0 || a == 255 && b == 255 || 0 < a && a < 255 && 0 < b && b < 255
		if o.gif {
			ok = a < 128 && b == 0 || a >= 128 && b == 255
		}
		if !ok {
			return fmt.Errorf("pixel %d has alpha %d, was %d", i, b, a)
		}
	}
	if o.gif {
		return nil
	}
	src, err := png.Decode(bytes.NewReader(e.Data))
	if err != nil {
		return fmt.Errorf("image/png: %w", err)
	}
	for i, v := range got {
		c := color.NRGBAModel.Convert(src.At(i%m.Width, i/m.Width)).(color.NRGBA)
		if w := uint32(c.R) | uint32(c.G)<<8 | uint32(c.B)<<16 | uint32(c.A)<<24; w != v {
			return fmt.Errorf("pixel %d is %08x by image/png, %08x by ours", i, w, v)
		}
	}
	return nil
}

// colourList are the pixels of m as R, G, B, A.
func colourList(m *raster.Image) []uint32 {
	list := make([]uint32, m.Width*m.Height*m.Depth)
	for i := range list {
		p := m.Pix[i*m.Channels:]
		r, g, b, a := p[0], p[0], p[0], byte(255)
		if m.Channels >= 3 {
			g, b = p[1], p[2]
		}
		if m.Alpha() {
			a = p[m.Channels-1]
		}
		list[i] = uint32(r) | uint32(g)<<8 | uint32(b)<<16 | uint32(a)<<24
	}
	return list
}

func distinct(list []uint32) int {
	seen := map[uint32]bool{}
	for _, v := range list {
		seen[v] = true
	}
	return len(seen)
}

// try is one random image with random options.
func try(seed uint64) error {
	r := rand.New(rand.NewPCG(17, seed))
	side := func() int { return 1 + r.IntN(1<<(1+r.IntN(6))) }
	o := defaults
	o.colours = 2 + r.IntN(1<<(1+r.IntN(8)))%255
	o.sample = 1 + r.IntN(30)
	o.refine = r.IntN(9)
	o.dither = dither(r.IntN(3))
	o.own, o.threshold = r.IntN(2) == 0, true
	frames := 1
	if o.gif = r.IntN(4) == 0; o.gif {
		frames += r.IntN(3)
	}
	kind := imageKinds[r.IntN(len(imageKinds))]
	m := imageOf(r, kind, side(), side(), frames, 1+r.IntN(4))
	if frames > 1 && r.IntN(2) == 0 { // an animation of which a part moves
		n := len(m.Slice(0).Pix)
		from := r.IntN(n)
		for z := 1; z < frames; z++ {
			copy(m.Slice(z).Pix[from:], m.Slice(z - 1).Pix[from:from+r.IntN(n-from+1)])
		}
	}
	if err := roundTrip(m, &o); err != nil {
		return fmt.Errorf("seed %d, %s of %s, %s: %w", seed, kind, m.Shape, &o, err)
	}
	return nil
}

func TestRandomImages(t *testing.T) { codectest.Random(t, try) }

func FuzzEncode(f *testing.F) {
	for i := range uint64(40) {
		f.Add(i, uint8(i), uint8(2*i), uint8(i), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, seed uint64, width, height, how uint8, pix []byte) {
		if err := try(seed); err != nil {
			t.Fatal(err)
		}
		m := raster.New(1+int(width)%64, 1+int(height)%64, 1, 1+int(how)%4, 8)
		for at := 0; at < len(m.Pix) && len(pix) > 0; {
			at += copy(m.Pix[at:], pix)
		}
		o := defaults
		o.colours = 2 + int(how>>2)
		if err := roundTrip(m, &o); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, file := range seedFiles(f) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := decodes(data); err != nil {
			t.Fatal(err)
		}
	})
}

// seedFiles are files of every depth and of both formats.
func seedFiles(t testing.TB) (files [][]byte) {
	r := rand.New(rand.NewPCG(19, 20))
	for i, entries := range []int{1, 2, 3, 4, 9, 16, 17, 40, 200} {
		for frames := range 3 {
			p := paletted(r, 16+i, 17, max(1, frames), entries, 0, 1+i%4)
			if i%2 == 0 {
				p.palettes[0][r.IntN(entries)] = 0
				p.meta.ICC, p.meta.EXIF = []byte("profile"), []byte("MM\x00*\x00\x00\x00\x08\x00\x00")
			}
			write := p.png
			if frames > 0 {
				write = p.gif
			}
			data, err := write()
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
		}
	}
	return files
}

// decodes says what is wrong with the answer to any file.
func decodes(data []byte) error {
	before := bytes.Clone(data)
	Codec{}.Header(data)
	if f, err := open(data); err == nil && f.width*f.height*f.frames > 1<<20 {
		return nil // a large image is no error, but takes its time
	}
	d := decode(context.Background(), data, nil, codec.Uncleared)
	m, err := d.Image, d.Err
	if !bytes.Equal(before, data) {
		return errors.New("decode changed the file")
	}
	if err != nil {
		var malformed *codec.FormatError
		var unsupported *codec.UnsupportedError
		if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
			return fmt.Errorf("%T: %w", err, err)
		}
		return nil
	}
	if len(m.Pix) != m.Size() {
		return fmt.Errorf("%s with %d bytes", m.Shape, len(m.Pix))
	}
	return nil
}

// TestDamagedFiles changes, cuts, doubles and swaps bytes of good files.
func TestDamagedFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, file := range seedFiles(t) {
		for range codectest.Rounds(400) {
			bad := bytes.Clone(file)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(bad))
				switch r.IntN(4) {
				case 0:
					bad[at] = byte(r.Uint32())
				case 1:
					bad[at] ^= 1 << r.IntN(8)
				case 2:
					to := r.IntN(len(bad))
					bad = append(bad[:at:at], bad[min(at, to):]...)
				case 3:
					bad = bad[:max(1, at)]
				}
			}
			mend(bad, r)
			if err := decodes(bad); err != nil {
				t.Fatalf("%x: %v", bad, err)
			}
		}
	}
}

// mend gives most chunks of a PNG file the checksums of what they hold, so that damage
// gets further than to those.
func mend(data []byte, r *rand.Rand) {
	for at := len(pngfile.Signature); at+12 <= len(data); {
		n := int(binary.BigEndian.Uint32(data[at:]))
		if n > len(data)-at-12 {
			return
		}
		if r.IntN(16) > 0 {
			binary.BigEndian.PutUint32(data[at+8+n:], crc32.ChecksumIEEE(data[at+4:at+8+n]))
		}
		at += 12 + n
	}
}
