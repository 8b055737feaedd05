//go:build cuda && cgo

package pcwt

import (
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
)

// The benchmarks on a device print tables. They take the Kodak images where they are at hand, and otherwise make theirs.

// kodakPictures is images of the Kodak suite in grey or RGB, over and over.
func kodakPictures(b testing.TB, n, channels int) []picture {
	var kinds []picture
	for i := 1; i <= 12; i++ {
		f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "kodak", fmt.Sprintf("%02d.png", i)))
		if err != nil {
			continue
		}
		m, err := png.Decode(f)
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
		p := picture{width: m.Bounds().Dx(), height: m.Bounds().Dy(), channels: channels, bits: 8, colour: channels == 3}
		for y := range p.height {
			for x := range p.width {
				r, g, bl, _ := m.At(x, y).RGBA()
				if channels == 3 {
					p.pix = append(p.pix, byte(r>>8), byte(g>>8), byte(bl>>8))
				} else {
					p.pix = append(p.pix, byte((299*(r>>8)+587*(g>>8)+114*(bl>>8)+500)/1000))
				}
			}
		}
		kinds = append(kinds, p)
	}
	if kinds == nil {
		b.Log("no Kodak images in ../shared/data: images of slopes, edges and grain")
		kinds = []picture{landscape(768, 512, channels)}
	}
	list := make([]picture, n)
	for i := range list {
		list[i] = kinds[i%len(kinds)]
	}
	return list
}

// landscape is slopes, edges and grain.
func landscape(width, height, channels int) picture {
	p := picture{width: width, height: height, channels: channels, bits: 8, colour: channels == 3, pix: make([]byte, width*height*channels)}
	pool.New().Each(height, func(y int) {
		r := rand.New(rand.NewPCG(uint64(y), 5))
		for x := range width {
			v := 128 + 60*math.Sin(float64(x)/97+float64(y)/31) + 40*math.Sin(float64(x*y)/9000)
			if (x/50+y/70)%5 == 0 {
				v += 50
			}
			for c := range channels {
				p.pix[(y*width+x)*channels+c] = byte(min(255, max(0, int(v)+10*c+r.IntN(16))))
			}
		}
	})
	return p
}
