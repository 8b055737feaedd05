package worker

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// The kernel is asked for huge pages in all whole ones of a piece of the heap.
func TestLayHeap(t *testing.T) {
	for _, n := range []int64{0, 1 << 20, 64 << 20} {
		if err := layHeap(n); err != nil {
			t.Skipf("NOT TESTED: this kernel has no huge pages: %d bytes: %v", n, err)
		}
	}
	b := make([]byte, 8<<20)
	if err := adviseHugePages(b); err != nil {
		t.Fatal(err)
	}
	flags, err := flagsOf(uintptr(unsafe.Pointer(&b[4<<20])))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	if !strings.Contains(" "+flags+" ", " hg ") {
		t.Errorf("the flags of the memory are %q", flags)
	}
}

// flagsOf are those of the kernel's mapping around an address, as /proc/self/smaps has them.
func flagsOf(address uintptr) (string, error) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return "", err
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= address && address < hi
		} else if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			return strings.TrimSpace(flags), nil
		}
	}
	return "", fmt.Errorf("/proc/self/smaps says nothing of %x", address)
}
