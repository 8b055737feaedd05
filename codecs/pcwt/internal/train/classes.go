package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pool"
)

// class is a kind of images.
type class struct {
	name   string
	images [][]*fit.Plane // planes of each: Y, U, V and grey, or of one channel grey alone
}

// grey is where the plane of grey stands in an image of colours.
const grey = constants.Variants

// Uncompressed DICOM images of one channel.
var medical = []string{"693_UNCR.dcm", "JPEG2000_UNC.dcm", "MR-SIEMENS-DICOM-WithOverlays.dcm", "MR2_UNCR.dcm"}

// readClasses reads all images from the folder of the data sets.
func readClasses(cores *pool.Pool, data string) ([]class, error) {
	var photographs, dicoms []string
	for i := range 12 {
		photographs = append(photographs, filepath.Join(data, "kodak", fmt.Sprintf("%02d.png", i+1)))
	}
	for _, name := range medical {
		dicoms = append(dicoms, filepath.Join(data, "dicom", name))
	}
	graphics, err := filepath.Glob(filepath.Join(data, "graphics", "*.png"))
	if err != nil {
		return nil, err
	}
	var classes []class
	for _, c := range []struct {
		name  string
		files []string
		read  func(string) ([]*fit.Plane, error)
	}{{"photographs", photographs, readPNG}, {"medical", dicoms, readDICOM}, {"graphics", graphics, readPNG}} {
		images, errs := make([][]*fit.Plane, len(c.files)), make([]error, len(c.files))
		cores.Each(len(c.files), func(i int) { images[i], errs[i] = c.read(c.files[i]) })
		for i, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.files[i], err)
			}
		}
		classes = append(classes, class{c.name, images})
	}
	return classes, nil
}

// column are the planes with number p of images; luma planes and grey ones go together.
func column(images [][]*fit.Plane, p int) (list []*fit.Plane) {
	for _, m := range images {
		if len(m) == 1 {
			if p == 0 {
				list = append(list, m[0])
			}
			continue
		}
		list = append(list, m[p])
		if p == 0 {
			list = append(list, m[grey])
		}
	}
	return list
}

func readPNG(name string) ([]*fit.Plane, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		return nil, err
	}
	m := image.NewNRGBA(p.Bounds())
	draw.Draw(m, m.Rect, p, m.Rect.Min, draw.Src)
	return planes(m), nil
}

// readDICOM reads an image of one channel in 16-bit words from a file with explicit lengths, by looking for its elements; that is
// enough for the files of the shared data.
func readDICOM(name string) ([]*fit.Plane, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	value := func(group, element byte) (v int) {
		at := bytes.Index(data, []byte{0x28, 0, element, group, 'U', 'S', 2, 0})
		if at < 0 || at+10 > len(data) {
			err = fmt.Errorf("no element 0028,%02x%02x", group, element)
			return 0
		}
		return int(binary.LittleEndian.Uint16(data[at+8:]))
	}
	h, w, bits, signed := value(0, 0x10), value(0, 0x11), value(1, 1), value(1, 3) == 1
	at := bytes.LastIndex(data, []byte{0xe0, 0x7f, 0x10, 0, 'O', 'W'})
	if err != nil || at < 0 || at+12+2*w*h > len(data) || int(binary.LittleEndian.Uint32(data[at+8:])) != 2*w*h {
		return nil, fmt.Errorf("no uncompressed image of %d x %d (%v)", w, h, err)
	}
	p := wavelet.NewPlane[int32](w, h)
	for i := range p.Samples {
		v := binary.LittleEndian.Uint16(data[at+12+2*i:])
		if p.Samples[i] = int32(v) - 1<<(bits-1); signed {
			p.Samples[i] = int32(int16(v))
		}
	}
	return []*fit.Plane{{Levels: levels(p, wavelet.LeGall53())}}, nil
}

// planes are Y, U and V of an image, and its grey.
func planes(m *image.NRGBA) []*fit.Plane {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	var p [4]wavelet.Plane[int32]
	for i := range p {
		p[i] = wavelet.NewPlane[int32](w, h)
	}
	for i := range w * h {
		r, g, b := int32(m.Pix[4*i]), int32(m.Pix[4*i+1]), int32(m.Pix[4*i+2])
		p[0].Samples[i] = (r+2*g+b)>>2 - 128
		p[1].Samples[i] = b - g
		p[2].Samples[i] = r - g
		p[grey].Samples[i] = (299*r+587*g+114*b+500)/1000 - 128
	}
	y := &fit.Plane{Levels: levels(p[0], wavelet.LeGall53())}
	u := &fit.Plane{Levels: levels(p[1], wavelet.TwoTap()), Before: y}
	v := &fit.Plane{Levels: levels(p[2], wavelet.TwoTap()), Before: u, Second: y}
	return []*fit.Plane{y, u, v, {Levels: levels(p[grey], wavelet.LeGall53())}}
}

func levels(src wavelet.Plane[int32], filter *wavelet.Filter[int32]) (list []*model.Level) {
	t := wavelet.New(filter, wavelet.RowsFirst)
	for min((src.Width+1)/2, (src.Height+1)/2) >= 6 {
		l := model.NewLevel(src.Width, src.Height)
		b := wavelet.Quarter(wavelet.NewPlane[int32](src.Width, src.Height), 0, 0)
		t.ForwardLevel(b, src, 0, 0)
		store(l.LL, b.LL)
		for i, p := range []wavelet.Plane[int32]{b.HL, b.LH, b.HH} {
			store(l.Bands[i].C, p)
		}
		list, src = append(list, l), b.LL
	}
	return list
}

func store(out []int16, p wavelet.Plane[int32]) {
	for y := range p.Height {
		for x, v := range p.Row(y) {
			out[y*p.Width+x] = model.Saturate(v)
		}
	}
}
