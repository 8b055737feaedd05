// Command train makes the constants of profile 1 of PCWT, internal/constants/format.bin: three
// sets for a luma plane (and the same as grey) and the two chroma planes behind it, 5/3 and twice 2-tap, and
// their fast kinds. It reads photographs 1 to 12 of the Kodak suite, the DICOM files and the graphics of the shared
// data, fits the sets to the classes of -fit, and prints what each class takes with each set. It runs
// in the project's root:
//
//	go run ./codecs/pcwt/internal/train
//
// The sets of the format are fitted to photographs alone; README.md of package pcwt has the numbers. The same images give
// the same sets on every machine.
//
// With -cross N nothing is written: each Nth photograph is left out in turn, and what
// those left out take with the constants of the others is printed.
package main

import (
	"bytes"
	"compress/flate"
	"flag"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/fit"
	"github.com/pelmill/pelmill/codecs/pool"
)

const side = 64

func main() {
	data := flag.String("data", "../shared/data", "`folder` of the data sets")
	out := flag.String("out", "codecs/pcwt/internal/constants/format.bin", "`file` to write")
	fitted := flag.String("fit", "photographs", "`classes` to fit to: photographs, medical, graphics, with commas")
	cross := flag.Int("cross", 0, "leave out every `N`th photograph in turn and print sizes")
	flag.Parse()
	log.SetFlags(0)
	cores := pool.New()
	classes, err := readClasses(cores, *data)
	if err != nil {
		log.Fatal(err)
	}
	if *cross > 0 {
		validate(cores, classes, strings.Split(*fitted, ","), *cross)
		return
	}
	sets := trainAll(cores, classes, strings.Split(*fitted, ","), log.Printf)
	var b bytes.Buffer
	z, _ := flate.NewWriter(&b, flate.BestCompression)
	z.Write(sets)
	z.Close()
	if err := os.WriteFile(*out, b.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// trainAll makes all sets of the format, as constants.Append writes them, of the images of the classes with the names.
func trainAll(cores *pool.Pool, classes []class, names []string, report func(string, ...any)) (sets []byte) {
	var images [][]*fit.Plane
	for _, c := range classes {
		if slices.Contains(names, c.name) {
			images = append(images, c.images...)
		}
	}
	for _, fast := range []bool{false, true} {
		for p := range constants.Variants {
			set, _ := train(cores, column(images, p), fast)
			for _, c := range classes {
				if list := column(c.images, p); len(list) > 0 {
					report("plane %d, fast %t: %.0f bytes of %s", p, fast, size(cores, list, set), c.name)
				}
			}
			sets = constants.Append(sets, set)
		}
	}
	return sets
}

// size is what the tokens of planes take with a set, in bytes. Residuals of the planes become those of the set.
func size(cores *pool.Pool, list []*fit.Plane, set *constants.Set) float64 {
	if set.Predict != nil {
		fit.Residuals(list, set, side, cores.Each)
	} else {
		fit.Plain(list)
	}
	return count(cores, list, set).Bits(&set.Tables) / 8
}

// validate prints what photographs take with constants that were made without them, of the others and of the other classes with
// the names.
func validate(cores *pool.Pool, classes []class, names []string, n int) {
	photographs := classes[0].images
	for _, fast := range []bool{false, true} {
		all := 0.
		for p := range constants.Variants {
			bytes := 0.
			for k := range n {
				var in, out [][]*fit.Plane
				for i, m := range photographs {
					if i%n == k {
						out = append(out, m)
					} else {
						in = append(in, m)
					}
				}
				for _, c := range classes[1:] {
					if slices.Contains(names, c.name) {
						in = append(in, c.images...)
					}
				}
				set, _ := train(cores, column(in, p), fast)
				bytes += size(cores, column(out, p), set)
			}
			log.Printf("plane %d, fast %t: %.0f bytes", p, fast, bytes)
			all += bytes
		}
		log.Printf("all planes, fast %t: %.0f bytes", fast, all)
	}
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
