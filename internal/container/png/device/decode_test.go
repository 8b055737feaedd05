package device

import (
	"image"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/png"
)

// The kernels, compiled for this machine, read what package imageio reads, and nothing else, inside their memory.
func TestKernelsOnCPU(t *testing.T) {
	run := onCPU(t)
	rng := rand.New(rand.NewPCG(51, 52))
	damaged := 300
	if testing.Short() {
		damaged = 50
	}
	for name, files := range map[string][]file{"made": madeFiles(rng), "corpus": corpus(t), "damaged": damagedFiles(rng, damaged)} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() { // fibers take their time
				for i := range files[:len(files)/4] {
					files[i] = files[4*i]
				}
				files = files[:len(files)/4]
			}
			streams, of := streamsOf(files)
			checkAll(t, of, streams, run(coded(streams)), map[string]int{"damaged": damaged}[name])
		})
	}
}

// indexFiles have palettes, with indices of all depths, in rows of all filters.
func indexFiles(t *testing.T, rng *rand.Rand) (files []*png.File, streams []*png.Stream) {
	t.Helper()
	for _, depth := range []int{1, 2, 4, 8} {
		for _, width := range []int{1, 3, 8, 31, 64, 100} {
			height := 1 + rng.IntN(20)
			f, err := png.Open(paletteFile(rng, width, height, depth), container.Strict)
			if err != nil {
				t.Fatal(err)
			}
			s, ok := f.IndexStream()
			if !ok {
				t.Fatalf("%d x %d of %d bits has no stream", width, height, depth)
			}
			files, streams = append(files, f), append(streams, s)
		}
	}
	return files, streams
}

// checkIndices compares images of indices from a device with those of package png.
func checkIndices(t *testing.T, files []*png.File, streams []*png.Stream, done []bool) {
	t.Helper()
	for i, f := range files {
		want, err := f.Decode()
		if err != nil {
			t.Fatal(err)
		}
		var got image.Image
		ok := done[i]
		if ok {
			got, ok = f.Indexed(streams[i].Samples())
		}
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%d x %d, %d bits: done %v, another image", f.Width, f.Height, f.Depth, done[i])
		}
	}
}

// Indices of a palette are read as samples are.
func TestKernelsReadIndicesOnCPU(t *testing.T) {
	run := onCPU(t)
	files, streams := indexFiles(t, rand.New(rand.NewPCG(57, 58)))
	checkIndices(t, files, streams, run(streams))
}
