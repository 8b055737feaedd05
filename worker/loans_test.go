package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// lending is a fake whose images lie in memory of the caller's, and that asks for one piece more than it
// needs. then, where set, is called when it has asked for all.
type lending struct {
	*fake
	then  func(ctx context.Context, run codec.Run, files [][]byte)
	given atomic.Int64 // images in memory of the caller's
}

func (c *lending) Decode(ctx context.Context, run codec.Run, files [][]byte, assets codec.Assets) []codec.Decoded {
	out := c.fake.Decode(ctx, run, files, assets)
	if run.Alloc == nil {
		return out
	}
	run.Alloc(100)
	for i, d := range out {
		if d.Image == nil {
			continue
		}
		if b := run.Alloc(len(d.Image.Pix)); b != nil {
			m := *d.Image
			m.Pix = b
			copy(b, d.Image.Pix)
			out[i].Image = &m
			c.given.Add(1)
		}
	}
	if c.then != nil {
		c.then(ctx, run, files)
	}
	return out
}

// pinning is a device's pinned memory that knows what was taken and not freed. What is freed is overwritten.
type pinning struct {
	mu         sync.Mutex
	held, most int64
}

func (p *pinning) lend(l *lender) {
	l.pin = func(n int) ([]byte, func(), error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held += int64(n)
		p.most = max(p.most, p.held)
		b := make([]byte, n)
		return b, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.held -= int64(n)
			for i := range b {
				b[i] = 0xa5
			}
		}, nil
	}
}

// lent are the bytes of a lender that somebody uses.
func (l *lender) lent() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.held
	for size, list := range l.idle {
		n -= int64(size * len(list))
	}
	return n
}

// lendingMemory is room for all objects of a test at once: a call that does not end keeps that of its batch.
const lendingMemory = 16 * MinMemory

// lendingVerbs decode the results of a job on a device that lends memory.
var lendingVerbs = map[string]func(ctx context.Context, j *job, c codec.Codec, p *pinning, timeout time.Duration) (bad int64, l *lender, err error){
	"decompress": func(ctx context.Context, j *job, c codec.Codec, p *pinning, timeout time.Duration) (int64, *lender, error) {
		d := &decompression{src: j.target, dst: j.open("mem://decompressed")}
		if err := d.prepare(&DecompressOptions{Codecs: []codec.Codec{c}, CPU: 2, Memory: lendingMemory, Timeout: timeout, Device: &gpu.Device{}}); err != nil {
			return 0, nil, err
		}
		p.lend(d.lender)
		err := d.run(ctx)
		return d.counts.Objects - d.counts.Compressed, d.lender, err
	},
	"verify": func(ctx context.Context, j *job, c codec.Codec, p *pinning, timeout time.Duration) (int64, *lender, error) {
		d, err := newDecoding(&gpu.Device{}, 2, lendingMemory, timeout, []codec.Codec{c}, nil)
		if err != nil {
			return 0, nil, err
		}
		p.lend(d.lender)
		v := &verification{decoding: d, target: j.target, report: VerifyReport{Problems: map[string]int64{}}}
		err = v.each(ctx, func(found func(*object) error) error { return v.list(j.each, found) }, v.object)
		return v.report.Bad(), d.lender, err
	},
}

// Memory that is lent for decoded images is used again, never by two at once, and is back however a call
// ends.
func TestLoansAreGivenBack(t *testing.T) {
	const n, victim = 150, 7
	for verb, decode := range lendingVerbs {
		for what, test := range map[string]struct {
			damage func(c *lending, end func()) (late func())
			bad    int64 // objects; -1: that depends on who else is in the batch
			ends   error // of the whole
		}{
			"all well": {damage: func(*lending, func()) func() { return nil }},
			"a damaged file": {bad: 1, damage: func(c *lending, _ func()) func() {
				bad := photo(victim, 16, 16, 3).Hash()
				c.fake.decode = func(m *raster.Image) (*raster.Image, error, bool) {
					return nil, codec.Malformedf("damaged"), m.Hash() == bad
				}
				return nil
			}},
			"a panic": {damage: func(c *lending, _ func()) func() {
				c.then = func(_ context.Context, _ codec.Run, files [][]byte) {
					if holds(files, victim) {
						panic("boo")
					}
				}
				return nil
			}},
			"the end of the context": {ends: context.Canceled, damage: func(c *lending, end func()) func() {
				c.then = func(ctx context.Context, _ codec.Run, _ [][]byte) {
					end()
					<-ctx.Done()
				}
				return nil
			}},
			"a call that goes on": {bad: -1, damage: func(c *lending, _ func()) func() {
				release := make(chan struct{})
				c.then = func(_ context.Context, run codec.Run, files [][]byte) {
					if holds(files, victim) {
						<-release
					}
				}
				return func() { close(release) }
			}},
		} {
			t.Run(verb+", "+what, inNoTime(func(t *testing.T) {
				f := &fake{}
				c := &lending{fake: f}
				j := compressed(t, f, n)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				late := test.damage(c, end)
				p := &pinning{}
				bad, l, err := decode(ctx, j, c, p, time.Second)
				if late != nil {
					late()
				}
				synctest.Wait()
				if !errors.Is(err, test.ends) || test.ends == nil && test.bad >= 0 && bad != test.bad {
					t.Errorf("%d bad objects, want %d; %v", bad, test.bad, err)
				}
				if lent := l.lent(); lent != 0 || p.held != 0 {
					t.Errorf("%d bytes are still lent and %d held", lent, p.held)
				}
				if c.given.Load() == 0 || p.most == 0 || p.most > l.most {
					t.Errorf("%d images in lent memory, of which %d bytes were held, want some and at most %d", c.given.Load(), p.most, l.most)
				}
			}))
		}
	}
}

// With --verify device results are decoded into lent memory, and encoders are lent none: a store may read
// their files for longer than an object is at work.
func TestLoansOfAJob(t *testing.T) {
	f := &fake{}
	c := &lending{fake: f}
	f.encoding = func(run codec.Run) {
		if run.Alloc != nil {
			t.Error("an encoder is lent memory")
		}
	}
	j := newJob(t, "mem://source", "mem://target", c, func(s *jobs.Spec) { s.Verify = "device" })
	j.photos(100, 16).plan()
	w := j.deviceWorker(Options{CPU: 2}, c)
	p := &pinning{}
	p.lend(w.lender)
	if err := j.chunk(w, 0); err != nil {
		t.Fatal(err)
	}
	for key, r := range j.results() {
		if r.Outcome != jobs.OutcomeCompressed || r.Verified != verifyDevice {
			t.Errorf("%s: %s, verified %q: %s", key, r.Outcome, r.Verified, r.Error)
		}
	}
	if lent := w.lender.lent(); lent != 0 || c.given.Load() != 100 {
		t.Errorf("%d bytes are still lent after %d images in lent memory, want 0 and 100", lent, c.given.Load())
	}
	w.lender.close()
	if p.held != 0 {
		t.Errorf("%d bytes are held by a lender that is closed", p.held)
	}
}

// What is lent has a bound, idle memory of another size makes room, and it is set aside from the memory of
// the process.
func TestLoansAreBounded(t *testing.T) {
	p, l := &pinning{}, newLender(nil, 10_000)
	p.lend(l)
	call := &loans{from: l}
	if b := call.alloc(4000); len(b) != 4000 || cap(b) != 4000 {
		t.Fatalf("%d of %d bytes, want 4000", len(b), cap(b))
	}
	if call.alloc(4000) == nil || call.alloc(4000) != nil || call.alloc(10_001) != nil || call.alloc(0) != nil {
		t.Error("want two pieces of 4,000 bytes out of 10,000, and no more")
	}
	call.end()
	if call.alloc(10) != nil {
		t.Error("a call that has ended is lent memory")
	}
	next := &loans{from: l}
	defer next.end()
	if next.alloc(9000) == nil || p.most > 10_000 {
		t.Errorf("%d bytes were held at once; want that idle memory makes room for other sizes", p.most)
	}
	l.pin = func(int) ([]byte, func(), error) { return nil, nil, gpu.ErrOutOfMemory }
	if next.alloc(100) != nil || (&loans{}).alloc(100) != nil {
		t.Error("memory is lent that there is not")
	}
	for _, cards := range []int{1, 2, 8} {
		for _, n := range []int64{1 << 20, 100 << 20, 30 << 30} {
			b, most := newBudget(memoryFor(n), forSources, cards), int64(cards)*sourceMost
			if b.total+b.loans+b.checks+b.sources > n || b.loans == 0 || b.loans > loanMost || b.checks == 0 || b.sources > most || b.sources != 0 != (n >= sourceShare*regionBytes) || b.sources != 0 && b.sources < regionBytes {
				t.Errorf("%d bytes for objects, %d for loans, %d for checks and %d for sources of %d beside %d cards", b.total, b.loans, b.checks, b.sources, n, cards)
			}
			if want := min(most, n/sourceShare); n == 30<<30 && (b.sources < want-1 || b.sources > want) {
				t.Errorf("%d bytes for sources of %d beside %d cards, want some %d", b.sources, n, cards, want)
			}
		}
	}
	// The memory that a refused object is told to need is enough with what is set aside, too.
	for _, is := range []budgetFor{forCPU, forDevice, forChecks, forSources} {
		for _, cards := range []int{1, 2, 8} {
			for _, n := range []int64{1, 1 << 20, 100 << 20, 30 << 30} {
				total := is.around(n, cards)
				loans, checks, sources := is.aside(total, cards)
				if got := total - loans - checks - sources; got < n || got > n+2 {
					t.Errorf("%d bytes around %d for %d beside %d cards leave %d", total, n, is, cards, got)
				}
			}
		}
	}
}

// Memory for a batch is made in few pieces before its call asks for it, no more than there is room for, and given back whole.
func TestLoansArePrepared(t *testing.T) {
	inNoTime(func(t *testing.T) {
		const size = 4 << 20 // eight in a piece
		p, l := &pinning{}, newLender(nil, 20*size)
		p.lend(l)
		pins, may := 0, make(chan struct{})
		pin := l.pin
		l.pin = func(n int) ([]byte, func(), error) {
			pins++
			<-may
			return pin(n)
		}
		sizes := []int{size, size - 1, size, size, size, size, size, size, size, size, 100, 0}
		l.prepare(t.Context(), sizes)
		l.prepare(t.Context(), sizes) // of another batch, while it is on its way
		call := &loans{from: l}
		got := make(chan []byte)
		go func() { got <- call.alloc(size) }()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("memory is lent before the driver has made it")
		default:
		}
		close(may)
		if b := <-got; len(b) != size {
			t.Errorf("%d bytes, want %d", len(b), size)
		}
		synctest.Wait()
		if pins != 3 || l.held != 10*size+int64(loanSize(100)) {
			t.Errorf("%d bytes in %d pieces, want 10 x %d and %d in 3", l.held, pins, size, loanSize(100))
		}
		for range 9 {
			call.alloc(size)
		}
		if pins != 3 || call.alloc(size) == nil || pins != 4 {
			t.Errorf("%d pieces for 11 images, want 4", pins)
		}
		call.end()
		l.prepare(t.Context(), sizes[:9])
		if l.preparing || pins != 4 {
			t.Error("memory is made although as much is idle")
		}

		// Of a piece that is used in part nothing makes room for other sizes.
		first := &loans{from: l}
		for range 11 {
			first.alloc(size)
		}
		l.prepare(t.Context(), slices.Repeat([]int{2 * size}, 20))
		synctest.Wait()
		if l.held > l.most || p.most > l.most {
			t.Errorf("%d bytes are held, %d were, of %d at most", l.held, p.most, l.most)
		}
		if first.alloc(10*size) != nil {
			t.Error("memory is lent beyond the bound")
		}
		first.end()
		last := &loans{from: l}
		if last.alloc(20*size) == nil || p.held != 20*size {
			t.Errorf("%d bytes are held, want those of one image of the bound", p.held)
		}
		last.end()

		// An error of the driver ends the wait, and what is prepared when the lender closes is freed.
		l.pin = func(int) ([]byte, func(), error) { return nil, nil, gpu.ErrOutOfMemory }
		l.trim(0)
		l.prepare(t.Context(), sizes)
		if b := (&loans{from: l}).alloc(size); b != nil {
			t.Error("memory is lent that there is not")
		}
		l.pin = pin

		// A device that does not open holds nobody up once the call has ended.
		ctx, end := context.WithCancel(t.Context())
		l.opened = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		l.prepare(ctx, sizes)
		synctest.Wait()
		one := &loans{from: l}
		go func() { got <- one.alloc(size) }()
		synctest.Wait()
		end()
		if <-got == nil || l.held != size {
			t.Errorf("%d bytes are held after the end of a call on a device that was not open, want those of one image", l.held)
		}
		one.end()
		l.opened = (*gpu.Device)(nil).Opened

		l.prepare(t.Context(), sizes)
		l.close()
		if l.prepare(t.Context(), sizes); l.preparing || l.held != 0 || p.held != 0 {
			t.Errorf("%d bytes are held by a lender that is closed, %d of the device", l.held, p.held)
		}
	})(t)
}
