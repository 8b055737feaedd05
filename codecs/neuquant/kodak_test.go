package neuquant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/raster"
)

// kodakFiles are the images of the Kodak suite beside the repository, and nothing but
// a loud skip where there are none.
func kodakFiles(t testing.TB) []string {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "kodak", "*.png"))
	if len(files) == 0 {
		t.Skip("NOT TESTED: ../shared/data/kodak, which is no part of the project, is absent")
	}
	return files
}

func readImage(t testing.TB, file string) (data []byte, m *raster.Image) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = imageio.Decode(data, nil); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return data, m
}
