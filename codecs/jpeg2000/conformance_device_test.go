package jpeg2000

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// deviceStreams are the conformance streams that a device decodes at 1/2^reduce, with their names.
func deviceStreams(t *testing.T, reduce int) (names []string, files [][]byte) {
	t.Helper()
	for _, folder := range []string{"part1", "ht"} {
		for _, s := range streams(t, folder) {
			data := conformanceFiles(t)[s.name]
			if prepareDecoding(data, codec.View{Reduce: reduce}) != nil {
				names, files = append(names, s.name), append(files, data)
			}
		}
	}
	return names, files
}

// Each of the standard's streams that a device decodes has the samples there that the CPU finds, at three
// resolutions, and no tile of it comes back to the CPU.
func TestConformanceOnADevice(t *testing.T) {
	dev := gputest.Device(t, nil)
	for reduce := range 3 {
		names, files := deviceStreams(t, reduce)
		view := codec.View{Reduce: reduce}
		want := Codec{}.DecodeView(t.Context(), codec.Run{}, files, nil, view)
		d := newDeviceDecoder(t.Context(), codec.Run{Device: dev}, pool.New(), files)
		d.view, d.beside = view, 1
		var reading sync.WaitGroup
		reading.Go(d.readAll)
		for i, name := range names {
			if err := dev.Do(t.Context(), func(l *gpu.Lane) error { return d.decode(l, []int{i}) }); err != nil {
				t.Fatalf("%s at 1/%d: %v", name, 1<<reduce, err)
			}
			for k, tile := range d.decoded[i].tiles {
				if tile.failed {
					t.Errorf("%s at 1/%d: tile %d of %d was left to the CPU", name, 1<<reduce, k, len(d.decoded[i].tiles))
					break
				}
			}
			m, err := d.result(i)
			if fmt.Sprint(err) != fmt.Sprint(want[i].Err) || err == nil && m.Hash() != want[i].Image.Hash() {
				t.Errorf("%s at 1/%d: %v, want %v, or other samples", name, 1<<reduce, err, want[i].Err)
			}
		}
		reading.Wait()
		t.Logf("%d streams at 1/%d on %s", len(names), 1<<reduce, dev.Name())
	}
}

// So many of the streams at hand are for a device, which is known without one.
func TestConformanceStreamsForADevice(t *testing.T) {
	for reduce, want := range []int{24, 22, 22} {
		if names, _ := deviceStreams(t, reduce); len(names) < want {
			t.Errorf("%d streams at 1/%d are decoded on a device, want %d: %q", len(names), 1<<reduce, want, names)
		}
	}
}
