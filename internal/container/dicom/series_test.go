package dicom_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/worker/series/seriestest"
)

// TestSeriesUID reads the UID of a series from the beginning of files, cut at every byte.
func TestSeriesUID(t *testing.T) {
	for i, file := range seriestest.Slices(3, func(i int, m *seriestest.Made) { m.Series, m.Big, m.Implicit = "1.2.840.99", i == 1, i == 2 }) {
		if uid, err := dicom.SeriesUID(file); uid != "1.2.840.99" || err != nil {
			t.Errorf("file %d: %q, %v", i, uid, err)
		}
		for n := range file[:600] {
			if uid, err := dicom.SeriesUID(file[:n]); uid != "" && uid != "1.2.840.99" {
				t.Errorf("file %d, %d bytes: %q, %v", i, n, uid, err)
			}
		}
	}
	other := seriestest.Slices(1, func(_ int, m *seriestest.Made) { m.Series = "1.2.3" })[0]
	noImage := other[:bytes.Index(other, []byte{0x28, 0, 0x10, 0, 'U', 'S'})]
	compressed := bytes.Replace(other, []byte("1.2.840.10008.1.2.1\x00"), []byte("1.2.840.10008.1.2.5\x00"), 1)
	for _, file := range [][]byte{noImage, compressed} {
		if uid, err := dicom.SeriesUID(file); uid != "" || err != nil {
			t.Errorf("a file without Rows, or with compressed pixel data: %q, %v", uid, err)
		}
	}
	beginning := append(bytes.Clone(noImage), 0x21, 0, 1, 0, 'U', 'N', 0, 0, 0, 0, 0, 1) // a private element of 16 MiB
	beginning = append(beginning, make([]byte, dicom.SeriesBytes)...)
	if uid, err := dicom.SeriesUID(beginning[:dicom.SeriesBytes]); uid != "1.2.3" || err != nil {
		t.Errorf("Rows behind the beginning: %q, %v", uid, err)
	}
	none := seriestest.Slices(1, func(_ int, m *seriestest.Made) { m.Series = "" })[0]
	if uid, err := dicom.SeriesUID(none); uid != "" || err != nil {
		t.Errorf("a file without: %q, %v", uid, err)
	}
	long := append(make([]byte, 128), "DICM"...)
	long = append(long, 0x02, 0, 0x10, 0, 'U', 'I', 4, 0, '1', '.', '2', 0)
	long = append(long, 0x08, 0, 0x05, 0, 'S', 'Q', 0, 0)
	long = binary.LittleEndian.AppendUint32(long, 1<<30) // a sequence of 1 GiB that is not there
	if uid, _ := dicom.SeriesUID(append(long, make([]byte, 40)...)); uid != "" {
		t.Errorf("a sequence over the end: %q", uid)
	}
}
