//go:build cuda && cgo

package gpu

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"unsafe"
)

// The driver takes 0.35 ms to make and pin 1 MB of host memory, in pages of 4 KiB and under a lock that all lanes share. So
// the pages are made here, outside the driver, on several cores and of 2 MiB where the system has such, and the driver only
// pins what is there. Small blocks are cut from slabs, which have room for such pages.
const hugePage = 2 << 20

var hostSlabs = slabSizes{mostCut: hugePage, least: 4 << 20, most: 32 << 20, share: 4}

// pages makes pinned memory, and remembers which of it is not the driver's own. Safe for concurrent use.
type pages struct {
	mu      sync.Mutex
	mapped  map[unsafe.Pointer][]byte // whole mappings, by where their pinned part begins
	refused bool                      // the driver does not pin what it has not made
}

// alloc returns n bytes of pinned memory. A context must be current.
func (s *pages) alloc(d *Device, n int) (unsafe.Pointer, error) {
	s.mu.Lock()
	refused := s.refused
	s.mu.Unlock()
	if n >= hugePage && !refused {
		p, err := s.mapAndRegister(d, n)
		if p != nil || errors.Is(err, ErrFatal) {
			return p, err
		}
		s.mu.Lock()
		s.refused = true
		s.mu.Unlock()
	}
	p, err := hostAlloc(n)
	return p, d.judge(-1, "cuMemHostAlloc", "", err)
}

// mapAndRegister maps and pins n bytes.
func (s *pages) mapAndRegister(d *Device, n int) (unsafe.Pointer, error) {
	all, err := mapPages(n)
	if err != nil {
		return nil, err
	}
	return s.register(d, all, n)
}

// register pins the n bytes of a mapping of mapPages, which it takes over. A context must be current.
func (s *pages) register(d *Device, all []byte, n int) (unsafe.Pointer, error) {
	p := unsafe.Pointer(&pinnedPart(all, n)[0])
	if err := d.judge(-1, "cuMemHostRegister", "", hostRegister(p, n)); err != nil {
		_ = syscall.Munmap(all)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mapped[p] = all
	return p, nil
}

// mapPages makes n bytes of memory that begin at a multiple of hugePage, see pinnedPart, and its pages.
func mapPages(n int) (all []byte, err error) {
	if all, err = reservePages(n); err == nil {
		touch(pinnedPart(all, n))
	}
	return all, err
}

// reservePages is mapPages without the pages, which are made as they are used.
func reservePages(n int) (all []byte, err error) {
	all, err = syscall.Mmap(-1, 0, n+hugePage, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, err
	}
	part := pinnedPart(all, n)
	_ = syscall.Madvise(part, syscall.MADV_HUGEPAGE) // without it, small pages work as well
	_ = syscall.Madvise(all, syscall.MADV_DONTFORK)  // the card would go on with the pages of one of the two processes
	return all, nil
}

// pinnedPart is the part of a mapping of mapPages that is pinned.
func pinnedPart(all []byte, n int) []byte {
	from := -int(uintptr(unsafe.Pointer(&all[0]))) & (hugePage - 1)
	return all[from : from+n]
}

// holds says whether p lies in memory that is not the driver's own.
func (s *pages) holds(p unsafe.Pointer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.mapped {
		if first := uintptr(unsafe.Pointer(&all[0])); uintptr(p)-first < uintptr(len(all)) {
			return true
		}
	}
	return false
}

// unmap gives mappings back that no context pins any more, unless they are used.
func (s *pages) unmap(used func(all []byte) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	for p, all := range s.mapped {
		if !used(all) {
			delete(s.mapped, p)
			errs = errors.Join(errs, syscall.Munmap(all))
		}
	}
	return errs
}

// touch has the system make the pages of part, on several cores where there are many.
func touch(part []byte) {
	var all sync.WaitGroup
	for some := range slices.Chunk(part, 4*hugePage) {
		all.Go(func() {
			for i := 0; i < len(some); i += 4096 {
				some[i] = 0
			}
		})
	}
	all.Wait()
}

// free frees what alloc returned. A context must be current.
func (s *pages) free(d *Device, p unsafe.Pointer) error {
	s.mu.Lock()
	all, ok := s.mapped[p]
	delete(s.mapped, p)
	s.mu.Unlock()
	if !ok {
		return d.judge(-1, "cuMemFreeHost", "", hostFree(p))
	}
	if err := d.judge(-1, "cuMemHostUnregister", "", hostUnregister(p)); err != nil {
		return err // it may still be pinned, and must not become other memory
	}
	return syscall.Munmap(all)
}
