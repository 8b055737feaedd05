package worker

import (
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
	pin  func(n int) (b []byte, free func(), err error) // from the device
	most int64                                          // bytes held at once, idle ones included

	mu     sync.Mutex
	held   int64           // bytes
	idle   map[int][]*loan // by their sizes
	closed bool            // what comes back is not kept
}

// Of the memory for files and images a sixteenth is set aside for loans, and no more than some batches of photographs need: the
// driver pins a gigabyte in 0.35 s, in which it does nothing else for anybody.
const (
	loanShare = 16
	loanMost  = 256 << 20
)

// loanMemory is what is lent at most where files and images may take total, loans included.
func loanMemory(total int64) int64 { return min(total/loanShare, loanMost) }

func newLender(device *gpu.Device, most int64) *lender {
	return &lender{most: most, idle: make(map[int][]*loan), pin: func(n int) ([]byte, func(), error) {
		h, err := device.Host(n)
		if err != nil {
			return nil, nil, err
		}
		return h.Bytes, h.Free, nil
	}}
}

// loan is memory that somebody uses, or that is idle.
type loan struct {
	from  *lender
	bytes []byte
	free  func() // gives it to the device
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
	if list := l.idle[size]; len(list) > 0 {
		last := list[len(list)-1]
		l.idle[size] = list[:len(list)-1]
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
	return &loan{from: l, bytes: b, free: free}
}

// trim frees idle memory until at most target bytes are held, the largest first. The caller holds l.mu.
func (l *lender) trim(target int64) {
	for l.held > target {
		largest := 0
		for size := range l.idle {
			largest = max(largest, size)
		}
		if largest == 0 {
			return
		}
		for list := l.idle[largest]; len(list) > 0 && l.held > target; list = l.idle[largest] {
			last := list[len(list)-1]
			l.idle[largest] = list[:len(list)-1]
			l.held -= int64(len(last.bytes))
			last.free()
		}
		if len(l.idle[largest]) == 0 {
			delete(l.idle, largest)
		}
	}
}

// close frees what is idle, and what still comes back when it does.
func (l *lender) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.trim(0)
}

// giveBack ends the loan; a nil one is none. Nothing may use its bytes any more.
func (o *loan) giveBack() {
	if o == nil {
		return
	}
	l := o.from
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(o.bytes)
	l.idle[size] = append(l.idle[size], o)
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
