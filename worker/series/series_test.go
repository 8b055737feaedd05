package series

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/raster"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

func slicesOf(n int, change func(i int, m *seriestest.Made)) (all []Instance) {
	for i, data := range seriestest.Slices(n, change) {
		all = append(all, Instance{Key: fmt.Sprintf("ct/%03d", i), Data: data})
	}
	return all
}

// bothWays makes an object of files, opens it and demands every file back, bit by bit.
func bothWays(t *testing.T, files []Instance) (*Plan, []byte) {
	t.Helper()
	p := Group(files)
	c := jpeg2000.Codec{}
	opts, err := c.Options([]string{"container=jp3d"})
	if err != nil {
		t.Fatal(err)
	}
	var streams [][]byte
	for i := range p.Images {
		out := c.Encode(context.Background(), codec.Run{}, []codec.Item{{Image: p.Image(i)}}, opts)
		if out[0].Err != nil {
			t.Fatalf("image %d of %s: %v", i, p.Shape(i), out[0].Err)
		}
		streams = append(streams, out[0].Data)
	}
	object, err := p.Object(streams)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Open(object)
	if err != nil {
		t.Fatal(err)
	}
	images := decodeAll(t, o)
	for i, f := range files {
		got, err := o.Restore(i, images)
		if err != nil || !bytes.Equal(got, f.Data) || o.Files[i].Key != f.Key {
			t.Errorf("file %s: %v", f.Key, err)
		}
	}
	return p, object
}

func decodeAll(t *testing.T, o *Object) (images []*raster.Image) {
	t.Helper()
	for i, out := range (jpeg2000.Codec{}).Decode(context.Background(), codec.Run{}, o.Codestreams, nil) {
		if out.Err != nil {
			t.Fatalf("image %d: %v", i, out.Err)
		}
		images = append(images, out.Image)
	}
	return images
}

func TestSeries(t *testing.T) {
	tilt := func(i int, m *seriestest.Made) {
		m.Orientation, m.Position = `1\0\0\0\0.951057\-0.309017`, fmt.Sprintf(`-100\%d.25\%d`, -50-i, 5*i)
	}
	for _, c := range []struct {
		name                  string
		files                 []Instance
		volumes, alone, whole int
		slices                int // of the first volume
	}{
		{"an even one", slicesOf(12, nil), 1, 0, 0, 12},
		{"eight slices", slicesOf(8, nil), 1, 0, 0, 8},
		{"seven slices", slicesOf(7, nil), 0, 7, 0, 0},
		{"a gap", slicesOf(12, func(i int, m *seriestest.Made) { m.Position = fmt.Sprintf(`0\0\%d`, i+i/6*50) }), 1, 0, 0, 12},
		{"a tilted gantry", slicesOf(10, tilt), 1, 0, 0, 10},
		{"cosines that differ a little", slicesOf(9, func(i int, m *seriestest.Made) { m.Orientation = fmt.Sprintf(`1\0.0000%d\0\0\1\0`, i) }), 1, 0, 0, 9},
		{"two orientations", slicesOf(20, func(i int, m *seriestest.Made) {
			if i%2 == 1 {
				m.Orientation = `0\1\0\0\0\1`
				m.Position = fmt.Sprintf(`%d\0\0`, i)
			}
		}), 2, 0, 0, 10},
		{"each position twice, by acquisition", slicesOf(16, func(i int, m *seriestest.Made) {
			m.Position, m.Acquisition = fmt.Sprintf(`0\0\%d`, i/2), fmt.Sprint(1+i%2)
		}), 2, 0, 0, 8},
		{"each position twice, and nothing to tell", slicesOf(18, func(i int, m *seriestest.Made) { m.Position = fmt.Sprintf(`0\0\%d`, i/2) }), 2, 0, 0, 9},
		{"one duplicate", slicesOf(11, func(i int, m *seriestest.Made) {
			if i == 10 {
				m.Position = `-120.5\-99.25\3.5`
			}
		}), 1, 1, 0, 10},
		{"a localizer", slicesOf(10, func(i int, m *seriestest.Made) {
			if i == 0 {
				m.Kind = `ORIGINAL\PRIMARY\LOCALIZER`
			}
		}), 1, 1, 0, 9},
		{"a slice without position", slicesOf(10, func(i int, m *seriestest.Made) {
			if i == 4 {
				m.Position = ""
			}
		}), 1, 1, 0, 9},
		{"PET, each slice with its rescale", slicesOf(10, func(i int, m *seriestest.Made) { m.Slope = fmt.Sprintf("%d.125", i+1) }), 1, 0, 0, 10},
		{"two series", slicesOf(20, func(i int, m *seriestest.Made) { m.Series = fmt.Sprintf("1.2.%d", i%2) }), 2, 0, 0, 10},
		{"other rows", slicesOf(17, func(i int, m *seriestest.Made) { m.Height += i % 2 }), 2, 0, 0, 9},
		{"another spacing", slicesOf(17, func(i int, m *seriestest.Made) { m.Spacing = fmt.Sprintf(`0.%d\0.5`, 5+i%2) }), 2, 0, 0, 9},
		{"the same spacing in other words", slicesOf(9, func(i int, m *seriestest.Made) { m.Spacing = []string{`0.5\0.5`, `.50\5E-1`}[i%2] }), 1, 0, 0, 9},
		{"an enhanced one", slicesOf(1, func(_ int, m *seriestest.Made) { m.Frames, m.Position = 10, "" }), 1, 0, 0, 10},
		{"big endian", slicesOf(8, func(_ int, m *seriestest.Made) { m.Big = true }), 1, 0, 0, 8},
		{"implicit, signed", slicesOf(8, func(_ int, m *seriestest.Made) { m.Implicit, m.Signed, m.Bits = true, true, 16 }), 1, 0, 0, 8},
		{"8 of 16 bits, signed", slicesOf(8, func(_ int, m *seriestest.Made) { m.Signed, m.Bits = true, 8 }), 1, 0, 0, 8},
		{"8 bits, odd, something behind", slicesOf(8, func(_ int, m *seriestest.Made) { m.Bits, m.Allocated, m.Width, m.Height, m.Odd = 8, 8, 7, 5, true }), 1, 0, 0, 8},
		{"8 bits, big endian words, odd", slicesOf(8, func(_ int, m *seriestest.Made) { m.Bits, m.Allocated, m.Width, m.Height, m.Big = 8, 8, 7, 5, true }), 0, 0, 8, 0},
		{"colour in planes", slicesOf(8, func(_ int, m *seriestest.Made) { m.Channels, m.Planar, m.Bits, m.Allocated = 3, true, 8, 8 }), 1, 0, 0, 8},
		{"colour", slicesOf(8, func(_ int, m *seriestest.Made) { m.Channels, m.Bits, m.Allocated = 3, 8, 8 }), 1, 0, 0, 8},
		{"damaged, foreign and empty files", append(slicesOf(9, func(i int, m *seriestest.Made) { m.Odd = true }), Instance{Key: "ct/readme", Data: []byte("no DICOM")},
			Instance{Key: "ct/empty"}, Instance{Key: "ct/cut", Data: seriestest.Made{Number: 3, Width: 9, Height: 9, Frames: 1, Channels: 1, Bits: 8, Allocated: 8}.File()[:300]}), 1, 0, 3, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := bothWays(t, c.files)
			if p.Volumes != c.volumes || p.Alone != c.alone || p.Whole != c.whole {
				t.Errorf("%d volumes, %d alone, %d whole; want %d, %d, %d", p.Volumes, p.Alone, p.Whole, c.volumes, c.alone, c.whole)
			}
			if c.volumes > 0 && p.Shape(0).Depth != c.slices {
				t.Errorf("the first volume has %d slices, want %d", p.Shape(0).Depth, c.slices)
			}
		})
	}
}

// TestReasons says of each file that is in no volume why, and of volumes what is odd about them.
func TestReasons(t *testing.T) {
	compressed := slicesOf(1, nil)[0]
	compressed.Data = bytes.Replace(compressed.Data, []byte("1.2.840.10008.1.2.1\x00"), []byte("1.2.840.10008.1.2.5\x00"), 1)
	files := append(slicesOf(9, func(i int, m *seriestest.Made) {
		m.Position = fmt.Sprintf(`0\%d\%d`, i, i+i/4*10)
	}), slicesOf(6, func(i int, m *seriestest.Made) {
		switch i {
		case 0:
			m.Kind = `ORIGINAL\PRIMARY\LOCALIZER`
		case 1:
			m.Position = `0\1\1`
		case 2:
			m.Frames = 3
		case 3:
			m.Orientation = ""
		case 4:
			m.Bits, m.Allocated = 8, 8
		case 5:
			m.Bits = 4 // noise beyond 4 bits
			m.Pixels = bytes.Repeat([]byte{0xf0, 0xff}, m.Width*m.Height)
		}
	})...)
	p, _ := bothWays(t, append(files, Instance{Key: "ct/readme", Data: []byte("no DICOM")}))
	want := "7 of 16 files are in no volume: 1 slices of a shape, spacing and orientation that fewer than 8 have, 1 files of several frames, but fewer than 8, " +
		"1 localizers, 1 slices without position or orientation, 1 slices at positions that other slices have, 1 no DICOM images, or damaged, 1 files that would not come back bit by bit"
	if got := p.Reasons(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if p.Gaps != 2 || p.Tilted != 1 {
		t.Errorf("%d gaps, %d tilted volumes; want 2 and 1", p.Gaps, p.Tilted)
	}
	if p := Group([]Instance{compressed}); p.Whole != 1 || p.Reasons() != "1 of 1 files are in no volume: 1 no DICOM images, or damaged" {
		t.Error(p.Reasons()) // native pixel data under an encapsulated syntax
	}
}

// TestOrder holds the order of slices to their positions, not to names or numbers.
func TestOrder(t *testing.T) {
	files := slicesOf(10, func(i int, m *seriestest.Made) { m.Position = fmt.Sprintf(`0\0\%d`, -(i * 7 % 10)) })
	p := Group(files)
	var got []int
	for _, s := range p.images[0] {
		got = append(got, int(s.along.Int64()))
	}
	if !slices.IsSorted(got) || got[0] >= got[9] {
		t.Errorf("positions %v", got)
	}
	shuffled := slices.Clone(files)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if !bytes.Equal(p.Image(0).Pix, Group(shuffled).Image(0).Pix) {
		t.Error("another order of files gives another volume")
	}
}

// TestSize demands that one object is smaller than slices coded one by one, without
// their headers, and that shells of 100 files take less than two alone would.
func TestSize(t *testing.T) {
	files := slicesOf(24, func(i int, m *seriestest.Made) { m.Width, m.Height, m.Noise = 64, 64, 7 })
	_, object := bothWays(t, files)
	c := jpeg2000.Codec{}
	opts, _ := c.Options([]string{"container=j2k"})
	single := 0
	p := Group(files)
	for _, s := range p.images[0] {
		single += len(c.Encode(context.Background(), codec.Run{}, []codec.Item{{Image: s.raster}}, opts)[0].Data)
	}
	o, _ := Open(object)
	if len(o.Codestreams[0]) > single {
		t.Errorf("a volume of %d bytes, its slices take %d", len(o.Codestreams[0]), single)
	}
	if shells := len(object) - len(o.Codestreams[0]); shells > 24*80 {
		t.Errorf("shells, hashes and index of 24 files take %d bytes", shells)
	}
	t.Logf("volume %d, slices %d, the rest %d", len(o.Codestreams[0]), single, len(object)-len(o.Codestreams[0]))
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		s    string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"1", 1e6, true}, {"-1.5", -1500000, true}, {"+.25", 250000, true}, {"1.", 1e6, true}, {"1e2", 1e8, true}, {"-2.5E-3", -2500, true},
		{"0.1234567", 123456, true}, {"1e-9", 0, true}, {"0e99", 0, true}, {"999999999", 999999999e6, true}, {"-0.000000", 0, true},
		{"", 0, false}, {"-", 0, false}, {".", 0, false}, {"1e", 0, false}, {"1e999999999", 0, false}, {"1e99", 0, false}, {"1000000001", 0, false},
		{"1,5", 0, false}, {"NaN", 0, false}, {"0x10", 0, false}, {"1e-99", 0, true}, {strings.Repeat("9", 50), 0, false},
	} {
		if v, ok := decimal(c.s); v != c.want && c.ok || ok != c.ok {
			t.Errorf("%q: %d, %v", c.s, v, ok)
		}
	}
}

// TestDamage cuts an object and changes each byte: files come back as they were, or not
// at all.
func TestDamage(t *testing.T) {
	files := slicesOf(8, func(_ int, m *seriestest.Made) { m.Width, m.Height = 4, 4 })
	p := Group(files)
	object, err := p.Object([][]byte{[]byte("a codestream")})
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		o, err := Open(data)
		if err != nil {
			return
		}
		for i := range o.Files {
			if got, err := o.Restore(i, []*raster.Image{p.Image(0)}); err == nil && !slices.ContainsFunc(files, func(f Instance) bool { return bytes.Equal(f.Data, got) }) {
				t.Errorf("%s: file %d is another one", what, i)
			}
		}
	}
	for n := range object {
		if _, err := Open(object[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(object))
		}
		for _, v := range []byte{1, 0x80, 0xff} {
			changed := bytes.Clone(object)
			changed[n] ^= v
			try(fmt.Sprintf("byte %d", n), changed)
		}
	}
}

// TestHostile opens objects whose index asks for what no object of this package has.
func TestHostile(t *testing.T) {
	file := func(pixels string) string { return `{"size":1,"sha256":"","prefix":0,"pixels":` + pixels + `}` }
	for _, c := range []struct {
		name, index, shells, want string
	}{
		{"more files than a series has", `{"images":[1],"files":[` + strings.Repeat("{},", maxFiles) + `{}]}`, "", "malformed"},
		{"more images than files", `{"images":[` + strings.Repeat("1,", maxFiles) + `1],"files":[]}`, "", "malformed"},
		{"no lists", `{"images":7}`, "", "malformed"},
		{"no index", ``, "", "malformed"},
		{"nested deeply", strings.Repeat("[", 1<<20), "", "malformed"},
		{"a long index", `{"images":[1],"files":[]` + strings.Repeat(" ", maxIndex) + `}`, "", "longer"},
		{"a slice twice", `{"images":[1],"files":[` + file(`{"image":0,"slice":2,"frames":3}`) + "," + file(`{"image":0,"slice":4,"frames":1}`) + `]}`, "", "two files"},
		{"an image that there is not", `{"images":[1],"files":[` + file(`{"image":1,"frames":1}`) + `]}`, "", "frames"},
		{"slices whose sum overflows", `{"images":[1],"files":[` + file(`{"image":0,"slice":9223372036854775807,"frames":9223372036854775807}`) + `]}`, "", "frames"},
		{"no frames", `{"images":[1],"files":[` + file(`{"image":0,"frames":0}`) + `]}`, "", "frames"},
		{"a shell over the end", `{"images":[1],"files":[{"prefix":9223372036854775807,"suffix":9223372036854775807}]}`, "x", "cut short"},
		{"a negative shell", `{"images":[1],"files":[{"prefix":2,"suffix":-1}]}`, "x", "cut short"},
		{"a shell of nobody", `{"images":[1],"files":[{"prefix":1}]}`, "xy", "no file"},
		{"codestreams over the end", `{"images":[9223372036854775807],"files":[]}`, "", "cut short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := binary.LittleEndian.AppendUint64(nil, uint64(len(c.index)))
			content = append(append(content, c.index...), c.shells...)
			z, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			frame := z.EncodeAll(content, nil)
			object := append([]byte{0}, frame...)
			object = binary.LittleEndian.AppendUint64(object, uint64(len(frame)))
			object = append(binary.LittleEndian.AppendUint64(object, uint64(len(content))), magic...)
			if _, err := Open(object); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	// A frame that unpacks to more than its trailer says, and one that claims what its length cannot hold.
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := z.EncodeAll(make([]byte, 64<<20), nil)
	for _, claimed := range []uint64{8, 1 << 20, 1 << 30, 1 << 63} {
		object := binary.LittleEndian.AppendUint64(bytes.Clone(frame), uint64(len(frame)))
		object = append(binary.LittleEndian.AppendUint64(object, claimed), magic...)
		if _, err := Open(object); err == nil {
			t.Errorf("a frame of 64 MiB was taken for %d bytes", claimed)
		}
	}
}

func FuzzOpen(f *testing.F) {
	p := Group(slicesOf(8, func(_ int, m *seriestest.Made) { m.Width, m.Height = 4, 4 }))
	object, err := p.Object([][]byte{[]byte("a codestream")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(object)
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := Open(data)
		if err != nil {
			return
		}
		for i := range o.Files {
			o.Restore(i, slices.Repeat([]*raster.Image{p.Image(0)}, len(o.Images)))
		}
	})
}

func FuzzGroup(f *testing.F) {
	for _, s := range slicesOf(3, func(i int, m *seriestest.Made) { m.Big, m.Implicit = i == 1, i == 2 }) {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := Group([]Instance{{Data: data}, {Data: data}})
		for i := range p.Images {
			if p.Shape(i).Samples() < 1<<20 {
				p.Image(i)
			}
		}
	})
}
