package pcwt

import (
	"context"
	"crypto/sha256"
	cmdline "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/raster"
)

var update = cmdline.Bool("update", false, "write the golden file")

const goldenFile = "testdata/golden.txt"

// TestGolden holds files to the bytes that they had when their version of the codec was made. Under -short it leaves out most
// images for which constants are fitted.
func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, pairs := range append([][]string{nil}, optionSets...) {
		o, err := Codec{}.Options(pairs)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []raster.Shape{
			{Width: 1, Height: 1, Depth: 1, Channels: 1, Bits: 8},
			{Width: 150, Height: 141, Depth: 1, Channels: 1, Bits: 8},
			{Width: 70, Height: 33, Depth: 1, Channels: 3, Bits: 8},
			{Width: 129, Height: 131, Depth: 1, Channels: 1, Bits: 12},
			{Width: 65, Height: 64, Depth: 17, Channels: 1, Bits: 16},
		} {
			if testing.Short() && s.Bits > 8 && (len(pairs) > 0 || s.Depth > 1) {
				continue
			}
			e := Codec{}.Encode(context.Background(), codec.Run{}, codec.Items(small(s)), o)[0]
			if e.Err != nil {
				t.Fatal(e.Err)
			}
			fmt.Fprintf(&got, "%q %s: %d bytes, %x\n", pairs, s, len(e.Data), sha256.Sum256(e.Data))
		}
	}
	if *update && !testing.Short() {
		if err := os.WriteFile(goldenFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		for line := range strings.Lines(got.String()) {
			if !strings.Contains(string(want), line) {
				t.Errorf("a file has changed: %s", line)
			}
		}
		return
	}
	if got.String() != string(want) {
		t.Errorf("files have changed:\n%swant:\n%s", got.String(), want)
	}
}
