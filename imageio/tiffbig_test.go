package imageio

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/raster"
)

// BigTIFF files that tiffcp wrote hold the pages of the files that it read.
func TestPeersBigTIFF(t *testing.T) {
	dir := t.TempDir()
	for i, shape := range []raster.Shape{
		{Width: 33, Height: 21, Depth: 1, Channels: 3, Bits: 8}, {Width: 17, Height: 40, Depth: 3, Channels: 1, Bits: 16, Frames: true},
		{Width: 5, Height: 5, Depth: 1, Channels: 4, Bits: 8},
	} {
		m := pattern(shape.Width, shape.Height, shape.Depth, shape.Channels, shape.Bits)
		m.Frames = shape.Frames
		data, err := Encode(m, "tiff")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "in.tif"), data)
		for _, how := range []string{"-c none -r 3", "-c lzw", "-c zip:2 -t -w 16 -l 32", "-c packbits -r 1 -B"} {
			shell(t, dir, "tiffcp -8 "+how+" in.tif big.tif")
			file, err := os.ReadFile(filepath.Join(dir, "big.tif"))
			if err != nil || file[2] != 43 && file[3] != 43 {
				t.Fatalf("tiffcp wrote no BigTIFF file: % x (%v)", file[:4], err)
			}
			got := decodeFile(t, filepath.Join(dir, "big.tif"))
			if !got.Same(m.Shape) || !bytes.Equal(got.Pix, m.Pix) {
				t.Errorf("%d with %s: %s, want %s", i, how, got.Shape, m.Shape)
			}
		}
	}
}

// What a BigTIFF file may claim is refused before memory is taken.
func TestHostileBigTIFF(t *testing.T) {
	le := binary.LittleEndian
	// A page of 2 x 1 grey samples in one strip.
	file := func(change func(fields map[uint16][3]uint64)) []byte {
		fields := map[uint16][3]uint64{ // type, count, value
			tagWidth: {16, 1, 2}, tagLength: {4, 1, 1}, tagBits: {3, 1, 8}, tagCompression: {3, 1, 1}, tagPhotometric: {3, 1, 1},
			tagStripOffsets: {16, 1, 16}, tagSamples: {3, 1, 1}, tagRowsPerStrip: {3, 1, 1}, tagStripCounts: {16, 1, 2},
		}
		first := uint64(18)
		out := append(le.AppendUint64([]byte("II+\x00\x08\x00\x00\x00"), first), 7, 9)
		change(fields)
		out = le.AppendUint64(out, uint64(len(fields)))
		for tag := range uint16(400) {
			if f, ok := fields[tag]; ok {
				out = le.AppendUint64(le.AppendUint64(le.AppendUint16(le.AppendUint16(out, tag), uint16(f[0])), f[1]), f[2])
			}
		}
		return le.AppendUint64(out, 0)
	}
	good := file(func(map[uint16][3]uint64) {})
	if m, err := Decode(good, nil); err != nil || !bytes.Equal(m.Pix, []byte{7, 9}) {
		t.Fatalf("%v (%v)", m, err)
	}
	for n := range len(good) {
		if _, err := Decode(good[:n], nil); err == nil {
			t.Fatalf("%d of %d bytes are shown", n, len(good))
		}
	}
	for name, data := range map[string][]byte{
		"places of 4 bytes":      append([]byte("II+\x00\x04\x00"), good[6:]...),
		"a strip far away":       file(func(f map[uint16][3]uint64) { f[tagStripOffsets] = [3]uint64{16, 1, 1<<63 - 1} }),
		"a strip beyond numbers": file(func(f map[uint16][3]uint64) { f[tagStripCounts] = [3]uint64{16, 1, 1<<64 - 1} }),
		"a list beyond numbers":  file(func(f map[uint16][3]uint64) { f[tagStripOffsets] = [3]uint64{16, 1 << 62, 16} }),
		"a width beyond numbers": file(func(f map[uint16][3]uint64) { f[tagWidth] = [3]uint64{16, 1, 1<<64 - 1} }),
		"floats":                 file(func(f map[uint16][3]uint64) { f[tagSampleFormat], f[tagBits] = [3]uint64{3, 1, 3}, [3]uint64{3, 1, 32} }),
	} {
		if _, err := Decode(data, nil); err == nil || name == "floats" && !strings.Contains(err.Error(), "samples of 32 bits that are floating point are not read; convert them") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// JPEG strips and tiles of tiffcp give what libtiff shows of them.
func TestPeersJPEGInTIFF(t *testing.T) {
	dir := t.TempDir()
	for _, channels := range []int{1, 3} {
		m := pattern(75, 43, 1, channels, 8)
		for i := range m.Pix {
			m.Pix[i] = byte(i/channels%75*2 + i/channels/75*3 + 40*(i%channels))
		}
		data, err := Encode(m, "tiff")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, "in.tif"), data)
		for _, how := range []string{"-c jpeg:90 -r 16", "-c jpeg:r:60 -r 8", "-c jpeg -t -w 32 -l 16", "-8 -c jpeg:r -t -w 64 -l 64"} {
			shell(t, dir, "tiffcp "+how+" in.tif jpeg.tif && tiff2rgba -n -c none jpeg.tif want.tif")
			got, want := decodeFile(t, filepath.Join(dir, "jpeg.tif")), decodeFile(t, filepath.Join(dir, "want.tif"))
			if got.Channels != channels {
				t.Errorf("%s: %s", how, got.Shape)
			}
			sameColours(t, got, want)
		}
	}
	file, err := os.ReadFile(filepath.Join(dir, "jpeg.tif"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(file); i += 7 { // each place damaged
		bad := bytes.Clone(file)
		bad[i] ^= 0xff
		agree(t, bad, &Limits{Samples: 1 << 20})
	}
	if _, err := Decode(file[:len(file)/2], nil); err == nil {
		t.Error("half of a file is shown")
	}
}
