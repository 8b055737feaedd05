package jpeg2000_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// BenchmarkSizes prints the bytes of our files beside what is promised: of graphics of less
// than 1.2 million pixels, without their opacity, at each effort; of medical images beside
// OpenJPEG's and OpenJPH's; and of volumes.
func BenchmarkSizes(b *testing.B) {
	images := graphics(b)
	jpeg2000.Required(b, "graphics, effort=default", 2931016, size(b, images))
	jpeg2000.Required(b, "graphics, effort=best", 2526406, size(b, images, "effort=best"))
	images = medical(b)
	peer := jpeg2000.OpenJPEGBytes(b, images)
	jpeg2000.Required(b, "Part 1, medical, effort=default", peer, size(b, images, "container=j2k"))
	jpeg2000.Required(b, "Part 1, medical, effort=best", peer, size(b, images, "container=j2k", "effort=best"))
	jpeg2000.Required(b, "HT, medical", jpeg2000.OpenJPHBytes(b, images), size(b, images, "container=j2c", "mode=ht"))
	for _, v := range []struct {
		name  string
		bytes float64
	}{{"CT_pitch", 517546}, {"CT_AVM", 723269}, {"spm152", 1892364}} {
		jpeg2000.Required(b, "Part 10, "+v.name+", effort=best", v.bytes, size(b, []*raster.Image{read(b, "volumes", v.name+".nii.gz")}, "container=jp3d", "effort=best"))
	}
}

// size is the sum of the bytes of files.
func size(b *testing.B, images []*raster.Image, pairs ...string) float64 {
	o, err := jpeg2000.Codec{}.Options(pairs)
	if err != nil {
		b.Fatal(err)
	}
	sum := 0
	for _, e := range (jpeg2000.Codec{}).Encode(context.Background(), codec.Run{}, codec.Items(images...), o) {
		if e.Err != nil {
			b.Fatal(e.Err)
		}
		sum += len(e.Data)
	}
	return float64(sum)
}

// readDICOM reads the image of a DICOM file with one frame of grey by looking for its elements
// (PS3.5, 7.1 and A.4). That is enough for these files.
func readDICOM(b *testing.B, name string) *raster.Image {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "dicom", name+".dcm"))
	if err != nil {
		b.Skipf("NOT TESTED: %v", err)
	}
	if at := bytes.LastIndex(data, []byte{0xe0, 0x7f, 0x10, 0, 'O', 'B'}); at >= 0 {
		var stream []byte
		for i, rest := 0, data[at+12:]; bytes.HasPrefix(rest, []byte{0xfe, 0xff, 0, 0xe0}); i++ {
			n := binary.LittleEndian.Uint32(rest[4:])
			if i > 0 { // the first item holds offsets
				stream = append(stream, rest[8:8+n]...)
			}
			rest = rest[8+n:]
		}
		d := jpeg2000.Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{stream}, nil)[0]
		if d.Err != nil {
			b.Fatalf("%s: %v", name, d.Err)
		}
		return d.Image
	}
	number := func(element, high byte) int {
		at := bytes.Index(data, []byte{0x28, 0, element, high, 'U', 'S'})
		if at < 0 {
			b.Fatalf("%s has no element 0028,%02x%02x", name, high, element)
		}
		return int(binary.LittleEndian.Uint16(data[at+8:]))
	}
	m := raster.Make(raster.Shape{Width: number(0x11, 0), Height: number(0x10, 0), Depth: 1, Channels: 1, Bits: 16, Signed: number(3, 1) == 1})
	pixels := bytes.LastIndex(data, []byte{0xe0, 0x7f, 0x10, 0, 'O', 'W'})
	if pixels < 0 || len(data)-pixels < 12+m.Size() {
		b.Fatalf("%s has no pixels", name)
	}
	copy(m.Pix, data[pixels+12:])
	return m
}

// medical are five images of 9 to 13 bits: what is added makes samples positive, and the depth
// is the least that holds them.
func medical(b *testing.B) []*raster.Image {
	var list []*raster.Image
	for _, f := range []struct {
		name string
		add  int
	}{{"693_UNCR", 2000}, {"MR-SIEMENS-DICOM-WithOverlays", 0}, {"MR2_UNCR", 0}, {"RG3_J2KR", 0}, {"JPEG2000_UNC", 30}} {
		m := readDICOM(b, f.name)
		most := 0
		for i := range m.Samples() {
			v := m.Sample(i) + f.add
			if v < 0 {
				b.Fatalf("%s: a sample of %d", f.name, m.Sample(i))
			}
			most = max(most, v)
		}
		o := raster.New(m.Width, m.Height, 1, 1, max(9, bits.Len(uint(most))))
		for i := range m.Samples() {
			v := m.Sample(i) + f.add
			o.Pix[2*i], o.Pix[2*i+1] = byte(v), byte(v>>8)
		}
		list = append(list, o)
	}
	return list
}

func read(b *testing.B, folder, name string) *raster.Image {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", folder, name))
	if err != nil {
		b.Skipf("NOT TESTED: %v", err)
	}
	m, err := imageio.Decode(data, nil)
	if err != nil {
		b.Fatalf("%s: %v", name, err)
	}
	return m
}

func graphics(b *testing.B) []*raster.Image {
	names, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "graphics", "*.png"))
	if err != nil || len(names) == 0 {
		b.Skip("NOT TESTED: the graphics are absent")
	}
	var list []*raster.Image
	for _, name := range names {
		m := read(b, "graphics", filepath.Base(name))
		if m.Pixels() >= 1_200_000 {
			continue
		}
		if m.Alpha() {
			o := raster.New(m.Width, m.Height, 1, m.Channels-1, 8)
			for i := range m.Pixels() {
				copy(o.Pix[i*o.Channels:], m.Pix[i*m.Channels:][:o.Channels])
			}
			m = o
		}
		list = append(list, m)
	}
	return list
}
