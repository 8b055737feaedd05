package codectest

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// guard is what is written around memory that a codec asks for, and into it.
const guard, guardBytes = 0xa5, 64

// allocator gives a codec memory for its results and knows what it gave. With a device the memory
// is pinned, but for every third piece.
type allocator struct {
	device *gpu.Device
	mu     sync.Mutex
	given  [][]byte // with a guard at both ends
	hosts  []*gpu.Host
}

func (a *allocator) alloc(n int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []byte
	switch k := len(a.given) % 4; {
	case a.device != nil && k < 2:
		h, err := a.device.Host(n + 2*guardBytes)
		if err != nil {
			return nil
		}
		a.hosts, all = append(a.hosts, h), h.Bytes
	case k < 3:
		all = make([]byte, n+2*guardBytes)
	}
	for i := range all {
		all[i] = guard
	}
	a.given = append(a.given, all)
	if all == nil {
		return nil
	}
	return all[guardBytes:][:n]
}

// check says whether the guards are whole.
func (a *allocator) check(t *testing.T) {
	t.Helper()
	edge := bytes.Repeat([]byte{guard}, guardBytes)
	for _, m := range a.given {
		if m != nil && (!bytes.HasPrefix(m, edge) || !bytes.HasSuffix(m, edge)) {
			t.Errorf("a codec wrote beside memory of %d bytes that it was given", len(m)-2*guardBytes)
		}
	}
	for _, h := range a.hosts {
		h.Free()
	}
}

// testAlloc encodes and decodes, damaged files too, into memory of the caller's: the results are
// those in new memory, no two share any, and nothing is written beside it.
func (s *suite) testAlloc(t *testing.T) {
	for _, pairs := range s.sets {
		o := s.options(t, pairs)
		var batch []*raster.Image
		for _, p := range images(s.info.With(o)) {
			batch = append(batch, p.Image)
		}
		for _, device := range []*gpu.Device{nil, s.opts.Device} {
			a := &allocator{device: device}
			run := codec.Run{Device: device, Alloc: a.alloc}
			files := make([][]byte, 0, 2*len(batch))
			want := s.codec.Encode(context.Background(), codec.Run{}, codec.Items(batch...), o)
			for i, e := range s.codec.Encode(context.Background(), run, codec.Items(batch...), o) {
				if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
					t.Fatalf("%q: item %d (%s): other bytes in memory of the caller's (%v)", o, i, batch[i].Shape, e.Err)
				}
				files = append(files, e.Data)
			}
			for _, f := range files[:len(batch)] {
				files = append(files, f[:len(f)/2])
			}
			images := s.codec.Decode(context.Background(), codec.Run{}, files, nil)
			for i, d := range s.codec.Decode(context.Background(), run, files, nil) {
				if (d.Err == nil) != (images[i].Err == nil) || d.Err == nil && d.Image.Hash() != images[i].Image.Hash() {
					t.Fatalf("%q: file %d: other samples in memory of the caller's (%v)", o, i, d.Err)
				}
				if d.Err == nil {
					clear(d.Image.Pix) // nobody else's
				}
			}
			for i, e := range want {
				if !bytes.Equal(files[i], e.Data) {
					t.Fatalf("%q: item %d (%s): its file shares memory with another result", o, i, batch[i].Shape)
				}
			}
			a.check(t)
			if s.opts.Device == nil {
				break
			}
		}
		if testing.Short() {
			break
		}
	}
}
