package imageio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/webp"
	"github.com/pelmill/pelmill/raster"
)

// part is a frame of an animation for tests.
type part struct {
	image         *raster.Image
	x, y          int
	num, den      uint16
	dispose, over byte
}

// apng makes an animation. Without first the image that viewers without animation show is no frame.
func apng(t testing.TB, width, height int, first bool, plays uint32, parts []part) []byte {
	be := binary.BigEndian
	var out []byte
	n := uint32(0)
	control := func(p *part) {
		body := be.AppendUint32(nil, n)
		for _, v := range []int{p.image.Width, p.image.Height, p.x, p.y} {
			body = be.AppendUint32(body, uint32(v))
		}
		body = append(be.AppendUint16(be.AppendUint16(body, p.num), p.den), p.dispose, p.over)
		out = png.Append(out, "fcTL", body)
		n++
	}
	samples := func(m *raster.Image, kind string) {
		file, err := Encode(m, "png")
		if err != nil {
			t.Fatal(err)
		}
		for c := range png.Chunks(file) {
			if c.Kind != "IDAT" {
				continue
			}
			body := c.Body()
			for half := len(body)/2 + 1; len(body) > 0; body = body[min(half, len(body)):] { // two chunks
				piece := body[:min(half, len(body))]
				if kind == "fdAT" {
					piece = append(be.AppendUint32(nil, n), piece...)
					n++
				}
				out = png.Append(out, kind, piece)
			}
		}
	}
	canvas := raster.New(width, height, 1, parts[0].image.Channels, parts[0].image.Bits)
	file, err := Encode(canvas, "png")
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, file[:33]...)
	out = png.Append(out, "acTL", be.AppendUint32(be.AppendUint32(nil, uint32(len(parts))), plays))
	if !first {
		samples(canvas, "IDAT")
	}
	for i := range parts {
		control(&parts[i])
		if i == 0 && first {
			samples(parts[i].image, "IDAT")
		} else {
			samples(parts[i].image, "fdAT")
		}
	}
	return png.Append(out, "IEND", nil)
}

// shown draws the parts with real numbers, as the specification says it, and gives R, G, B and A (or grey and A)
// of each frame between 0 and 1.
func shown(width, height int, parts []part) [][]float64 {
	channels := parts[0].image.Channels
	n := channels
	if channels%2 == 1 {
		n++
	}
	canvas := make([]float64, width*height*n)
	var all [][]float64
	for i, p := range parts {
		before := slices.Clone(canvas)
		most := float64(uint(1)<<p.image.Bits - 1)
		for y := range p.image.Height {
			for x := range p.image.Width {
				d := canvas[((p.y+y)*width+p.x+x)*n:][:n]
				s := make([]float64, n)
				s[n-1] = 1
				for c := range channels {
					s[c] = float64(p.image.Sample((y*p.image.Width+x)*channels+c)) / most
				}
				if p.over == 0 {
					copy(d, s)
					continue
				}
				a := s[n-1] + d[n-1]*(1-s[n-1])
				for c := range n - 1 {
					if a > 0 {
						d[c] = (s[c]*s[n-1] + d[c]*d[n-1]*(1-s[n-1])) / a
					}
				}
				d[n-1] = a
			}
		}
		all = append(all, slices.Clone(canvas))
		switch {
		case p.dispose == png.DisposePrevious && i > 0:
			canvas = before
		case p.dispose != png.DisposeNone:
			for y := range p.image.Height {
				clear(canvas[((p.y+y)*width+p.x)*n:][:p.image.Width*n])
			}
		}
	}
	return all
}

// randomParts are frames of all kinds, of which some pixels are opaque, some clear, and some neither.
func randomParts(rng *rand.Rand, width, height, channels, bits int, first bool) []part {
	var parts []part
	for i := range 2 + rng.IntN(4) {
		p := part{num: uint16(rng.IntN(500)), den: uint16(rng.IntN(200)), dispose: byte(rng.IntN(3)), over: byte(rng.IntN(2))}
		w, h := 1+rng.IntN(width), 1+rng.IntN(height)
		if i == 0 && first {
			w, h = width, height
		}
		p.x, p.y = rng.IntN(width-w+1), rng.IntN(height-h+1)
		p.image = pattern(w, h, 1, channels, bits)
		for at := range p.image.Samples() {
			v := rng.IntN(1 << bits)
			if last := at%channels == channels-1; last && channels%2 == 0 && rng.IntN(2) == 0 {
				v = rng.IntN(2) * (1<<bits - 1)
			}
			setSample(p.image, at, int64(v))
		}
		parts = append(parts, p)
	}
	return parts
}

// The frames of APNG files are what the specification says, to the rounding of a sample under half-transparent
// frames and exactly elsewhere.
func TestAPNG(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	for i := range 60 {
		channels, bits, first := 1+i%4, []int{8, 16}[i/4%2], i%3 > 0
		width, height := 1+rng.IntN(9), 1+rng.IntN(9)
		parts := randomParts(rng, width, height, channels, bits, first)
		data := apng(t, width, height, first, uint32(i), parts)
		agree(t, data, nil)
		m, err := Decode(data, nil)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if m.Depth != len(parts) || !m.Frames || m.Meta.Animation.Plays != i {
			t.Fatalf("%d: %s, %+v", i, m.Shape, m.Meta.Animation)
		}
		for z, want := range shown(width, height, parts) {
			p := parts[z]
			delay := float64(p.num) / float64(max(p.den, 1))
			if p.den == 0 {
				delay = float64(p.num) / 100
			}
			if got := m.Meta.Animation.Delays[z].Seconds(); math.Abs(got-delay) > 1e-6 {
				t.Errorf("%d: frame %d is shown for %v s, want %v", i, z, got, delay)
			}
			s, n := m.Slice(z), len(want)/(width*height)
			most := float64(uint(1)<<bits - 1)
			for at := range width * height {
				if alpha := want[at*n+n-1]; m.Channels == n && math.Abs(float64(s.Sample(at*n+n-1))/most-alpha) > float64(z+1)/most {
					t.Fatalf("%d: frame %d, pixel %d: alpha %d, want %v", i, z, at, s.Sample(at*n+n-1), alpha*most)
				} else if alpha < 0.2 { // the colour of what is hardly seen has few exact bits
					continue
				}
				for c := range n - 1 {
					if got := float64(s.Sample(at*m.Channels + c)); math.Abs(got-want[at*n+c]*most) > 8*float64(z+1) {
						t.Fatalf("%d: frame %d, pixel %d, channel %d: %v, want %v", i, z, at, c, got, want[at*n+c]*most)
					}
				}
			}
		}
	}
}

// What breaks a rule of animations is the image that viewers without animation show, and what is cut is refused.
func TestDamagedAPNG(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 2))
	parts := randomParts(rng, 6, 5, 3, 8, true)
	good := apng(t, 6, 5, true, 0, parts)
	if h, err := ReadHeader(good, nil); err != nil || !h.Frames || h.Note != "" {
		t.Fatalf("%+v, %v", h, err)
	}
	if h, err := ReadHeader(good, &Limits{Frames: 1}); err != nil || h.Frames || h.Note == "" {
		t.Errorf("over the limit of frames: %+v, %v", h, err)
	}
	for first, note := range map[bool]string{true: "", false: "beside the one that viewers"} {
		if h, err := ReadHeader(apng(t, 6, 5, first, 0, parts[:1]), nil); err != nil || h.Frames || !strings.Contains(h.Note, note) || note == "" && h.Note != "" {
			t.Errorf("one frame, which is the image: %v: %+v, %v", first, h, err)
		}
	}
	change := func(kind string, which, at int, value byte) []byte {
		var out []byte
		n := 0
		out = append(out, png.Signature...)
		for c := range png.Chunks(good) {
			body := bytes.Clone(c.Body())
			if c.Kind == kind {
				if n == which {
					body[at] = value
				}
				n++
			}
			out = png.Append(out, c.Kind, body)
		}
		return out
	}
	for name, data := range map[string][]byte{
		"one frame too many":     change("acTL", 0, 3, byte(len(parts)+1)),
		"a frame outside":        change("fcTL", 1, 15, 6),
		"another sequence":       change("fcTL", 1, 3, 77),
		"no such disposal":       change("fcTL", 1, 24, 3),
		"no such blending":       change("fcTL", 1, 25, 2),
		"a frame without width":  change("fcTL", 1, 7, 0),
		"the first is too small": change("fcTL", 0, 7, 5),
	} {
		h, err := ReadHeader(data, nil)
		m, derr := Decode(data, nil)
		if err != nil || derr != nil || h.Frames || m.Depth != 1 || h.Note == "" {
			t.Errorf("%s: %+v, %v, %v", name, h, err, derr)
		}
	}
	if _, err := Decode(change("fdAT", 0, 6, 0xff), nil); err == nil {
		t.Error("damaged samples are shown")
	}
	for n := range len(good) {
		if _, err := Decode(good[:n], nil); err == nil {
			t.Fatalf("%d of %d bytes are shown", n, len(good))
		}
	}
}

// animatedWebP packs frames into a file; each is lossless.
func animatedWebP(t testing.TB, width, height int, plays uint16, frames []webpFrame) []byte {
	out := webp.Append(webp.Begin(nil), "VP8X", webp.Extended(webp.FlagAnimation|webp.FlagAlpha, width, height))
	out = webp.Append(out, "ANIM", binary.LittleEndian.AppendUint16([]byte{1, 2, 3, 4}, plays))
	for _, f := range frames {
		out = webp.Append(out, "ANMF", f.chunk())
	}
	return webp.Finish(out)
}

type webpFrame struct {
	x, y, width, height, delay int
	flags                      byte
	kind                       string
	bitstream                  []byte
}

func (f *webpFrame) chunk() []byte {
	var body []byte
	for _, v := range []int{f.x / 2, f.y / 2, f.width - 1, f.height - 1, f.delay} {
		body = append(body, byte(v), byte(v>>8), byte(v>>16))
	}
	return webp.Append(append(body, f.flags), f.kind, f.bitstream)
}

// An animation that gif2webp made of a GIF file shows what the GIF file shows, for as long.
func TestAnimatedWebPAgainstGIF(t *testing.T) {
	dir := t.TempDir()
	palette := color.Palette{color.NRGBA{}}
	for i := range 7 {
		palette = append(palette, color.NRGBA{byte(37 * i), byte(91 * i), byte(200 - 20*i), 255})
	}
	g := &gif.GIF{LoopCount: 4, Config: image.Config{Width: 20, Height: 16, ColorModel: palette}}
	for i := range 7 { // whole frames and parts, with holes, disposed of in all ways
		r := image.Rect(0, 0, 20, 16)
		if i > 0 && i%2 == 0 {
			r = image.Rect(2*i, i, 2*i+7, i+5)
		}
		p := image.NewPaletted(r, palette)
		for at := range p.Pix {
			p.Pix[at] = byte((at/(i+1)+i)%(8-i%2) + i%2)
		}
		g.Image, g.Delay, g.Disposal = append(g.Image, p), append(g.Delay, 3*i+2), append(g.Disposal, byte(i%4))
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, g); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "moves.gif"), file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "gif2webp -quiet moves.gif -o moves.webp")
	if m, want := decodeFile(t, filepath.Join(dir, "moves.webp")), decodeFile(t, filepath.Join(dir, "moves.gif")); m.Depth != 7 || !sameSight(m, want) || m.Meta.Lost(&want.Meta) != nil {
		t.Errorf("%s, %+v as WebP; %s, %+v as GIF", m.Shape, m.Meta.Animation, want.Shape, want.Meta.Animation)
	}
}

// sameSight compares what is seen: the colour of what is wholly transparent does not count.
func sameSight(a, b *raster.Image) bool {
	if a.Width != b.Width || a.Height != b.Height || a.Depth != b.Depth {
		return false
	}
	for i := range a.Pixels() {
		var v [2][4]int
		for k, m := range []*raster.Image{a, b} {
			v[k][3] = 255
			for c := range m.Channels {
				v[k][c] = m.Sample(i*m.Channels + c)
			}
			if v[k][3] == 0 {
				v[k] = [4]int{}
			}
		}
		if v[0] != v[1] {
			return false
		}
	}
	return true
}

// img2webp's frames come back with their delays and plays, lossy ones too.
func TestAnimatedWebPFromImages(t *testing.T) {
	dir := t.TempDir()
	var want []*raster.Image
	for i := range 3 {
		m := pattern(33, 18, 1, 3, 8)
		for at := range m.Pix {
			m.Pix[at] += byte(i * at)
		}
		data, err := Encode(m, "png")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), data, 0o644); err != nil {
			t.Fatal(err)
		}
		want = append(want, m)
	}
	shell(t, dir, "img2webp -loop 7 -lossless -d 40 0.png -d 50 1.png -d 70000 2.png -o whole.webp")
	m := decodeFile(t, filepath.Join(dir, "whole.webp"))
	if a := m.Meta.Animation; a.Plays != 7 || !slices.Equal(a.Delays, []time.Duration{40 * time.Millisecond, 50 * time.Millisecond, 70 * time.Second}) {
		t.Errorf("%+v", a)
	}
	for z := range want {
		if m.Depth != len(want) || !bytes.Equal(m.Slice(z).Pix, want[z].Pix) {
			t.Fatalf("%s: frame %d differs", m.Shape, z)
		}
	}
	shell(t, dir, "img2webp -loop 0 -lossy -q 90 -d 40 0.png -d 50 1.png -o lossy.webp && webpmux -get frame 1 lossy.webp -o first.webp && dwebp -quiet first.webp -o first.png")
	m = decodeFile(t, filepath.Join(dir, "lossy.webp"))
	if first := decodeFile(t, filepath.Join(dir, "first.png")); m.Depth != 2 || !sameSight(m.Slice(0), first) {
		t.Errorf("%s, whose first frame is another one than dwebp's", m.Shape)
	}
}

// Frames lie over each other as in libwebp, and what an animation may not have is refused.
func TestAnimatedWebPFrames(t *testing.T) {
	vp8l := func(m *raster.Image) []byte {
		dir := t.TempDir()
		data, err := Encode(m, "png")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "in.png"), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "cwebp -quiet -exact -lossless in.png -o out.webp")
		file, err := os.ReadFile(filepath.Join(dir, "out.webp"))
		if err != nil {
			t.Fatal(err)
		}
		c, ok := webp.Find(file, "VP8L")
		if !ok {
			t.Fatal("no VP8L")
		}
		return c.Body
	}
	pixel := func(r, g, b, a byte) *raster.Image {
		m := raster.New(1, 1, 1, 4, 8)
		copy(m.Pix, []byte{r, g, b, a})
		return m
	}
	under, over := vp8l(pixel(200, 100, 0, 255)), vp8l(pixel(0, 50, 250, 128))
	frame := func(flags byte, x int, bits []byte) webpFrame {
		return webpFrame{x: x, width: 1, height: 1, delay: 100, flags: flags, kind: "VP8L", bitstream: bits}
	}
	data := animatedWebP(t, 3, 1, 2, []webpFrame{frame(0, 0, under), frame(0, 0, over), frame(1, 2, under), frame(2, 0, over)})
	m, err := Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	// anim_decode.c: 128 + (255 * 128 >> 8) is 255, and colours are weighted with 128 and 127.
	want := [][]byte{
		{200, 100, 0, 255, 0, 0, 0, 0, 0, 0, 0, 0},
		{99, 74, 125, 255, 0, 0, 0, 0, 0, 0, 0, 0},
		{99, 74, 125, 255, 0, 0, 0, 0, 200, 100, 0, 255},
		{0, 50, 250, 128, 0, 0, 0, 0, 0, 0, 0, 0},
	}
	for z := range want {
		if !bytes.Equal(m.Slice(z).Pix, want[z]) {
			t.Errorf("frame %d: %v, want %v", z, m.Slice(z).Pix, want[z])
		}
	}
	// It does not blend where it knows that nothing is below, in the first frame and where the one before was cleared:
	// with a weight of 2^24 / 100, without its fraction, 200 becomes 199.
	thin := vp8l(pixel(200, 100, 3, 100))
	m, err = Decode(animatedWebP(t, 3, 1, 2, []webpFrame{frame(0, 0, thin), frame(1, 2, thin), frame(0, 2, thin)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for z, want := range [][]byte{
		{200, 100, 3, 100, 0, 0, 0, 0, 0, 0, 0, 0},
		{200, 100, 3, 100, 0, 0, 0, 0, 199, 99, 2, 100},
		{200, 100, 3, 100, 0, 0, 0, 0, 200, 100, 3, 100},
	} {
		if !bytes.Equal(m.Slice(z).Pix, want) {
			t.Errorf("thin frame %d: %v, want %v", z, m.Slice(z).Pix, want)
		}
	}
	for name, data := range map[string][]byte{
		"a frame outside":           animatedWebP(t, 2, 1, 0, []webpFrame{frame(0, 2, under)}),
		"no frame":                  animatedWebP(t, 2, 1, 0, nil),
		"a frame without a picture": animatedWebP(t, 2, 1, 0, []webpFrame{{width: 1, height: 1, kind: "ALPH", bitstream: under}}),
		"a frame of another size":   animatedWebP(t, 2, 2, 0, []webpFrame{{width: 2, height: 1, kind: "VP8L", bitstream: under}}),
	} {
		if _, err := Decode(data, nil); err == nil {
			t.Errorf("%s is shown", name)
		}
	}
	if _, err := Decode(data, &Limits{Frames: 3}); err == nil {
		t.Error("the limit of frames does not hold")
	}
	for n := range len(data) {
		if _, err := Decode(data[:n], nil); err == nil {
			t.Fatalf("%d of %d bytes are shown", n, len(data))
		}
	}
}

// The pages of a TIFF file are no animation, and the frames of a GIF file are.
func TestPagesAreNoAnimation(t *testing.T) {
	m := pattern(4, 3, 2, 3, 8)
	m.Frames = true
	data, err := Encode(m, "tiff")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(data, nil); err != nil || !got.Frames || len(got.Meta.Animation.Delays) > 0 {
		t.Errorf("pages: %+v (%v)", got.Meta.Animation, err)
	}
}
