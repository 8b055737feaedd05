package jpeg2000

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

// The code-blocks of lists change places only: those with more passes come first, among them
// those with more bytes, and among equals those of the first list.
func TestPassOrder(t *testing.T) {
	for n := range 30 {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		var lists []*passList
		var want []int32
		var all []devicePasses
		most := 1 << r.IntN(22)
		var bytes []uint32
		for range r.IntN(6) {
			l := &passList{}
			for range r.IntN(1000) {
				l.blocks = append(l.blocks, devicePasses{Passes: 1 + r.Uint32N(88)})
				l.bytes = append(l.bytes, r.Uint32N(uint32(most)))
			}
			lists, all, bytes = append(lists, l), append(all, l.blocks...), append(bytes, l.bytes...)
		}
		shift := 0
		for _, b := range bytes {
			for b>>shift >= 1<<15 {
				shift++
			}
		}
		for i := range all {
			want = append(want, int32(i))
		}
		slices.SortStableFunc(want, func(i, j int32) int {
			return cmp.Or(cmp.Compare(all[j].Passes, all[i].Passes), cmp.Compare(bytes[j]>>shift, bytes[i]>>shift))
		})
		got := make([]int32, len(all))
		for i, at := range passOrder(lists, len(all)) {
			got[at] = int32(i)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("case %d: %d code-blocks of %d lists are in another order", n, len(all), len(lists))
		}
	}
}

// The batches of a call are about as large as each other, and none is larger than it may be.
func TestDivideEvenly(t *testing.T) {
	for n := range 300 {
		r := rand.New(rand.NewPCG(uint64(n), 4))
		var list, pixels []int
		most := 1 << r.IntN(25)
		same := r.IntN(2) == 0
		for i := range r.IntN(600) {
			list, pixels = append(list, i), append(pixels, most)
			if !same {
				pixels[i] = 1 + r.IntN(most)
			}
		}
		batches := divideEvenly(passFileBatching, list, pixels)
		var all []int
		least, largest := 1<<40, 0
		for _, b := range batches {
			size := 0
			for _, i := range b {
				size += pixels[i]
			}
			all, least, largest = append(all, b...), min(least, size), max(largest, size)
		}
		if !slices.Equal(all, list) || largest > max(passFileBatching.Most, most) {
			t.Fatalf("case %d: %d files of at most %d pixels, a batch of %d", n, len(list), most, largest)
		}
		if same && len(list) < 100 && least < largest-len(batches)*most {
			t.Fatalf("case %d: batches of %d and of %d pixels, of files of %d", n, least, largest, most)
		}
	}
}

// For a division, images have their pixels, and files that cannot be decoded some number.
func TestBatchPixels(t *testing.T) {
	names, err := filepath.Glob("testdata/*.j*")
	if err != nil || len(names) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// Not files of Part 10, and slices count as the components that they are.
		if p, err := open(file); err == nil && p.slices <= 1 {
			if got, want := batchPixels(file), viewPixels(file, codec.View{}); got != want {
				t.Errorf("%s: %d pixels, want %d", name, got, want)
			}
		}
		for n := range min(len(file), 200) {
			if batchPixels(file[:n]) < 1 {
				t.Errorf("%s cut to %d bytes: no pixels", name, n)
			}
		}
	}
}
