package jpegdata

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/internal/container"
)

// files are the JPEG files of the tree, and those of shared/data where they are.
func files(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	for _, pattern := range []string{"../../../../imageio/testdata/*/*.jpg", "../../../../testdata/images/*.jpg", "../../testdata/*.jpg"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(name)] = data
		}
	}
	if len(out) == 0 {
		t.Fatal("no files")
	}
	return out
}

const enough = 1 << 28

func TestFilesComeBack(t *testing.T) {
	held := 0
	for name, data := range files(t) {
		f, err := Read(data, enough)
		if err != nil {
			var format *container.FormatError
			var unsupported *container.UnsupportedError
			if !errors.As(err, &format) && !errors.As(err, &unsupported) {
				t.Errorf("%s: %T", name, err)
			}
			t.Logf("%s: %v", name, err)
			continue
		}
		held++
		got, err := f.Write(enough)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: other bytes come back (%v)", name, err)
		}
	}
	if held < 4 {
		t.Errorf("%d files are held", held)
	}
}
