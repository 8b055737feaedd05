package jpeg2000

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// What benchmarks need that read images by package imageio, which imports this one.

var Required = required

// OpenJPEGBytes is what OpenJPEG's codestreams of grey images of more than 8 bits take, without
// its comment.
func OpenJPEGBytes(b *testing.B, images []*raster.Image) float64 {
	need(b, "opj_compress")
	sum := 0
	for _, m := range images {
		data := fmt.Appendf(nil, "P5\n%d %d\n%d\n", m.Width, m.Height, 1<<m.Bits-1)
		for i := range m.Samples() {
			data = binary.BigEndian.AppendUint16(data, uint16(m.Sample(i)))
		}
		name := filepath.Join(b.TempDir(), "a.pgm")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			b.Fatal(err)
		}
		sum += len(openJPEGFile(b, name)) - comment
	}
	return float64(sum)
}

// OpenJPHBytes is what OpenJPH's codestreams take.
func OpenJPHBytes(b *testing.B, images []*raster.Image) float64 {
	dir := b.TempDir()
	var jobs []openJPHJob
	for i, m := range images {
		jobs = append(jobs, encodeJob(b, dir, i, m, 1))
	}
	openJPH(b, jobs)
	sum := 0
	for _, job := range jobs {
		data, err := os.ReadFile(job.Out)
		if err != nil {
			b.Fatal(err)
		}
		sum += len(data)
	}
	return float64(sum)
}
