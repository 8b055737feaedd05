package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// RawImages makes n images of about the given side as PNM, grey and RGB, or RGB only. Their bytes are the samples, so that what a
// codec makes of them is smaller.
func RawImages(seed uint64, n, side int, colour bool) []Source {
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		channels, ext := 3, ".ppm"
		if !colour && i%2 == 0 {
			channels, ext = 1, ".pgm"
		}
		m := photograph(rng, side-rng.IntN(4), side-rng.IntN(4), channels)
		all[i] = Source{Key: fmt.Sprintf("%c/%05d%s", 'a'+i%3, i, ext), Data: encodePNM(m), Image: m}
	}
	return all
}

// Photos makes n JPEG files of about three times the given side: what is in front of the coefficients of a JPEG XL file makes those
// of smaller ones larger.
func Photos(seed uint64, n, side int) []Source {
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		m := photograph(rng, 3*side-rng.IntN(4), 3*side-rng.IntN(4), 3)
		all[i] = photo(fmt.Sprintf("%c/%05d.jpg", 'a'+i%3, i), m, 60+i%40)
	}
	return all
}

// photo makes a JPEG file of an image. What it decodes to is not compared: the source's Image has the shape only.
func photo(key string, m *raster.Image, quality int) Source {
	pic := image.NewRGBA(image.Rect(0, 0, m.Width, m.Height))
	for j := range m.Width * m.Height {
		p := m.Pix[j*m.Channels:]
		copy(pic.Pix[4*j:], []byte{p[0], p[m.Channels/2], p[m.Channels-1], 255})
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, pic, &jpeg.Options{Quality: quality}); err != nil {
		panic(err) // to memory, of an image of ours
	}
	return Source{Key: key, Data: out.Bytes(), Image: raster.New(m.Width, m.Height, 1, 3, 8)}
}

// Mixed is [Images] with every third as a JPEG file. A codec without loss may keep some of them.
func Mixed(seed uint64, n, side int) []Source {
	all := Images(seed, n, side)
	for i := range all {
		if i%3 == 0 {
			all[i] = photo(fmt.Sprintf("%c/%05d.jpg", 'a'+i%3, i), all[i].Image, 60+i%40)
		}
		all[i].Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeKept}
	}
	return all
}

// Volumes makes n volumes of 16-bit samples as NIfTI, of a third of the given side each way and 9 to 12 slices.
func Volumes(seed uint64, n, side int) []Source {
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		w, h, d := max(8, side/3-rng.IntN(4)), max(8, side/3-rng.IntN(4)), 9+rng.IntN(4)
		samples := make([]uint16, 0, w*h*d)
		for z := range d {
			for j := range w * h {
				x, y := float64(j%w), float64(j/w)
				samples = append(samples, uint16(1000+400*math.Sin(x/7+float64(z)/5)+300*math.Cos(y/9)+12*rng.NormFloat64()))
			}
		}
		m := raster.FromUint16(raster.Shape{Width: w, Height: h, Depth: d, Channels: 1, Bits: 16}, samples)
		all[i] = Source{Key: fmt.Sprintf("%c/%05d.nii", 'a'+i%3, i), Data: encodeNIfTI(m), Image: m}
	}
	return all
}

// encodeNIfTI writes a volume of unsigned 16-bit samples as a single file of NIfTI-1, see nifti1.h.
func encodeNIfTI(m *raster.Image) []byte {
	head := make([]byte, 352)
	put := binary.LittleEndian
	put.PutUint32(head, 348) // sizeof_hdr
	for i, v := range []int{3, m.Width, m.Height, m.Depth, 1, 1, 1, 1} {
		put.PutUint16(head[40+2*i:], uint16(v))           // dim
		put.PutUint32(head[76+4*i:], math.Float32bits(1)) // pixdim
	}
	put.PutUint16(head[70:], 512) // datatype: uint16
	put.PutUint16(head[72:], 16)  // bitpix
	put.PutUint32(head[108:], math.Float32bits(352))
	copy(head[344:], "n+1\x00")
	return append(head, m.Pix...)
}

// Instances makes n DICOM files of one frame of about the given side, in series of 8.
func Instances(seed uint64, n, side int) []Source {
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		w, h := side-rng.IntN(4), side-rng.IntN(4)
		in := NewInstance(seed, i, w, h, Patient{Name: "Test^Chaos", ID: fmt.Sprint(seed % 1000)})
		m := raster.New(w, h, 1, 1, 12)
		copy(m.Pix, in.Data[len(in.Data)-2*w*h:]) // the last element, in the same order of bytes
		all[i] = Source{Key: fmt.Sprintf("%c/%05d.dcm", 'a'+i%3, i), Data: in.Data, Image: m}
	}
	return all
}
