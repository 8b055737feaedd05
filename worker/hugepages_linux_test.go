package worker

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// What is allocated after the heap was laid lies in addresses for which the kernel was asked for huge pages, and the heap is no larger.
func TestLayHeap(t *testing.T) {
	if err := layHeap(1 << 20); err != nil {
		t.Errorf("a heap that is smaller than a page: %v", err)
	}
	if err := layHeap(64 << 20); err != nil {
		t.Skipf("NOT TESTED: this kernel has no huge pages: %v", err)
	}
	b := make([]byte, 40<<20)
	flags, err := flagsOf(uintptr(unsafe.Pointer(&b[4<<20])))
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	if !strings.Contains(" "+flags+" ", " hg ") {
		t.Errorf("memory that was allocated then has the flags %q", flags)
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
