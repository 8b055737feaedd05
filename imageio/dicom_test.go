package imageio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/internal/container/dicom"
)

func TestSelfTestDICOM(t *testing.T) {
	if tried, err := SelfTestDICOM(); err != nil || tried == "" {
		t.Error(err)
	}
}

// The files of the test data decode, and come back native and proved; one has no preamble.
func TestDICOMFiles(t *testing.T) {
	names, _ := filepath.Glob("../../shared/data/dicom/*.dcm")
	if len(names) == 0 {
		t.Skip("NOT TESTED: ../shared/data/dicom, which is no part of the project, is absent")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() && len(data) > 200_000 {
			continue
		}
		f, h, err := OpenDICOM(data, nil)
		if filepath.Base(name) == "OT-PAL-8-face.dcm" {
			var u *UnsupportedError
			if !errors.As(err, &u) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := DecodeDICOM(f)
		if err != nil || !m.Same(h.Shape) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		photometric := f.Image.Photometric
		if photometric == "YBR_RCT" {
			photometric = "RGB"
		}
		pix := f.Image.Containers(m)
		out, err := f.Rewrite(&dicom.Rewriting{Syntax: dicom.ExplicitLittle, Photometric: photometric, Native: pix})
		if err != nil {
			t.Fatal(err)
		}
		proof, err := dicom.Verify(data, out, &dicom.Expected{Syntax: dicom.ExplicitLittle, Photometric: photometric, Samples: f.Image.Samples, Native: int64(len(pix))})
		if err != nil || !bytes.Equal(proof.Native, pix) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
