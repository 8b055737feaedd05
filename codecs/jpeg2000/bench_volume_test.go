package jpeg2000

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/raster"
)

// benchVolumes are the volumes of the table in internal/volume/README.md.
var benchVolumes = []string{"CT_pitch", "CT_AVM", "spm152"}

// readVolume is tryVolume, which has to succeed.
func readVolume(b *testing.B, name string) *raster.Image {
	m := tryVolume(b, name)
	if m == nil {
		b.Skip("SKIPPED: ../shared/data/volumes, which is no part of the project, is absent")
	}
	return m
}

// tryVolume reads a NIfTI-1 file of 8-bit samples; nil: there is none.
func tryVolume(b *testing.B, name string) *raster.Image {
	f, err := os.Open(filepath.Join("../../../shared/data/volumes", name+".nii.gz"))
	if err != nil {
		return nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	dim := func(i int) int { return int(binary.LittleEndian.Uint16(data[40+2*i:])) }
	m := raster.New(dim(1), dim(2), dim(3), 1, 8)
	copy(m.Pix, data[352:])
	return m
}

// BenchmarkVolumes encodes volumes with each effort, and their slices one by one, on all
// cores.
func BenchmarkVolumes(b *testing.B) {
	for _, name := range benchVolumes {
		m := readVolume(b, name)
		run := func(label string, encode func() int) {
			b.Run(name+"/"+label, func(b *testing.B) {
				b.SetBytes(int64(m.Size()))
				n := 0
				for b.Loop() {
					n = encode()
				}
				b.ReportMetric(float64(n), "bytes")
				b.ReportMetric(float64(m.Pixels())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvoxel/s")
			})
		}
		sum := func(items []codec.Item, pairs ...string) int {
			o, err := Codec{}.Options(pairs)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for _, e := range (Codec{}).Encode(b.Context(), codec.Run{Pool: pool.Of(runtime.GOMAXPROCS(0))}, items, o) {
				if e.Err != nil {
					b.Fatal(e.Err)
				}
				n += len(e.Data)
			}
			return n
		}
		var slices []*raster.Image
		for z := range m.Depth {
			slices = append(slices, m.Slice(z))
		}
		run("slices", func() int { return sum(codec.Items(slices...), "container=j2c") })
		for _, effort := range []string{effortFast, effortDefault, effortBest} {
			run(effort, func() int { return sum(codec.Items(m), "container=jp3d", "effort="+effort) })
		}
	}
}
