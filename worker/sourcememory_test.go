package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// regions are reserved in place of the system, and pinned in place of a device.
type regions struct {
	reserved, pinned atomic.Int64
	refused          error         // of pins
	opened           chan struct{} // what pins waits for it; nil: the device is open
}

func (r *regions) memory(most int64) *sourceMemory {
	s := newSourceMemory(nil, most, slog.New(slog.DiscardHandler))
	s.reserve = func(n int) (*gpu.Region, error) {
		r.reserved.Add(1)
		return &gpu.Region{Bytes: make([]byte, n)}, nil
	}
	s.pin = func(*gpu.Region) error {
		if r.opened != nil {
			<-r.opened
		}
		r.pinned.Add(1)
		return r.refused
	}
	return s
}

// Parts that are lent at the same time do not overlap, whatever is given back in which order, and all of a region is lent again in the end.
func TestSourceMemoryIsLentOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	var made regions
	s := made.memory(2 * regionBytes)
	var lent []*loan
	refused := 0
	for range 20_000 {
		if len(lent) > 0 && r.IntN(20) < 9 {
			i := r.IntN(len(lent))
			for _, b := range []byte{lent[i].bytes[0], lent[i].bytes[len(lent[i].bytes)-1]} {
				if b != byte(len(lent[i].bytes)) {
					t.Fatal("somebody else wrote into what was lent")
				}
			}
			lent[i].giveBack()
			lent[i] = lent[len(lent)-1]
			lent = lent[:len(lent)-1]
			continue
		}
		n := 1 + r.IntN(1<<(1+r.IntN(24)))
		o := s.lend(n)
		if o == nil {
			refused++
			continue
		}
		if len(o.bytes) != n {
			t.Fatalf("%d bytes lent, %d asked for", len(o.bytes), n)
		}
		o.bytes[0], o.bytes[n-1] = byte(n), byte(n)
		lent = append(lent, o)
	}
	for _, o := range lent {
		o.giveBack()
	}
	if refused == 0 || len(s.regions) != 2 || made.reserved.Load() != 1 {
		t.Errorf("%d were refused, there are %d regions of %d", refused, len(s.regions), made.reserved.Load())
	}
	if len(s.regions[0].gaps) != 1 || len(s.regions[1].gaps) != 1 {
		t.Errorf("gaps %v and %v of regions of which nothing is lent", s.regions[0].gaps, s.regions[1].gaps)
	}
	a, b := s.lend(regionBytes), s.lend(regionBytes)
	if a == nil || b == nil || s.lend(1) != nil {
		t.Error("not all of it can be had again")
	}
	a.giveBack()
	s.close()
	if s.lend(1) != nil {
		t.Error("it lends once it is closed")
	}
	s.free()
	if len(s.regions) != 2 {
		t.Errorf("%d regions are kept, want both: one is in use", len(s.regions))
	}
	b.giveBack()
	if s.free(); len(s.regions) != 0 || made.pinned.Load() != 2 {
		t.Errorf("%d regions are kept, %d were pinned", len(s.regions), made.pinned.Load())
	}
	for _, n := range []int{0, -1, regionBytes + 1} {
		if made.memory(1<<40).lend(n) != nil {
			t.Errorf("%d bytes are lent", n)
		}
	}
	if (*sourceMemory)(nil).lend(1) != nil || made.memory(regionBytes-1).lend(1) != nil {
		t.Error("memory is lent that there is not")
	}
}

// Where the system has no region, or the driver does not pin one, there are no more.
func TestSourceMemoryThatIsRefused(t *testing.T) {
	made := regions{refused: errors.New("not supported")}
	s := made.memory(4 * regionBytes)
	first := s.lend(10)
	s.pins.Wait()
	if first == nil || s.lend(regionBytes) != nil || len(s.regions) != 1 {
		t.Error("there is another region after one that is not pinned")
	}
	if s.lend(regionBytes/2) == nil {
		t.Error("a region that is not pinned lends no more")
	}

	s = made.memory(4 * regionBytes)
	s.reserve = func(int) (*gpu.Region, error) { return nil, errors.New("no memory") }
	if s.lend(1) != nil {
		t.Error("memory is lent that there is not")
	}
}

// Sources whose samples are used where they are lie in it until their objects have come to their ends, be these good or bad, and others
// do not. The results are those of any other memory.
func TestSourcesThatADeviceTakesSamplesFrom(t *testing.T) {
	made := regions{opened: make(chan struct{})}
	s := made.memory(regionBytes)
	var there, elsewhere atomic.Int64
	c := &fake{}
	c.encode = func(_ context.Context, _ *gpu.Device, m *raster.Image) ([]byte, error, bool) {
		if m.Width < 16 { // of the self-test
			return nil, nil, false
		}
		all := uintptr(unsafe.Pointer(unsafe.SliceData(s.regions[0].region.Bytes)))
		if uintptr(unsafe.Pointer(unsafe.SliceData(m.Pix)))-all < regionBytes {
			there.Add(1)
		} else {
			elsewhere.Add(1)
		}
		kept := *m
		kept.Pix = bytes.Clone(m.Pix)
		c.images.Store(m.Hash(), &kept)
		return []byte("fake " + m.Hash()), nil, true
	}
	j := newJob(t, "mem://source", "mem://target", c, nil)
	const n = 100
	want := map[string]string{}
	for i := range n {
		m, key := photo(uint64(i), 50, 40, 3), fmt.Sprintf("%03d.PPM", i)
		j.put(key, append([]byte("P6 50 40 255\n"), m.Pix...))
		want[key] = m.Hash()
	}
	j.put("cut.ppm", []byte("P6 50 40 255\nshort"))
	j.photos(10, 16).plan()
	w := j.deviceWorker(Options{CPU: 2}, c)
	w.sources = s
	time.AfterFunc(10*time.Millisecond, func() { close(made.opened) })
	for i := range j.tasks {
		if err := j.chunk(w, i); err != nil {
			t.Fatal(err)
		}
	}
	s.close()
	results := j.results()
	for key, hash := range want {
		if r := results[key]; r.Outcome != jobs.OutcomeCompressed || r.PixelHash != hash || r.DecodedHash != hash {
			t.Errorf("%s: %s, hash %s decoded to %s, want %s (%s)", key, r.Outcome, r.PixelHash, r.DecodedHash, hash, r.Error)
		}
	}
	if r := results["cut.ppm"]; r.Outcome != jobs.OutcomeRejected {
		t.Errorf("a damaged source: %s", r.Outcome)
	}
	if there.Load() != n || elsewhere.Load() != 10 || made.pinned.Load() != 1 {
		t.Errorf("%d images lie there and %d elsewhere, %d regions were pinned", there.Load(), elsewhere.Load(), made.pinned.Load())
	}
	if s.free(); len(s.regions) != 0 {
		t.Errorf("of a region only %v is idle when all objects have come to their ends", s.regions[0].gaps)
	}
}

// What is stored as it was read lies in memory that nobody else gets: a store may still read it.
func TestSourcesThatAreStored(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*jobs.Spec)
		data   string
		want   jobs.Outcome
		kept   bool
	}{
		"no gain, copied":  {func(s *jobs.Spec) { s.Larger = "copy" }, "P6 4 4 255\n" + strings.Repeat("abc", 16), jobs.OutcomeKept, true},
		"no gain":          {func(*jobs.Spec) {}, "P6 4 4 255\n" + strings.Repeat("abc", 16), jobs.OutcomeKept, false},
		"damaged, copied":  {func(s *jobs.Spec) { s.Others = "copy" }, "P6 40 40 255\nshort", jobs.OutcomeRejected, true},
		"damaged":          {func(*jobs.Spec) {}, "P6 40 40 255\nshort", jobs.OutcomeRejected, false},
		"a result, stored": {func(s *jobs.Spec) { s.Larger, s.Others = "copy", "copy" }, "P6 40 40 255\n" + strings.Repeat("abc", 1600), jobs.OutcomeCompressed, false},
	} {
		t.Run(name, func(t *testing.T) {
			var made regions
			s, f := made.memory(regionBytes), &fake{}
			j := newJob(t, "mem://source", "mem://target", f, c.change)
			j.put("it.ppm", []byte(c.data))
			j.plan()
			w := j.deviceWorker(Options{CPU: 2}, f)
			w.sources = s
			if err := j.chunk(w, 0); err != nil {
				t.Fatal(err)
			}
			if r := j.results()["it.ppm"]; r.Outcome != c.want {
				t.Errorf("%s (%s), want %s", r.Outcome, r.Error, c.want)
			}
			if c.kept {
				equalBytes(t, j.target, "it.ppm", []byte(c.data))
			}
			s.close()
			if s.free(); len(s.regions) > 0 != c.kept {
				t.Errorf("%d regions are kept", len(s.regions))
			}
		})
	}
}

// A batch may still read what an object has left it with: nobody else gets that.
func TestSourcesOfABatchThatGoesOn(t *testing.T) {
	var made regions
	s := made.memory(regionBytes)
	p := newPipeline(pipelineOptions{cpu: 1, fetchers: 1, memory: MinMemory, timeout: time.Minute})
	reads, goOn := make(chan struct{}), make(chan struct{})
	b := newBatcher(p, "fake", "", func(context.Context, codec.Run, []*object) error {
		close(reads)
		<-goOn
		return nil
	})
	leave := b.join()
	defer leave()
	o := &object{held: &share{loans: []*loan{s.lend(100)}}, image: raster.New(1, 1, 1, 1, 8)}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- b.do(ctx, o, func() {}) }()
	<-reads
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	o.held.release()
	if s.lend(regionBytes) != nil {
		t.Error("memory that a batch reads is lent to somebody else")
	}
	s.close()
	if s.free(); len(s.regions) != 1 {
		t.Error("memory that a batch reads is given to the system")
	}
	close(goOn)
}
