package gif

import (
	"bytes"
	stdlzw "compress/lzw"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// most is more frames than any file here has.
const most = 100

var colours = []byte{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}

// screen is the beginning of a file of 3 x 2 pixels with four colours.
func screen() []byte {
	return append([]byte("GIF89a\x03\x00\x02\x00\x81\x00\x00"), colours...)
}

// subBlocks divides data into sub-blocks, up to the empty one.
func subBlocks(data []byte) (b []byte) {
	for block := range slices.Chunk(data, 255) {
		b = append(append(b, byte(len(block))), block...)
	}
	return append(b, 0)
}

func compressed(indices []byte, size int) []byte {
	var b bytes.Buffer
	z := stdlzw.NewWriter(&b, stdlzw.LSB, size)
	z.Write(indices)
	z.Close()
	return b.Bytes()
}

// frame is a descriptor and data of a size of index.
func frame(x, y, w, h int, size byte, data []byte) []byte {
	b := []byte{kindImage}
	for _, v := range []int{x, y, w, h} {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return append(append(b, 0, size), subBlocks(data)...)
}

func whole() []byte { return frame(0, 0, 3, 2, 2, compressed([]byte{0, 1, 2, 3, 0, 1}, 2)) }

func extension(label byte, parts ...string) []byte {
	b := []byte{kindExtension, label}
	for _, p := range parts {
		b = append(append(b, byte(len(p))), p...)
	}
	return append(b, 0)
}

func file(blocks ...[]byte) []byte {
	return append(append(screen(), bytes.Join(blocks, nil)...), kindTrailer)
}

// xmpTrailer is what follows an XMP packet up to the empty sub-block.
func xmpTrailer() []byte {
	b := []byte{1}
	for i := 255; i >= 0; i-- {
		b = append(b, byte(i))
	}
	return append(b, 0)
}

func withAttributes() []byte {
	long := strings.Repeat("0123456789", 30)
	packet := append([]byte("\x21\xff\x0bXMP DataXMP<x:xmpmeta/>"), xmpTrailer()...)
	return file(extension(labelComment, "hello"), extension(labelComment, long[:255], long[255:]),
		extension(labelApplication, "NETSCAPE2.0", "\x01\x00\x00"), extension(labelApplication, "ICCRGBG1012", "pro", "file"),
		packet, extension(labelApplication, "short"), whole())
}

func seeds(t testing.TB) [][]byte {
	names, err := filepath.Glob("../../../imageio/testdata/*/*.gif")
	if err != nil || len(names) < 2 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	names = append(names, "../../../testdata/images/tiles.gif")
	files := [][]byte{withAttributes()}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	return files
}

func TestAttributes(t *testing.T) {
	type seen struct {
		kind      container.Kind
		key, data string
	}
	var got []seen
	for a := range Attributes(withAttributes()) {
		data, ok := a.Bytes(1 << 10)
		if !ok {
			t.Errorf("%+v is over the limit", a)
		}
		got = append(got, seen{a.Kind, a.Key, string(data)})
	}
	want := []seen{
		{container.Text, "Comment", "hello"},
		{container.Text, "Comment", strings.Repeat("0123456789", 30)},
		{container.ICC, "", "profile"},
		{container.XMP, "", "<x:xmpmeta/>"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for range Attributes(withAttributes()) {
		break
	}
	for range Attributes(file(extension(labelApplication, "XMP DataXMP", "no trailer"))) {
		t.Error("a packet without its trailer is yielded")
	}
	if b, ok := Application(withAttributes(), "NETSCAPE2.0"); !ok || string(b) != "\x03\x01\x00\x00\x00" {
		t.Errorf("%q, %t", b, ok)
	}
	if _, ok := Application(withAttributes(), "ANOTHER 1.0"); ok {
		t.Error("an extension is found that is not there")
	}
}

func TestDamagedFiles(t *testing.T) {
	good := file(whole())
	for name, c := range map[string]struct {
		data        []byte
		want        error
		unsupported bool
	}{
		"empty":               {nil, nil, false},
		"another format":      {[]byte("GIF88a and more of it"), nil, false},
		"half a screen":       {good[:10], container.ErrCutShort, false},
		"half of the colours": {good[:20], container.ErrCutShort, false},
		"no trailer":          {good[:len(good)-1], container.ErrCutShort, false},
		"half a descriptor":   {good[:len(screen())+5], container.ErrCutShort, false},
		"half of the data":    {good[:len(good)-4], container.ErrCutShort, false},
		"half an extension":   {append(screen(), kindExtension), container.ErrCutShort, false},
		"no frame":            {file(), nil, false},
		"no such block":       {append(screen(), 0x77), nil, false},
		"indices of 0 bits":   {file(frame(0, 0, 1, 1, 0, nil)), nil, false},
		"indices of 9 bits":   {file(frame(0, 0, 1, 1, 9, nil)), nil, false},
		"no colours":          {append([]byte("GIF89a\x03\x00\x02\x00\x01\x00\x00"), append(whole(), kindTrailer)...), nil, true},
		"too many frames":     {file(slices.Repeat([][]byte{whole()}, most+1)...), nil, false},
	} {
		_, err := Open(c.data, most, container.Lenient)
		var malformed *container.FormatError
		var unsupported *container.UnsupportedError
		switch {
		case c.unsupported && !errors.As(err, &unsupported), !c.unsupported && !errors.As(err, &malformed):
			t.Errorf("%s: error %v", name, err)
		case c.want != nil && err != c.want:
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// slices draws a file, to the last canvas.
func drawn(data []byte, mode container.Mode) (last []byte, n int, err error) {
	f, err := Open(data, most, mode)
	if err != nil {
		return nil, 0, err
	}
	for c, err := range f.Slices() {
		if err != nil {
			return nil, n, err
		}
		last = bytes.Clone(c)
		n++
	}
	return last, n, nil
}

// A strict decoder refuses what a lenient one draws, and both agree on the rest.
func TestModes(t *testing.T) {
	six := []byte{0, 1, 2, 3, 0, 1}
	for name, c := range map[string]struct {
		data   []byte
		strict bool
	}{
		"plain":                        {file(whole()), true},
		"an unknown extension":         {file(extension(0x42, "abc"), whole()), false},
		"a long graphic control":       {file(extension(labelControl, "12345"), whole()), false},
		"a frame that leaves":          {file(frame(1, 0, 3, 2, 2, compressed(six, 2))), false},
		"a frame without samples":      {file(whole(), frame(0, 0, 0, 2, 2, nil)), false},
		"an index beyond":              {file(frame(0, 0, 3, 2, 3, compressed([]byte{0, 1, 7, 3, 0, 1}, 3))), false},
		"a transparent index beyond":   {file(extension(labelControl, "\x01\x00\x00\x07"), frame(0, 0, 3, 2, 3, compressed([]byte{0, 1, 7, 3, 0, 1}, 3))), true},
		"pixels behind the last":       {file(frame(0, 0, 3, 2, 2, compressed(append(six, 2, 2), 2))), false},
		"a string beyond the last":     {file(frame(0, 0, 3, 2, 2, compressed(bytes.Repeat([]byte{1}, 9), 2))), false},
		"data behind the end code":     {file(frame(0, 0, 3, 2, 2, append(compressed(six, 2), "more"...))), true},
		"no end code":                  {file(frame(0, 0, 1, 1, 2, []byte{0b00_001_100})), true},
		"a clear code before the end":  {file(frame(0, 0, 1, 1, 2, []byte{0b00_001_100, 0b1011})), true},
		"bytes behind the trailer":     {append(file(whole()), "tail"...), true},
		"an extension without content": {file(extension(labelControl), extension(labelComment), whole()), false},
	} {
		want, n, err := drawn(c.data, container.Lenient)
		if err != nil {
			t.Errorf("%s: lenient: %v", name, err)
		}
		got, m, err := drawn(c.data, container.Strict)
		if (err == nil) != c.strict || err == nil && (m != n || !bytes.Equal(got, want)) {
			t.Errorf("%s: strict: %v", name, err)
		}
	}
}

// Frames are those of image/gif, for indices of 2 to 8 bits, plain and interlaced.
func TestFramesOfTheStandardDecoder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 4, 5, 16, 17, 100, 129, 256} {
		for _, size := range []image.Point{{1, 1}, {7, 5}, {40, 33}, {300, 2}} {
			palette := make(color.Palette, n)
			for i := range palette {
				palette[i] = color.RGBA{byte(r.Uint32()), byte(r.Uint32()), byte(i), 255}
			}
			m := image.NewPaletted(image.Rectangle{Max: size}, palette)
			for i := range m.Pix {
				m.Pix[i] = byte(r.IntN(n))
				if i > 0 && r.IntN(3) > 0 {
					m.Pix[i] = m.Pix[i-1]
				}
			}
			var b bytes.Buffer
			if err := gif.Encode(&b, m, &gif.Options{NumColors: n}); err != nil {
				t.Fatal(err)
			}
			got, _, err := drawn(b.Bytes(), container.Strict)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range m.Pix {
				c := palette[v].(color.RGBA)
				if [4]byte(got[4*i:]) != [4]byte{c.R, c.G, c.B, c.A} {
					t.Fatalf("%d colours, %v: pixel %d is %v, want %v", n, size, i, got[4*i:4*i+4], c)
				}
			}
		}
	}
}

// tiles says what is wrong with the blocks of a file: they follow one another
// without a gap, from the colours of the screen on, and share the file's bytes.
func tiles(data []byte) error {
	s, err := ReadScreen(data)
	if err != nil {
		return nil
	}
	at := screenLength + len(s.Colours)
	for b, err := range Blocks(data) {
		switch {
		case err != nil:
			return nil
		case b.At != at, &b.Whole[0] != &data[at], b.Kind != data[at], !bytes.HasSuffix(b.Whole, b.Data):
			return errors.New("a block does not begin where the one before ends")
		}
		at += len(b.Whole)
	}
	return nil
}

func FuzzBlocks(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if err := tiles(data); err != nil {
			t.Fatal(err)
		}
		for a := range Attributes(data) {
			if _, ok := a.Bytes(len(data)); !ok {
				t.Fatal("an attribute does not join")
			}
		}
		var shown [2][]byte
		for _, mode := range []container.Mode{container.Lenient, container.Strict} {
			file, err := Open(data, most, mode)
			var malformed *container.FormatError
			var unsupported *container.UnsupportedError
			if err != nil {
				if !errors.As(err, &malformed) && !errors.As(err, &unsupported) {
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			if file.Width*file.Height <= 1<<12 && file.Largest() <= 1<<12 {
				shown[mode], _, _ = drawn(data, mode)
			}
		}
		if shown[container.Strict] != nil && !bytes.Equal(shown[0], shown[1]) {
			t.Fatal("the two modes draw different samples")
		}
		if !bytes.Equal(before, data) {
			t.Fatal("the walker changed the file")
		}
	})
}

// What a file only claims costs nothing.
func TestClaimsCostNothing(t *testing.T) {
	data := append([]byte("GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff"), frame(0, 0, 65535, 65535, 2, []byte{0x44, 1})...)
	data = append(data, kindTrailer)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(data, most, container.Lenient)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || n > 8<<10 {
		t.Errorf("%d bytes were taken (%v)", n, err)
	}
}

// Bytes are those of the canvases. "standard" is image/gif without drawing.
func BenchmarkSlices(b *testing.B) {
	m := image.NewPaletted(image.Rect(0, 0, 768, 512), palette.Plan9)
	for i := range m.Pix {
		m.Pix[i] = byte(i%768/8 + i/768/8*3 + i*i>>7&3)
	}
	var coded bytes.Buffer
	if err := gif.EncodeAll(&coded, &gif.GIF{Image: []*image.Paletted{m, m}, Delay: []int{1, 1}}); err != nil {
		b.Fatal(err)
	}
	data := coded.Bytes()
	f, err := Open(data, 1<<16, container.Strict)
	if err != nil {
		b.Fatal(err)
	}
	size := int64(4 * f.Width * f.Height * len(f.Frames))
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range f.Slices() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("standard", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := gif.DecodeAll(bytes.NewReader(data)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
