package jpegxl

import (
	"bytes"
	"context"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
)

// TestEfforts: sources come back with every effort, whose files are the same with any number
// of goroutines, and photographs are the smaller the more effort there is.
func TestEfforts(t *testing.T) {
	photo := treeFile(t, "testdata/images/landscape.jpg")
	sources := [][]byte{photo, sample, treeFile(t, "imageio/testdata/good/progressive.jpg"), made(t, 1, 1, 50, false, false), made(t, 900, 700, 90, false, true)}
	last := 0
	for _, effort := range []string{"best", "default", "fast"} {
		opts, err := Codec{}.Options([]string{"effort=" + effort})
		if err != nil {
			t.Fatal(err)
		}
		for i, source := range sources {
			items := []codec.Item{{Source: codec.Source{Format: "jpeg", Data: source}}}
			one := Codec{}.Encode(context.Background(), codec.Run{Pool: pool.Of(1)}, items, opts)[0]
			if one.Err != nil {
				t.Fatalf("%s: source %d: %v", effort, i, one.Err)
			}
			if three := (Codec{}).Encode(context.Background(), codec.Run{Pool: pool.Of(3)}, items, opts)[0]; !bytes.Equal(one.Data, three.Data) {
				t.Errorf("%s: source %d: another file with three goroutines", effort, i)
			}
			if back := (Codec{}).Restore(context.Background(), codec.Run{}, [][]byte{one.Data})[0]; !bytes.Equal(back.Data, source) {
				t.Errorf("%s: source %d: other bytes come back (%v)", effort, i, back.Err)
			}
			if i > 0 {
				continue
			}
			if len(one.Data) < last {
				t.Errorf("%s: %d bytes, more effort takes %d", effort, len(one.Data), last)
			}
			last = len(one.Data)
		}
	}
}
