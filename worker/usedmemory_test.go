package worker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
	"github.com/pelmill/pelmill/raster"
)

// Memory that is used again is counted with the bytes that were asked for, and holds little besides.
func TestMemoryThatIsUsedAgainIsCounted(t *testing.T) {
	u := &usedMemory{most: 2 << 20}
	for _, given := range []int{1, 512, 513, 100_000, 1 << 20, 1<<20 + 1<<16, 2 << 20, 2<<20 + 1} {
		for _, asked := range []int{0, 1, 100, 512, 513, 100_000, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2<<20 - 1, 2 << 20, 2<<20 + 1} {
			u.give(u.take(given))
			b := *u.take(asked)
			if cap(b) < asked || cap(b) > asked+max(asked/8, 512) || len(b) < asked {
				t.Errorf("%d bytes asked for, %d given", asked, cap(b))
			}
		}
	}
}

// Images of about equal sizes share memory, one after the other, and large ones do not keep it.
func TestMemoryIsUsedAgain(t *testing.T) {
	for _, c := range []struct {
		first, second int
		again         bool
	}{
		{1_179_648, 1_179_648, true}, {1_179_648, 1_170_000, true}, {1_170_000, 1_179_648, true}, {1_179_648, 2_300_000, false}, {2_300_000, 1_179_648, false},
		{4 << 20, 4 << 20, true}, {4<<20 + 1, 4<<20 + 1, false},
	} {
		u := &usedMemory{most: 4 << 20}
		again := false
		for range 100 { // the race detector has pools drop some of what they get
			b := u.take(c.first)
			u.give(b)
			other := u.take(c.second)
			again = again || unsafe.SliceData(*other) == unsafe.SliceData(*b)
			if third := u.take(c.second); unsafe.SliceData(*third) == unsafe.SliceData(*other) {
				t.Fatalf("%d bytes are lent twice", c.second)
			}
		}
		if again != c.again {
			t.Errorf("memory of %d bytes is used for %d: %v, want %v", c.first, c.second, again, c.again)
		}
	}
}

// borrowing is a fake that decodes into memory of the caller's.
type borrowing struct {
	*fake
	write func(m *raster.Image, pix []byte) // writes the samples of m; nil: all of them

	mu   sync.Mutex
	lent map[*byte]int // how often memory was
}

func (c *borrowing) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	out := c.fake.Decode(ctx, run, files, assets)
	for i, d := range out {
		if d.Image == nil || run.Alloc == nil {
			continue
		}
		m := *d.Image
		m.Pix = run.Alloc(len(m.Pix))
		c.mu.Lock()
		c.lent[&m.Pix[0]]++
		c.mu.Unlock()
		if c.write != nil {
			c.write(d.Image, m.Pix)
		} else {
			copy(m.Pix, d.Image.Pix)
		}
		out[i].Image = &m
	}
	return out
}

// Checks use memory again, and what lies in it from other images makes no wrong result right. A call that panics, and one
// that was given up and goes on, have their memory for themselves.
func TestChecksUseMemoryAgain(t *testing.T) {
	const n, side = 90, 40
	bad, names := map[string]bool{}, map[string]bool{}
	for i := 5; i < n; i += 9 {
		bad[photo(uint64(i), side, side, 3).Hash()], names[fmt.Sprintf("p/%04d.png", i)] = true, true
	}
	for what, test := range map[string]struct {
		// spoils is what a call does to the memory for a bad image until release.
		spoils func(m *raster.Image, pix []byte, release <-chan struct{})
		class  string
		keeps  bool // the call does not give its memory back until release
	}{
		"all is well": {spoils: func(m *raster.Image, pix []byte, _ <-chan struct{}) { copy(pix, m.Pix) }},
		"a wrong sample": {class: class.Verify, spoils: func(m *raster.Image, pix []byte, _ <-chan struct{}) {
			copy(pix, m.Pix)
			pix[len(pix)/2] ^= 1
		}},
		"samples that are not written": {class: class.Verify, spoils: func(m *raster.Image, pix []byte, _ <-chan struct{}) { copy(pix, m.Pix[:len(pix)/2]) }},
		"a panic":                      {class: class.Codec, keeps: true, spoils: func(*raster.Image, []byte, <-chan struct{}) { panic("boo") }},
		"a call that goes on":          {class: class.Timeout, keeps: true, spoils: func(_ *raster.Image, _ []byte, release <-chan struct{}) { <-release }},
	} {
		t.Run(what, inNoTime(func(t *testing.T) {
			release := make(chan struct{})
			kept := map[*byte]int{} // how often it was lent before
			c := &borrowing{fake: &fake{}, lent: map[*byte]int{}}
			mine := bytes.Repeat([]byte{0xa5}, 3*side*side)
			c.write = func(m *raster.Image, pix []byte) {
				if !bad[m.Hash()] {
					copy(pix, m.Pix)
					return
				}
				if test.keeps {
					copy(pix, mine)
					c.mu.Lock()
					kept[&pix[0]] = c.lent[&pix[0]]
					c.mu.Unlock()
				}
				test.spoils(m, pix, release)
			}
			j := newJob(t, "mem://source", "mem://target", c, nil)
			j.photos(n, side).plan()
			// Calls that go on have their cores too.
			if err := j.chunk(j.worker(Options{CPU: len(bad) + 2, ObjectTimeout: time.Second}, c), 0); err != nil {
				t.Fatal(err)
			}
			for key, r := range j.results() {
				want := ""
				if names[key] {
					want = test.class
				}
				if r.Class != want || want == "" && (r.Outcome != jobs.OutcomeCompressed || r.Verified != verifyFull || r.DecodedHash != r.PixelHash) {
					t.Errorf("%s: %s %q, verified %q: %s; want class %q", key, r.Outcome, r.Class, r.Verified, r.Error, want)
				}
			}
			c.mu.Lock()
			checks := 0
			for _, times := range c.lent {
				checks += times
			}
			if checks < n || len(c.lent) > checks*2/3 {
				t.Errorf("%d checks in %d pieces of memory, want fewer", checks, len(c.lent))
			}
			if test.keeps && len(kept) < len(bad) {
				t.Errorf("%d calls kept memory, want at least %d", len(kept), len(bad))
			}
			for first, times := range kept {
				if c.lent[first] != times || !bytes.Equal(unsafe.Slice(first, len(mine)), mine) {
					t.Error("memory that a call has was lent to another one")
				}
			}
			c.mu.Unlock()
			close(release)
			synctest.Wait()
		}))
	}
}

// The memory of a file that was compressed is used for the next ones, also where the image lies in it.
func TestFilesShareMemory(t *testing.T) {
	const files = 100
	c := &fake{}
	var mu sync.Mutex
	places := map[*byte]int{}
	c.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if m.Width != 100 { // of the self-test
			return nil, nil, false
		}
		mu.Lock()
		places[&m.Pix[0]]++
		mu.Unlock()
		kept := *m
		kept.Pix = bytes.Clone(m.Pix)
		c.images.Store(m.Hash(), &kept)
		return []byte("fake " + m.Hash()), nil, true
	}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	want := map[string]string{}
	for i := range files {
		m := photo(uint64(i), 100, 100, 3)
		key := fmt.Sprintf("%03d.ppm", i)
		j.put(key, append([]byte("P6 100 100 255\n"), m.Pix...))
		want[key] = m.Hash()
	}
	j.plan()
	if err := j.chunk(j.worker(Options{CPU: 1, Fetchers: 1}, c), 0); err != nil {
		t.Fatal(err)
	}
	for key, r := range j.results() {
		if r.Outcome != jobs.OutcomeCompressed || r.PixelHash != want[key] || r.DecodedHash != want[key] {
			t.Errorf("%s: %s, hash %s decoded to %s, want %s (%s)", key, r.Outcome, r.PixelHash, r.DecodedHash, want[key], r.Error)
		}
	}
	if len(places) > files*3/4 { // the race detector has pools drop some of what they get
		t.Errorf("%d files lie in %d places", files, len(places))
	}
}
