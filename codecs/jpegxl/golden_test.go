package jpegxl

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// TestGolden keeps the bytes of files: a list of sources of the tree with the size and the
// SHA-256 of the file that each becomes, and of one with each other effort.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, name := range []string{
		"codecs/jpegxl/sample.jpg", "testdata/images/landscape.jpg", "imageio/testdata/good/progressive.jpg",
		"imageio/testdata/good/two-scans.jpg", "imageio/testdata/good/open-bits.jpg",
	} {
		file := encoded(t, treeFile(t, name))
		fmt.Fprintf(&got, "%s %d %x\n", name, len(file), sha256.Sum256(file))
	}
	for _, effort := range []string{"fast", "best"} {
		const name = "testdata/images/landscape.jpg"
		opts, err := Codec{}.Options([]string{"effort=" + effort})
		if err != nil {
			t.Fatal(err)
		}
		e := Codec{}.Encode(context.Background(), codec.Run{}, []codec.Item{{Source: codec.Source{Format: "jpeg", Data: treeFile(t, name)}}}, opts)[0]
		fmt.Fprintf(&got, "%s %s %d %x\n", name, effort, len(e.Data), sha256.Sum256(e.Data))
	}
	const path = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v; got\n%s", err, got.String())
	}
}
