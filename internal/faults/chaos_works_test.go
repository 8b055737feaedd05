package faults_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/internal/faults"
)

// work is a codec with options, and sources that it makes smaller.
type work struct {
	name    string
	codec   string
	options []string
	sources func(seed uint64, n, side int) []faults.Source
}

// works are all codecs, and the kinds of sources and files for which they take ways of their own.
var works = []work{
	{"vq", "vq", []string{"n=16"}, faults.Images},
	{"neuquant", "neuquant", nil, colourImages},
	{"pcwt", "pcwt", nil, rawImages},
	{"pcwt volumes", "pcwt", nil, faults.Volumes},
	{"webp", "webp", nil, rawImages},
	{"jpeg2000", "jpeg2000", nil, rawImages},
	{"jpeg2000 ht", "jpeg2000", []string{"mode=ht"}, rawImages},
	{"jpeg2000 lossy", "jpeg2000", []string{"psnr=40"}, rawImages},
	{"jpeg2000 volumes", "jpeg2000", []string{"container=jp3d"}, faults.Volumes},
	{"jpeg2000 slices", "jpeg2000", nil, faults.Volumes},
	{"jpegxl", "jpegxl", nil, faults.Photos},
	{"dicom", "jpeg2000", nil, faults.Instances},
	{"dicom ht", "jpeg2000", []string{"syntax=htj2k"}, faults.Instances},
	{"auto", codecs.Auto, nil, archive},
}

func rawImages(seed uint64, n, side int) []faults.Source {
	return faults.RawImages(seed, n, side, false)
}

func colourImages(seed uint64, n, side int) []faults.Source {
	return faults.RawImages(seed, n, side, true)
}

// archive is a mix of photos, pictures and DICOM files, all of which become smaller.
func archive(seed uint64, n, side int) []faults.Source {
	kinds := [][]faults.Source{faults.Photos(seed, n, side), rawImages(seed, n, side), faults.Instances(seed, n, side)}
	all := make([]faults.Source, n)
	for i := range all {
		all[i] = kinds[i%len(kinds)][i]
	}
	return all
}

// worksVariable names works, separated by commas, from which drivers draw instead of from all.
const worksVariable = "CHAOS_WORKS"

// chosenWorks are those that worksVariable names, or all.
func chosenWorks(t *testing.T) (chosen []work) {
	t.Helper()
	list := os.Getenv(worksVariable)
	if list == "" {
		return works
	}
	for name := range strings.SplitSeq(list, ",") {
		before := len(chosen)
		for _, w := range works {
			if w.name == strings.TrimSpace(name) {
				chosen = append(chosen, w)
			}
		}
		if len(chosen) == before {
			t.Fatalf("%s=%q: there is no %q", worksVariable, list, name)
		}
	}
	return chosen
}

// drawWork draws what a round works at.
func drawWork(t *testing.T, rng *rand.Rand, l *ledger) work {
	t.Helper()
	list := chosenWorks(t)
	w := list[rng.IntN(len(list))]
	l.say("%s", w.name)
	l.add("rounds of "+w.name, 1)
	return w
}

// version is one image of about the given side, under a key.
func (w work) version(seed uint64, key string, side int) faults.Source {
	s := w.sources(seed, 2, side)[1]
	s.Key = key
	return s
}

// of has a trial work with the codec and the options.
func (w work) of(tr *trial) *trial {
	tr.codec, tr.options = w.codec, w.options
	return tr
}

// whole fails the test unless every result in the target, of a job that may still run, decodes.
func (tr *trial) whole() int {
	tr.t.Helper()
	return faults.Whole(tr.t, tr.to, codecOf(tr.t, tr.codec))
}

// TestWorks runs each of them once without faults: every source must become smaller, and the result be right.
func TestWorks(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: -short")
	}
	for i, w := range works {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			tr := w.of(inFolders(t, w.sources(uint64(i), 8, 64)))
			if code := tr.pelmill("compress", tr.flags("compress")...).Wait(t, limit); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			checked := tr.check(tr.job())
			if n := tr.whole(); n != len(tr.sources) {
				t.Errorf("%d whole results, want %d: %s", n, len(tr.sources), fmt.Sprint(checked.Results))
			}
		})
	}
}
