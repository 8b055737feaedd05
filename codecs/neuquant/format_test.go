package neuquant

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/exif"
	pngfile "github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/raster"
)

// need skips loudly, or fails in CI, where a program is missing.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	why := program + " is not installed; Debian: apt-get install imagemagick netpbm pngquant"
	if os.Getenv("PELMILL_TEST") == "require" {
		t.Fatal(why)
	}
	t.Skip("NOT TESTED: " + why)
}

func command(t testing.TB, program string, args ...string) []byte {
	t.Helper()
	need(t, program)
	cmd := exec.Command(program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, &stderr)
	}
	return out
}

// paletted is an image of random indices, in which every entry is in use where there
// are enough pixels, and of a palette with unused entries and some that are not opaque.
func paletted(r *rand.Rand, w, h, frames, entries, clear, channels int) *indexed {
	p := &indexed{width: w, height: h, channels: channels}
	palette := make([]uint32, min(256, entries+r.IntN(4)))
	for i := range palette {
		v := r.Uint32() | opaque
		if channels < 3 {
			v = v&255*0x10101 | opaque
		}
		palette[i] = v
	}
	for _, i := range r.Perm(entries)[:clear] {
		palette[i] = palette[i]&^uint32(opaque) | uint32(r.IntN(255))<<24
	}
	p.palettes = [][]uint32{palette}
	for range frames {
		frame := make([]uint8, w*h)
		for i := range frame {
			frame[i] = uint8(i % entries)
		}
		r.Shuffle(len(frame), func(i, j int) { frame[i], frame[j] = frame[j], frame[i] })
		p.frames = append(p.frames, frame)
	}
	return p
}

// image is what p looks like.
func (p *indexed) image() *raster.Image {
	m := raster.New(p.width, p.height, len(p.frames), p.channels, 8)
	m.Frames = len(p.frames) > 1
	at := 0
	for z, frame := range p.frames {
		palette := p.palettes[min(z, len(p.palettes)-1)]
		for _, v := range frame {
			c := palette[v]
			switch p.channels {
			case 1, 3:
				at += copy(m.Pix[at:], []byte{byte(c), byte(c >> 8), byte(c >> 16)}[:p.channels])
			case 2:
				at += copy(m.Pix[at:], []byte{byte(c), byte(c >> 24)})
			case 4:
				at += copy(m.Pix[at:], []byte{byte(c), byte(c >> 8), byte(c >> 16), byte(c >> 24)})
			}
		}
	}
	return m
}

func mustDecode(t testing.TB, data []byte) *raster.Image {
	t.Helper()
	d := decode(t.Context(), data, nil, codec.Uncleared)
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	return d.Image
}

// chunks are the names of a PNG file's chunks, and their bodies.
func chunks(t testing.TB, data []byte) (names []string, bodies map[string][]byte) {
	t.Helper()
	bodies = map[string][]byte{}
	for rest := data[len(pngfile.Signature):]; len(rest) > 0; {
		n := int(binary.BigEndian.Uint32(rest))
		name := string(rest[4:8])
		if binary.BigEndian.Uint32(rest[8+n:]) != crc32.ChecksumIEEE(rest[4:8+n]) {
			t.Errorf("chunk %s: bad checksum", name)
		}
		names = append(names, name)
		bodies[name] = rest[8 : 8+n]
		rest = rest[12+n:]
	}
	return names, bodies
}

var sizes = [][2]int{{1, 1}, {3, 1}, {1, 5}, {7, 9}, {8, 8}, {9, 7}, {33, 31}}

func TestPNG(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	depths := map[int]byte{1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 15: 4, 16: 4, 17: 8, 255: 8, 256: 8}
	for entries, bits := range depths {
		for _, size := range append(sizes, [2]int{64, 65}) {
			if size[0]*size[1] < entries || testing.Short() && size[0] == 64 {
				continue
			}
			for channels := 1; channels <= 4; channels++ {
				clear := 0
				if channels&1 == 0 {
					clear = min(entries, r.IntN(5))
				}
				p := paletted(r, size[0], size[1], 1, entries, clear, channels)
				what := fmt.Sprintf("%d x %d, %d entries, %d not opaque, %d channels", size[0], size[1], entries, clear, channels)
				data, err := p.png()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				names, body := chunks(t, data)
				if body["IHDR"][8] != bits || len(body["PLTE"]) != 3*entries || len(body["tRNS"]) != clear {
					t.Errorf("%s: %d bits, %d entries, %d in tRNS", what, body["IHDR"][8], len(body["PLTE"])/3, len(body["tRNS"]))
				}
				want := []string{"IHDR", "PLTE", "tRNS", channelsChunk, "IDAT", "IEND"}
				want = slices.DeleteFunc(want, func(s string) bool { _, ok := body[s]; return !ok })
				if !slices.Equal(names, want) {
					t.Errorf("%s: chunks %v", what, names)
				}
				m := p.image()
				if got := mustDecode(t, data); got.Hash() != m.Hash() {
					t.Errorf("%s: comes back as another picture, %s", what, got.Shape)
				}
				src, err := png.Decode(bytes.NewReader(data))
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for i, v := range p.frames[0] {
					c := color.NRGBAModel.Convert(src.At(i%p.width, i/p.width)).(color.NRGBA)
					if got := uint32(c.R) | uint32(c.G)<<8 | uint32(c.B)<<16 | uint32(c.A)<<24; got != p.palettes[0][v] {
						t.Fatalf("%s: pixel %d is %08x, want %08x", what, i, got, p.palettes[0][v])
					}
				}
			}
		}
	}
}

// TestPNGByPeers lets libpng, by pngtopnm, and ImageMagick read our files.
func TestPNGByPeers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	dir := t.TempDir()
	for _, entries := range []int{1, 2, 3, 4, 13, 16, 17, 200, 256} {
		for _, clear := range []int{0, 1, entries} {
			clear = min(clear, entries)
			p := paletted(r, 31, 17, 1, entries, clear, 3+min(clear, 1))
			p.meta.EXIF = []byte("MM\x00*\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00")
			data, err := p.png()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a.png")
			if err := os.WriteFile(path, data, 0o666); err != nil {
				t.Fatal(err)
			}
			m := p.image()
			for _, part := range []struct {
				arg  string
				from int // the first channel, and how many
				n    int
			}{{"-mix", 0, 3}, {"-alpha", 3, 1}} {
				if part.arg == "-mix" && clear > 0 || part.arg == "-alpha" && clear == 0 {
					continue
				}
				got, err := imageio.Decode(command(t, "pngtopnm", part.arg, path), nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := range p.frames[0] {
					for c := range part.n {
						g := got.Pix[i*got.Channels+c%got.Channels]
						if got.Bits == 1 {
							g *= 255
						}
						if want := m.Pix[i*m.Channels+part.from+c]; g != want {
							t.Fatalf("%d entries, %d not opaque: pngtopnm %s has %d at %d, want %d", entries, clear, part.arg, g, i, want)
						}
					}
				}
			}
			if got := string(command(t, "identify", "-format", "%m %w %h", path)); got != "PNG 31 17" {
				t.Errorf("%d entries: identify says %q", entries, got)
			}
		}
	}
}

// An image has the channels of its source, whether its colours show them or not.
func TestChannelsComeBack(t *testing.T) {
	for _, c := range []struct {
		channels int
		palette  []uint32
		marked   bool
	}{
		{1, []uint32{0xff000000, 0xffffffff}, false},
		{2, []uint32{0xff000000, 0x80ffffff}, false},
		{2, []uint32{0xff000000, 0xffffffff}, true},
		{3, []uint32{0xff0000ff, 0xffffffff}, false},
		{3, []uint32{0xff000000, 0xffffffff}, true},
		{4, []uint32{0xff0000ff, 0x00000000}, false},
		{4, []uint32{0xff0000ff, 0xffffffff}, true},
		{4, []uint32{0xff000000, 0x00000000}, true},
		{4, []uint32{0xff000000, 0xffffffff}, true},
	} {
		p := &indexed{width: 2, height: 2, frames: [][]uint8{{0, 1, 0, 0}}, palettes: [][]uint32{c.palette}, channels: c.channels}
		for name, write := range map[string]func() ([]byte, error){"png": p.png, "gif": p.gif} {
			if name == "gif" && c.palette[1]>>24 == 0x80 {
				continue
			}
			data, err := write()
			if err != nil {
				t.Fatal(err)
			}
			if got := mustDecode(t, data); got.Hash() != p.image().Hash() {
				t.Errorf("%s: %d channels, %08x: comes back as %s", name, c.channels, c.palette, got.Shape)
			}
			if f, err := open(data); err != nil || f.mark != 0 != c.marked {
				t.Errorf("%s: %d channels, %08x: mark %d (%v)", name, c.channels, c.palette, f.mark, err)
			}
		}
	}
}

func TestMetadataComesBack(t *testing.T) {
	p := paletted(rand.New(rand.NewPCG(5, 6)), 9, 9, 1, 20, 0, 3)
	p.meta.ICC = bytes.Repeat([]byte("profile "), 100)
	p.meta.EXIF = []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00")
	data, err := p.png()
	if err != nil {
		t.Fatal(err)
	}
	m := mustDecode(t, data)
	if !bytes.Equal(m.Meta.ICC, p.meta.ICC) || !bytes.Equal(m.Meta.EXIF, exif.Upright(p.meta.EXIF)) || m.Hash() != p.image().Hash() {
		t.Errorf("profile of %d bytes, EXIF block %q", len(m.Meta.ICC), m.Meta.EXIF)
	}
	other, err := imageio.Decode(data, nil)
	if err != nil || !bytes.Equal(other.Meta.ICC, p.meta.ICC) || other.Hash() != m.Hash() {
		t.Errorf("package imageio reads another picture or profile (%v)", err)
	}
	if names, _ := chunks(t, data); !slices.Equal(names, []string{"IHDR", "iCCP", "PLTE", "eXIf", "IDAT", "IEND"}) {
		t.Errorf("chunks %v", names)
	}
}

func TestGIF(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, frames := range []int{1, 2, 5} {
		for _, own := range []bool{false, true} {
			for _, entries := range []int{1, 2, 3, 4, 16, 17, 129, 256} {
				for _, size := range sizes {
					if size[0]*size[1] < entries {
						continue
					}
					channels := 1 + r.IntN(4)
					p := paletted(r, size[0], size[1], frames, entries, 0, channels)
					if own {
						for len(p.palettes) < frames {
							p.palettes = append(p.palettes, paletted(r, 1, 1, 1, entries, 0, channels).palettes[0][:entries])
						}
					}
					if channels&1 == 0 {
						p.palettes[0][r.IntN(entries)] = 0
					}
					if r.IntN(2) == 0 { // frames that differ in a part
						for z := 1; z < frames; z++ {
							n := len(p.frames[z])
							from := r.IntN(n)
							copy(p.frames[z][from:], p.frames[z-1][from:from+r.IntN(n-from+1)])
						}
					}
					if r.IntN(4) == 0 { // and one that does not differ
						p.frames[frames-1] = p.frames[max(0, frames-2)]
					}
					what := fmt.Sprintf("%d frames of %d x %d, %d entries, %d channels, own %t", frames, size[0], size[1], entries, channels, own)
					data, err := p.gif()
					if err != nil {
						t.Fatalf("%s: %v", what, err)
					}
					m := p.image()
					if got := mustDecode(t, data); got.Hash() != m.Hash() || got.Frames != (frames > 1) {
						t.Fatalf("%s: comes back as another picture, %s", what, got.Shape)
					}
					g, err := gif.DecodeAll(bytes.NewReader(data))
					if err != nil || len(g.Image) != frames || frames > 1 && (g.LoopCount != 0 || g.Delay[0] != frameTime) {
						t.Fatalf("%s: image/gif: %d frames, loop %d (%v)", what, len(g.Image), g.LoopCount, err)
					}
					other, err := imageio.Decode(data, nil)
					if err != nil || other.Depth != frames {
						t.Fatalf("%s: package imageio: %v", what, err)
					}
				}
			}
		}
	}
}

// ImageMagick shows the frames that we mean: those that let see through do not show the
// frame before, and those that hold only what changes show the rest of it.
func TestGIFByPeers(t *testing.T) {
	need(t, "convert")
	r := rand.New(rand.NewPCG(11, 12))
	seen := paletted(r, 19, 13, 4, 30, 0, 4)
	seen.palettes[0][7], seen.palettes[0][8] = 0, 0
	moving := paletted(r, 19, 13, 4, 30, 0, 3)
	for z := 1; z < 4; z++ {
		copy(moving.frames[z][:19*4+5*z], moving.frames[z-1])
		copy(moving.frames[z][19*9:], moving.frames[z-1][19*9:])
	}
	for name, p := range map[string]*indexed{
		"seen through": seen,
		"small":        {width: 2, height: 1, frames: [][]uint8{{0, 1}, {1, 0}, {0, 0}, {1, 1}}, palettes: [][]uint32{{0xff0000ff, 0}}, channels: 4},
		"moving":       moving,
	} {
		data, err := p.gif()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.gif")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("GIF %d %d 10 4\n", p.width, p.height)
		if got := string(command(t, "identify", "-format", "%m %W %H %T %n\n", path)); got != strings.Repeat(want, 4) {
			t.Errorf("%s: identify says %q", name, got)
		}
		raw := command(t, "convert", path, "-coalesce", "-depth", "8", "rgba:-")
		m := p.image()
		if len(raw) != 4*p.width*p.height*4 {
			t.Fatalf("%s: ImageMagick shows %d bytes", name, len(raw))
		}
		for i, v := range colourList(m) {
			if got := binary.LittleEndian.Uint32(raw[4*i:]); got != v && (got >= 1<<24 || v >= 1<<24) {
				t.Fatalf("%s: ImageMagick shows %08x at %d, want %08x", name, got, i, v)
			}
		}
	}
}

// Files of other programs that are not ours, or ask for what they cannot hold.
func TestRefusedFiles(t *testing.T) {
	var rgb bytes.Buffer
	if err := png.Encode(&rgb, image.NewNRGBA(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	p := paletted(rand.New(rand.NewPCG(9, 10)), 5, 5, 1, 9, 0, 3)
	good, err := p.png()
	if err != nil {
		t.Fatal(err)
	}
	wide := bytes.Clone(good)
	binary.BigEndian.PutUint32(wide[16:], 60000)
	binary.BigEndian.PutUint32(wide[20:], 60000)
	binary.BigEndian.PutUint32(wide[29:], crc32.ChecksumIEEE(wide[12:29]))
	huge, err := p.gif()
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(huge[6:], 65535)
	animated := slices.Concat(good[:33], pngfile.Append(nil, "acTL", make([]byte, 8)), good[33:])
	binary.BigEndian.PutUint32(animated[41:], 2)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"RGB":        {rgb.Bytes(), "has no palette"},
		"wide":       {wide, "over the limit"},
		"huge GIF":   {huge, "cannot be in"},
		"animated":   {animated, "animated"},
		"cut":        {good[:len(good)-13], "cut short"},
		"no picture": {[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"), "no frame"},
		"text":       {[]byte("nothing of the kind"), "neither"},
		"empty":      {nil, "neither"},
	} {
		err := decode(t.Context(), c.data, nil, codec.Uncleared).Err
		var f *codec.FormatError
		var u *codec.UnsupportedError
		if !errors.As(err, &f) && !errors.As(err, &u) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, again := (Codec{}).Header(c.data); again == nil {
			t.Errorf("%s: Header takes it", name)
		}
	}
}

// png is the file of one frame.
func (p *indexed) png() ([]byte, error) {
	list := sorted(p.palettes[0], p.census(0))
	return p.assemble(list, compress(p.rows(list)))
}
