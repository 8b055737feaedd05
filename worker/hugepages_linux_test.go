package worker

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
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

// Addresses take no memory, also where some of them were in use before: the runtime clears such memory for those who ask for cleared one.
func TestLayHeapTakesNoMemory(t *testing.T) {
	used := make([]byte, 256<<20)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
	used = nil
	runtime.GC()
	before := resident(t)
	if err := layHeap(1 << 30); err != nil {
		t.Skipf("NOT TESTED: this kernel has no huge pages: %v", err)
	}
	if more := resident(t) - before; more > 64<<20 {
		t.Errorf("%d bytes more are resident after laying out 1 GiB of the heap", more)
	}
}

// resident is how much memory of the process is there, as /proc/self/statm has it.
func resident(t *testing.T) int64 {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
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
