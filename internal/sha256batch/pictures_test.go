package sha256batch

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// pictureSizes are widths of images of one row: with samples of less and more than a block of SHA-256, and of which the padding fills
// the last block or needs another one; of a chunk of a thread of picture_crc and one less and more; of all of a block's, of more.
var pictureSizes = []int{
	128, 129, 200, 64*4 - headBytes - 9, 64*4 - headBytes - 8, 64*4 - headBytes, 64*4 - headBytes + 1,
	crcChunk, crcChunk + 1, 2*crcChunk - 1, 2 * crcChunk, 31 * crcChunk, 32 * crcChunk, 33*crcChunk + 5,
	crcThreads * crcChunk, crcThreads*crcChunk + 1, 5*crcThreads*crcChunk + 77,
}

// pictured is an image of n samples.
func pictured(n int, seed uint64) *raster.Image {
	m := raster.New(n, 1, 1, 1, 8)
	copy(m.Pix, random(n, seed))
	return m
}

// The kernels, compiled for this machine, make the hashes and checksums of images, inside their memory.
func TestPictureKernelsOnCPU(t *testing.T) {
	program := gputest.CPUProgram(t, "../..", "testdata/pictures.cc", "internal/sha256batch/kernels.cu", "internal/sha256batch/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh")
	var images []*raster.Image
	blocks := 0
	for i, n := range pictureSizes {
		m := pictured(n, uint64(i))
		images = append(images, m)
		e := deviceMessage{Blocks: uint64(n+len(frame(m.HashHead(), n))) / 64}
		blocks = max(blocks, (e.crcThreads()+crcThreads-1)/crcThreads)
	}
	var in bytes.Buffer
	put := func(v any) { binary.Write(&in, binary.LittleEndian, v) }
	put([]uint32{uint32(len(images)), uint32(blocks)})
	for _, m := range images {
		edge := frame(m.HashHead(), len(m.Pix))
		put([]uint32{uint32(len(m.Pix)), uint32(len(m.Pix)+len(edge)) / 64})
		put(firstState)
		put(edge)
		put(m.Pix)
	}
	out := bytes.NewReader(gputest.RunCPU(t, program, in.Bytes()))
	states, crcs := make([][stateWords]uint32, copies*len(images)), make([]uint32, blocks*len(images))
	for _, v := range []any{states, crcs} {
		if err := binary.Read(out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range images {
		d := digestsOf(states[i], states[len(images)+i], crcs[blocks*i:][:blocks])
		checkDigests(t, d, m)
	}
}

// checkDigests compares digests with those that the host makes of an image, and of one that differs from it.
func checkDigests(t *testing.T, d *codec.Digests, m *raster.Image) {
	t.Helper()
	if d == nil || hex.EncodeToString(d.Image[:]) != m.Hash() || !d.Are(m) {
		t.Errorf("%d samples: %+v, want the hash %s", len(m.Pix), d, m.Hash())
		return
	}
	for _, i := range []int{0, len(m.Pix) / 2, len(m.Pix) - 1} {
		other := *m
		other.Pix = bytes.Clone(m.Pix)
		other.Pix[i] ^= 1
		if d.Are(&other) {
			t.Errorf("%d samples: sample %d differs, and the checksum is the same", len(m.Pix), i)
		}
	}
}

// A digest counts only where the device has made it twice.
func TestWrongPictureDigests(t *testing.T) {
	other := firstState
	other[3]++
	if d := digestsOf(firstState, other, nil); d != nil {
		t.Errorf("two states that differ make the digests %+v", d)
	}
	if (*codec.Digests)(nil).Are(pictured(200, 1)) {
		t.Error("no digests are those of an image")
	}
}
