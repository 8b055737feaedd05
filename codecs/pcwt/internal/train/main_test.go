package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"fmt"
	"image"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
	"github.com/pelmill/pelmill/codecs/pool"
)

// drawn is an image of slopes, edges and noise.
func drawn(seed uint64) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 72, 60))
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range m.Pix {
		x, y, c := i/4%72, i/4/72, i%4
		v := 3*x + 2*y + 10*c
		if (x-30)*(x-30)+(y-25)*(y-25) < 300 {
			v = 200 - 2*y
		}
		m.Pix[i] = byte(min(max(v+r.IntN(9)-4, 0), 255))
	}
	return m
}

// Sets depend on the images alone: not on the number of goroutines, nor on the machine.
func TestTheSameSetsEverywhere(t *testing.T) {
	const want = "01b8da864321110f0764f73f84ece3565f1c56b21a7d78c5017daa236aa74af1"
	for _, cores := range []int{1, 3} {
		classes := []class{{"photographs", [][]*fit.Plane{planes(drawn(1)), planes(drawn(2))}}, {"graphics", [][]*fit.Plane{planes(drawn(3))}}}
		sets := trainAll(pool.Of(cores), classes, []string{"photographs"}, t.Logf)
		if got := fmt.Sprintf("%x", sha256.Sum256(sets)); got != want {
			t.Errorf("%d goroutines: sets with the digest %s, want %s", cores, got, want)
		}
	}
}

// The sets of the format are those that the command makes.
func TestTheSetsOfTheFormat(t *testing.T) {
	if os.Getenv("PELMILL_SIZES") == "" {
		t.Skip("make bench runs it")
	}
	cores := pool.New()
	data := filepath.Join("..", "..", "..", "..", "..", "shared", "data")
	if _, err := os.Stat(data); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	classes, err := readClasses(cores, data)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join("..", "constants", "format.bin"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(flate.NewReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	if got := trainAll(cores, classes, []string{"photographs"}, t.Logf); !bytes.Equal(got, want) {
		t.Error("the command makes other sets than those that are committed")
	}
}
