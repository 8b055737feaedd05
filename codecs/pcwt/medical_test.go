package pcwt

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

// dicom reads an image of one grey channel from a DICOM file with explicit lengths, by
// looking for its elements; that is enough for the files of the shared data. JPEG 2000 is decoded by
// opj_decompress.
func dicom(t testing.TB, name string) *raster.Image {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sharedData("dicom"), name))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	short := func(element byte, vr string) int {
		at := bytes.Index(data, append([]byte{0x28, 0, element, 0}, vr...))
		if at < 0 {
			t.Fatalf("%s: no element 0028,00%02x", name, element)
		}
		return int(binary.LittleEndian.Uint16(data[at+8:]))
	}
	high := func(element byte) int {
		at := bytes.Index(data, []byte{0x28, 0, element, 1, 'U', 'S'})
		if at < 0 {
			t.Fatalf("%s: no element 0028,01%02x", name, element)
		}
		return int(binary.LittleEndian.Uint16(data[at+8:]))
	}
	m := raster.Make(raster.Shape{Width: short(0x11, "US"), Height: short(0x10, "US"), Depth: 1, Channels: 1, Bits: high(1), Signed: high(3) == 1})
	at := bytes.LastIndex(data, []byte{0xe0, 0x7f, 0x10, 0, 'O', 'W'})
	if at >= 0 && int(binary.LittleEndian.Uint32(data[at+8:])) == m.Size() {
		copy(m.Pix, data[at+12:])
		return m
	}
	if _, err := exec.LookPath("opj_decompress"); err != nil {
		t.Skip("SKIPPED: opj_decompress is not installed")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.j2k"), filepath.Join(dir, "a.rawl")
	var stream []byte
	items := data[bytes.Index(data, []byte{0xe0, 0x7f, 0x10, 0, 'O', 'B'})+12:]
	for i := 0; bytes.HasPrefix(items, []byte{0xfe, 0xff, 0, 0xe0}); i++ {
		n := binary.LittleEndian.Uint32(items[4:])
		if i > 0 { // the first is a table of offsets
			stream = append(stream, items[8:8+n]...)
		}
		items = items[8+n:]
	}
	if err := os.WriteFile(in, stream, 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("opj_decompress", "-i", in, "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	pix, err := os.ReadFile(out)
	if err != nil || len(pix) != m.Size() {
		t.Fatalf("%s: %d bytes of samples, want %d (%v)", name, len(pix), m.Size(), err)
	}
	copy(m.Pix, pix)
	return m
}

// volume reads an 8-bit NIfTI-1 volume.
func volume(t testing.TB, name string) *raster.Image {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedData("volumes"), name))
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	size := func(i int) int { return int(binary.LittleEndian.Uint16(data[40+2*i:])) }
	m := raster.New(size(1), size(2), size(3), 1, 8)
	copy(m.Pix, data[len(data)-m.Size():])
	return m
}

// medical are the five images whose sizes are promised together.
var medical = []string{"693_UNCR.dcm", "JPEG2000_UNC.dcm", "MR-SIEMENS-DICOM-WithOverlays.dcm", "MR2_UNCR.dcm", "RG3_J2KR.dcm"}

func sizeOf(t testing.TB, m *raster.Image, pairs ...string) int {
	t.Helper()
	o, err := Codec{}.Options(pairs)
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(m), o)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	d := Codec{}.Decode(context.Background(), codec.Run{}, [][]byte{e.Data}, nil)[0]
	if d.Err != nil || d.Image.Hash() != m.Hash() {
		t.Fatalf("%s comes back as another image (%v)", m.Shape, d.Err)
	}
	return len(e.Data)
}

// measured leaves out tests that take minutes, unless make bench asks for them.
func measured(t *testing.T) {
	if os.Getenv("PELMILL_SIZES") == "" {
		t.Skip("make bench runs it")
	}
}

func TestMedicalSizes(t *testing.T) {
	measured(t)
	all := 0
	for _, name := range medical {
		n := sizeOf(t, dicom(t, name))
		t.Logf("%s: %d bytes", name, n)
		all += n
	}
	promised(t, "five medical images", all, 1560000)
}

// Volumes take less than slices of JPEG 2000 by 15, 20 and 5 %. J2K is what opj_compress takes for all slices.
func TestVolumeSizes(t *testing.T) {
	measured(t)
	for _, v := range []struct {
		name    string
		j2k     int
		percent int
	}{{"spm152.nii.gz", 2358842, 15}, {"CT_AVM.nii.gz", 774145, 20}, {"CT_pitch.nii.gz", 539487, 5}} {
		n := sizeOf(t, volume(t, v.name))
		t.Logf("%s: %.1f %% less than slices of JPEG 2000, required %d %%", v.name, 100-100*float64(n)/float64(v.j2k), v.percent)
		promised(t, v.name, n, v.j2k*(100-v.percent)/100)
	}
}
