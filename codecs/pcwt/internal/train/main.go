// Command train makes the constants of profile 1 of PCWT, internal/constants/format.bin,
// from photographs 1 to 12 of the Kodak suite: three sets for a luma plane (and the same
// as grey) and the two chroma planes behind it, 5/3 and twice 2-tap, and their fast kinds. It runs in the
// project's root:
//
//	go run ./codecs/pcwt/internal/train
//
// With -cross N nothing is written: each Nth photograph is left out in turn, and what
// those left out take with the constants of the others is printed.
package main

import (
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/model"
	"github.com/pelmill/pelmill/codecs/pool"
)

const (
	photographs = 12
	side        = 64
)

func main() {
	data := flag.String("data", "../shared/data", "`folder` of the data sets")
	out := flag.String("out", "codecs/pcwt/internal/constants/format.bin", "`file` to write")
	cross := flag.Int("cross", 0, "leave out every `N`th photograph in turn and print sizes")
	flag.Parse()
	log.SetFlags(0)
	cores := pool.New()
	images := make([][]*fit.Plane, photographs)
	cores.Each(photographs, func(i int) {
		m, err := read(filepath.Join(*data, "kodak", fmt.Sprintf("%02d.png", i+1)))
		if err != nil {
			log.Fatal(err)
		}
		images[i] = planes(m)
	})
	if *cross > 0 {
		validate(cores, images, *cross)
		return
	}
	var sets []byte
	for _, fast := range []bool{false, true} {
		for p := range constants.Variants {
			set, bits := train(cores, column(images, p), fast)
			log.Printf("plane %d, fast %t: %.0f bytes", p, fast, bits/8)
			sets = constants.Append(sets, set)
		}
	}
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestCompression)
	z.Write(sets)
	z.Close()
	if err := os.WriteFile(*out, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// validate prints what photographs take with constants that were made without them.
func validate(cores *pool.Pool, images [][]*fit.Plane, n int) {
	for _, fast := range []bool{false, true} {
		all := 0.
		for p := range constants.Variants {
			bits := 0.
			for k := range n {
				var in, out [][]*fit.Plane
				for i, m := range images {
					if i%n == k {
						out = append(out, m)
					} else {
						in = append(in, m)
					}
				}
				set, _ := train(cores, column(in, p), fast)
				rest := column(out, p)
				if !fast {
					fit.Residuals(rest, set, side, cores.Each)
				}
				bits += count(cores, rest, set).Bits(&set.Tables)
			}
			log.Printf("plane %d, fast %t: %.0f bytes", p, fast, bits/8)
			all += bits / 8
		}
		log.Printf("all planes, fast %t: %.0f bytes", fast, all)
	}
}

// column are the planes with number p of images; luma planes and grey ones go together.
func column(images [][]*fit.Plane, p int) (list []*fit.Plane) {
	for _, m := range images {
		list = append(list, m[p])
		if p == 0 {
			list = append(list, m[constants.Variants])
		}
	}
	return list
}

func train(cores *pool.Pool, list []*fit.Plane, fast bool) (*constants.Set, float64) {
	set := fit.Fit(list, fit.Options{
		Fast:       fast,
		Form:       constants.PredictTextures | constants.ScaleDirections,
		Side:       side,
		Thresholds: [2]int16{32, 100},
		Rounds:     2,
		Reweigh:    true,
		Shrink:     60,
		Every:      1,
		Each:       cores.Each,
	})
	c := count(cores, list, set)
	c.Tables(&set.Tables)
	return set, c.Bits(&set.Tables)
}

func count(cores *pool.Pool, list []*fit.Plane, set *constants.Set) *fit.Counts {
	parts := make([]fit.Counts, len(list))
	cores.Each(len(list), func(i int) { parts[i].Count(list[i], set, side) })
	for i := range parts[1:] {
		parts[0].Add(&parts[1+i])
	}
	return &parts[0]
}

func read(name string) (*image.NRGBA, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m := image.NewNRGBA(p.Bounds())
	draw.Draw(m, m.Rect, p, m.Rect.Min, draw.Src)
	return m, nil
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
		p[3].Samples[i] = (299*r+587*g+114*b+500)/1000 - 128
	}
	y := &fit.Plane{Levels: levels(p[0], wavelet.LeGall53())}
	u := &fit.Plane{Levels: levels(p[1], wavelet.TwoTap()), Before: y}
	v := &fit.Plane{Levels: levels(p[2], wavelet.TwoTap()), Before: u, Second: y}
	return []*fit.Plane{y, u, v, {Levels: levels(p[3], wavelet.LeGall53())}}
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
