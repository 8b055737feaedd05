package device

import (
	"math/rand/v2"
	"testing"
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
			checkAll(t, of, streams, run(streams), map[string]int{"damaged": damaged}[name])
		})
	}
}
