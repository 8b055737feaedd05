package worker

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/codec"
)

// layHeap lets the heap begin with about n bytes of addresses for which the kernel may use pages of 2 MiB. With a device hundreds of images
// are at work, in gigabytes that all cores touch for the first time at once: with pages of 4 KiB that takes up to a tenth of the processor
// time, and the end of the process waits until the kernel has freed them one by one. Addresses take no memory; those that the runtime has
// once had it uses first.
func layHeap(n int64) error {
	if n < 2*hugePage {
		return nil
	}
	// Not of make, which clears all of it where the runtime has used some of the addresses before: six gigabytes are 3 s.
	heap := codec.Uncleared(int(n))
	err := adviseHugePages(heap)
	heap = nil
	runtime.GC()
	return err
}

// hugePage is the size of a page of most processors' second level. Where it is another one the kernel rounds as it needs.
const hugePage = 2 << 20

// adviseHugePages asks for them in those that lie in b as a whole.
func adviseHugePages(b []byte) error {
	first := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (hugePage - 1))
	whole := b[first : first+(len(b)-first)&^(hugePage-1)]
	if err := syscall.Madvise(whole, syscall.MADV_HUGEPAGE); err != nil {
		return fmt.Errorf("madvise %d bytes of the heap: %w", len(whole), err)
	}
	return nil
}
