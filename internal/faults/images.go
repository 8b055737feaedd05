package faults

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"math"
	"math/rand/v2"

	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// Source is one object of a test's source and what a job may make of it.
type Source struct {
	Key   string
	Data  []byte
	Image *raster.Image  // nil for what is no image
	Want  []jobs.Outcome // nil: compressed
	Also  []Source       // other versions that the object had while the job ran; a record of one of them is right too
}

// Images makes n images of the given side, grey and RGB, as PNG and PNM, in three folders. They look like
// photographs to a codec: slow gradients, an object with an edge, and noise.
func Images(seed uint64, n, side int) []Source {
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		// A side that is no multiple of a block now and then.
		w, h := side-rng.IntN(4), side-rng.IntN(4)
		channels := 1 + 2*(i%2)
		m := photograph(rng, w, h, channels)
		data, ext := encodePNM(m), [...]string{".pgm", "", ".ppm"}[channels-1]
		if i%4 < 2 {
			data, ext = encodePNG(m), ".png"
		}
		all[i] = Source{Key: fmt.Sprintf("%c/%05d%s", 'a'+i%3, i, ext), Data: data, Image: m}
	}
	return all
}

// Image makes one image of exactly the given size, RGB as PNG, under a key.
func Image(seed uint64, key string, w, h int) Source {
	m := photograph(rand.New(rand.NewPCG(seed, 0)), w, h, 3)
	return Source{Key: key, Data: encodePNG(m), Image: m}
}

// RawImage is Image as PPM, whose bytes are the samples: what a lossless codec makes of it is smaller.
func RawImage(seed uint64, key string, w, h int) Source {
	m := photograph(rand.New(rand.NewPCG(seed, 0)), w, h, 3)
	return Source{Key: key, Data: encodePNM(m), Image: m}
}

func photograph(rng *rand.Rand, w, h, channels int) *raster.Image {
	m := raster.New(w, h, 1, channels, 8)
	cx, cy, r := rng.Float64()*float64(w), rng.Float64()*float64(h), float64(min(w, h))*(0.1+0.3*rng.Float64())
	gx, gy := rng.Float64()*0.05, rng.Float64()*0.05
	for c := range channels {
		base, lift, phase := 40+rng.Float64()*120, rng.Float64()*70-35, rng.Float64()*6
		for y := range h {
			for x := range w {
				v := base + 30*math.Sin(phase+gx*float64(x)) + 30*math.Cos(phase+gy*float64(y)) + 4*rng.NormFloat64()
				if math.Hypot(float64(x)-cx, float64(y)-cy) < r {
					v += lift
				}
				m.Pix[(y*w+x)*channels+c] = byte(min(255, max(0, v)))
			}
		}
	}
	return m
}

func encodePNG(m *raster.Image) []byte {
	var out bytes.Buffer
	var pic image.Image
	if m.Channels == 1 {
		pic = &image.Gray{Pix: m.Pix, Stride: m.Width, Rect: image.Rect(0, 0, m.Width, m.Height)}
	} else {
		rgba := image.NewNRGBA(image.Rect(0, 0, m.Width, m.Height))
		for i := range m.Width * m.Height {
			copy(rgba.Pix[4*i:], m.Pix[3*i:3*i+3])
			rgba.Pix[4*i+3] = 255
		}
		pic = rgba
	}
	if err := png.Encode(&out, pic); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

func encodePNM(m *raster.Image) []byte {
	magic := "P5"
	if m.Channels == 3 {
		magic = "P6"
	}
	return append(fmt.Appendf(nil, "%s\n%d %d\n255\n", magic, m.Width, m.Height), m.Pix...)
}

// Poison makes n objects that are no good images: cut files, wrong magic numbers, bombs, text, nothing at all. They
// lie among the keys of [Images].
func Poison(seed uint64, n int) []Source {
	bad := []jobs.Outcome{jobs.OutcomeRejected, jobs.OutcomeUnsupported}
	all := make([]Source, n)
	for i := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		good := encodePNG(photograph(rng, 48, 48, 3))
		var data []byte
		var ext string
		switch i % 6 {
		case 0:
			data, ext = good[:len(good)/2], "cut.png"
		case 1:
			data, ext = append([]byte("GARB"), good[4:]...), "magic.png"
		case 2:
			data, ext = bombPNG(), "bomb.png"
		case 3:
			data, ext = nil, "empty.png"
		case 4:
			data, ext = []byte("P6\n65535 65535\n255\nshort"), "claims.ppm"
		case 5:
			data, ext = []byte("This is a text that somebody named .jpg.\n"), "text.jpg"
		}
		all[i] = Source{Key: fmt.Sprintf("%c/%05d-%s", 'a'+i%3, i*17, ext), Data: data, Want: bad}
	}
	return all
}

// bombPNG is a 65,535 x 65,535 image in a hundred bytes, with valid checksums.
func bombPNG() []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, body []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(body)))
		from := len(out)
		out = append(append(out, kind...), body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
	}
	head := binary.BigEndian.AppendUint32(nil, 65535)
	head = binary.BigEndian.AppendUint32(head, 65535)
	chunk("IHDR", append(head, 8, 6, 0, 0, 0))
	chunk("IDAT", []byte{0x78, 0x9c, 0x63, 0x60, 0x60, 0x60, 0x60, 0, 0, 0, 4, 0, 1})
	chunk("IEND", nil)
	return out
}
