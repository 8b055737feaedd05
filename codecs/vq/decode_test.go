package vq

import (
	"context"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
)

// A device decodes what it has sooner than the cores that are idle: many files, and fewer if their index tables are expected. A single
// file whose table is not, among many whose tables are, is left to the cores.
func TestFilesAreDividedAmongCoresAndDevice(t *testing.T) {
	o, err := Codec{}.Options([]string{"n=16", "passes=1"})
	if err != nil {
		t.Fatal(err)
	}
	e := Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(scene(768, 512, 1, 3)), o)[0]
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	plain, err := open(t.Context(), e.Data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := *plain
	known.want = e.Expect.(expected)
	for _, c := range []struct {
		name            string
		expected, plain int
		busy            int // of 16 cores
		always          bool
		device          []int // how many of both
	}{
		{"none", 0, 0, 0, false, []int{0, 0}},
		{"few", 4, 4, 0, false, []int{0, 0}},
		{"many", 128, 256, 0, false, []int{128, 256}},
		{"a batch of expected ones beside busy cores", 64, 0, 12, false, []int{64, 0}},
		{"one of them is plain", 63, 1, 12, false, []int{63, 0}},
		{"a batch of plain ones beside busy cores", 0, 64, 12, false, []int{0, 64}},
		{"all cores are busy", 1, 1, 16, false, []int{0, 0}},
		{"for tests", 1, 1, 0, true, []int{1, 1}},
	} {
		cores := pool.Shared(16)
		for range c.busy {
			if err := cores.Acquire(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
		}
		d := &fileDecoder{cores: cores, always: c.always, opened: []*openedFile{nil}}
		for range c.expected {
			d.opened = append(d.opened, &known)
		}
		for range c.plain {
			d.opened = append(d.opened, plain)
		}
		onCores, onDevice := d.divide()
		got := make([]int, 2)
		for _, i := range onDevice {
			if d.opened[i].want != nil {
				got[0]++
			} else {
				got[1]++
			}
		}
		all := append(onCores, onDevice...)
		slices.Sort(all)
		if len(slices.Compact(all)) != c.expected+c.plain || slices.Contains(all, 0) {
			t.Errorf("%s: files %v, of %d", c.name, all, c.expected+c.plain)
		}
		if !slices.Equal(got, c.device) {
			t.Errorf("%s: the device decodes %v, want %v", c.name, got, c.device)
		}
	}
}
