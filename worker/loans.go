package worker

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// lender lends pinned memory for images that a device decodes: the device writes them where they
// belong, and memory that is used again costs nothing, where the first use of new memory takes longer
// than to decode into it. A nil *lender lends nothing.
//
// Of every loan somebody is the owner, who gives it back once: the call of the codec, until it has
// really ended, also by an error, a panic or the end of its context; then the object whose image lies
// in it, with its share of the memory, see [share]. What no image lies in is given back when the call
// ends.
type lender struct {
	opened func(context.Context) error                    // waits until the device can be used
	pin    func(n int) (b []byte, free func(), err error) // from the device
	most   int64                                          // bytes held at once, idle ones included

	mu        sync.Mutex
	held      int64           // bytes
	idle      map[int][]*loan // by their sizes
	preparing bool            // more are on their way
	came      *sync.Cond      // some of them, or no more do
	pins      sync.WaitGroup  // what prepares
	closed    bool            // what comes back is not kept
}

// Of the memory for files and images a sixteenth is set aside for loans, and no more than some batches of photographs need: the
// driver pins a gigabyte in 0.35 s, in which it does nothing else for anybody.
const (
	loanShare = 16
	loanMost  = 256 << 20

	// Memory for several images at once is pinned in pieces of so many bytes.
	pieceBytes = 32 << 20
)

// loanMemory is what is lent at most where files and images may take total, loans included.
func loanMemory(total int64) int64 { return min(total/loanShare, loanMost) }

func newLender(device *gpu.Device, most int64) *lender {
	l := &lender{most: most, opened: device.Ready, idle: make(map[int][]*loan), pin: func(n int) ([]byte, func(), error) {
		h, err := device.Host(n)
		if err != nil {
			return nil, nil, err
		}
		return h.Bytes, h.Free, nil
	}}
	l.came = sync.NewCond(&l.mu)
	return l
}

// loan is memory that somebody uses, or that is idle.
type loan struct {
	from   *lender
	bytes  []byte
	piece  *piece
	region *sourceRegion // of which it is; nil: it is the lender's
}

// piece is what one or more loans of a size were cut from.
type piece struct {
	free func() // gives it to the device
	all  int    // loans
	idle int    // of these
}

// loanSize is n rounded up to eighths of powers of two, so that images of about equal sizes share memory.
func loanSize(n int) int {
	step := 1 << max(bits.Len(uint(n-1))-4, 9)
	return (n + step - 1) / step * step
}

// lend returns memory of at least n bytes, or nil where there is none.
func (l *lender) lend(n int) *loan {
	if l == nil || n <= 0 || int64(n) > l.most {
		return nil
	}
	size := loanSize(n)
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.idle[size]) == 0 && l.preparing {
		l.came.Wait()
	}
	if list := l.idle[size]; len(list) > 0 {
		last := list[len(list)-1]
		l.idle[size] = list[:len(list)-1]
		last.piece.idle--
		return last
	}
	l.trim(l.most - int64(size))
	if l.closed || l.held+int64(size) > l.most {
		return nil
	}
	b, free, err := l.pin(size)
	if err != nil {
		return nil // the codec has memory of its own, and says what else is wrong with the device
	}
	l.held += int64(size)
	return &loan{from: l, bytes: b, piece: &piece{free: free, all: 1}}
}

// prepare has memory for images of these sizes made, most of which a call is about to ask for, where there is not as much idle. It
// returns at once. Those who ask before it is there wait for it, and not for the driver, which does nothing for others while they do.
// ctx is that of the call: once it has ended nothing is waited for that may never come, as a device that opens.
func (l *lender) prepare(ctx context.Context, sizes []int) {
	if l == nil {
		return
	}
	wanted := make(map[int]int)
	for _, n := range sizes {
		if n > 0 {
			wanted[loanSize(n)]++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for size := range wanted {
		if wanted[size] -= len(l.idle[size]); wanted[size] <= 0 {
			delete(wanted, size)
		}
	}
	if l.closed || l.preparing || len(wanted) == 0 {
		return
	}
	l.preparing = true
	l.pins.Go(func() {
		err := l.opened(ctx)
		for size, n := range wanted {
			for n > 0 && err == nil && ctx.Err() == nil {
				added := l.add(size, min(n, max(1, pieceBytes/size)))
				if added == 0 {
					break
				}
				n -= added
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.preparing = false
		l.came.Broadcast()
	})
}

// add makes up to n idle loans of a size at once, as many as there is room for beside what is held, and returns how many.
func (l *lender) add(size, n int) int {
	l.mu.Lock()
	n = min(n, int((l.most-l.held)/int64(size)))
	if l.closed {
		n = 0
	}
	l.held += int64(n * size)
	l.mu.Unlock()
	if n == 0 {
		return 0
	}
	b, free, err := l.pin(n * size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.held -= int64(n * size)
		return 0
	}
	p := &piece{free: free, all: n, idle: n}
	for i := range n {
		l.idle[size] = append(l.idle[size], &loan{from: l, bytes: b[i*size:][:size:size], piece: p})
	}
	l.came.Broadcast()
	return n
}

// trim frees idle memory until at most target bytes are held, the largest first, as far as pieces of it are idle. The caller holds l.mu.
func (l *lender) trim(target int64) {
	for l.held > target {
		largest := 0
		var p *piece
		for size, list := range l.idle {
			if size < largest {
				continue
			}
			for _, o := range list {
				if o.piece.idle == o.piece.all {
					largest, p = size, o.piece
				}
			}
		}
		if p == nil {
			return
		}
		l.idle[largest] = slices.DeleteFunc(l.idle[largest], func(o *loan) bool { return o.piece == p })
		if len(l.idle[largest]) == 0 {
			delete(l.idle, largest)
		}
		l.held -= int64(largest * p.all)
		p.free()
	}
}

// close frees what is idle, and what still comes back when it does.
func (l *lender) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.pins.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trim(0)
}

// giveBack ends the loan; a nil one is none. Nothing may use its bytes any more.
func (o *loan) giveBack() {
	if o == nil {
		return
	}
	if o.region != nil {
		o.region.giveBack(o)
		return
	}
	l := o.from
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(o.bytes)
	l.idle[size] = append(l.idle[size], o)
	o.piece.idle++
	l.came.Broadcast()
	if l.closed {
		l.trim(0)
	}
}

// has says whether the samples of an image lie in the loan.
func (o *loan) has(m *raster.Image) bool {
	if m == nil || len(m.Pix) == 0 {
		return false
	}
	at, first := uintptr(unsafe.Pointer(unsafe.SliceData(m.Pix))), uintptr(unsafe.Pointer(unsafe.SliceData(o.bytes)))
	return at >= first && at < first+uintptr(len(o.bytes))
}

// loans are those of one call of a codec.
type loans struct {
	from *lender

	mu   sync.Mutex
	list []*loan
	over bool
}

// alloc is [codec.Run].Alloc.
func (s *loans) alloc(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	o := s.from.lend(n)
	if o == nil {
		return nil
	}
	s.list = append(s.list, o)
	return o.bytes[:n:n]
}

// of takes those loans out in which the samples of images lie: they belong to the caller now.
func (s *loans) of(images ...*raster.Image) (list []*loan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range images {
		if i := slices.IndexFunc(s.list, func(o *loan) bool { return o.has(m) }); i >= 0 {
			list = append(list, s.list[i])
			s.list = slices.Delete(s.list, i, i+1)
		}
	}
	return list
}

// end gives back what nobody took. The call that used it has ended.
func (s *loans) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, o := range s.list {
		o.giveBack()
	}
	s.list = nil
}
