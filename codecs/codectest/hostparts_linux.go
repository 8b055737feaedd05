package codectest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/pelmill/pelmill/raster"
)

// HostParts is what the parts of the host's work on files take, for all of them.
type HostParts struct {
	Pixels, Bytes int // of the pictures, and of the files that are made of them

	order []string
	took  map[string]time.Duration
}

// hostRounds is how often each part is measured.
const hostRounds = 9

// BenchHost calls measure with each of the files, on one core, and prints what each part took in nanoseconds of processor time a
// pixel, and all together. What a part with "of it" in its name takes is counted in another one.
func BenchHost(b *testing.B, files []string, measure func(h *HostParts, file string)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for b.Loop() {
		h := &HostParts{took: map[string]time.Duration{}}
		for _, f := range files {
			measure(h, f)
		}
		all := time.Duration(0)
		fmt.Printf("\n%d pictures, %d bytes\n", len(files), h.Bytes)
		slices.SortStableFunc(h.order, func(x, y string) int { return cmp.Compare(h.took[y], h.took[x]) })
		for _, part := range h.order {
			if !strings.Contains(part, "of it") {
				all += h.took[part]
			}
			fmt.Printf("%-40s %8.2f ns/px\n", part, float64(h.took[part].Nanoseconds())/float64(h.Pixels))
		}
		fmt.Printf("%-40s %8.2f ns/px\n", "together", float64(all.Nanoseconds())/float64(h.Pixels))
	}
}

// Part measures f: the least of some rounds.
func (h *HostParts) Part(name string, f func()) {
	least := time.Duration(math.MaxInt64)
	for range hostRounds {
		before := threadTime()
		f()
		least = min(least, threadTime()-before)
	}
	if _, ok := h.took[name]; !ok {
		h.order = append(h.order, name)
	}
	h.took[name] += least
}

// Source measures what every codec takes from the bytes of a file to its pixels, which decode reads, and returns these.
func (h *HostParts) Source(b *testing.B, file string, decode func(data []byte) (*raster.Image, error)) *raster.Image {
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var m *raster.Image
	h.Part("fetch: hash of the source", func() { sha256.Sum256(data) })
	h.Part("read: PNG", func() { m, err = decode(data) })
	if err != nil {
		b.Fatalf("%s: %v", file, err)
	}
	h.Part("read: hash of the pixels", func() { m.Hash() })
	h.Pixels += m.Width * m.Height
	return m
}

// Stored measures what every codec takes to store a file.
func (h *HostParts) Stored(file []byte) {
	h.Part("store: hash of the file", func() { sha256.Sum256(file) })
	h.Bytes += len(file)
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID of clock_gettime(2)
	var t syscall.Timespec
	if _, _, code := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&t)), 0); code != 0 {
		panic(code)
	}
	return time.Duration(t.Nano())
}
