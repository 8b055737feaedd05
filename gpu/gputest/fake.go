//go:build cuda && cgo

package gputest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"github.com/pelmill/pelmill/gpu/driver"
)

//go:embed testdata/libcuda.c
var fakeSource []byte

// Fake is the fake driver's state, shared with the driver: fields may be read and set
// whenever no call of the driver is under way. The fields are those of struct control
// in testdata/libcuda.c, in its order.
type Fake struct {
	Init       int64 // what cuInit returns; read when the driver is loaded
	Version    int64 // of CUDA, 12080
	Cards      int64
	Capability int64 // 75
	Memory     int64 // bytes per card
	RefusePTX  int64 // code that loading a module returns

	RefusePages int64 // code that pinning pages that are there returns

	Calls  int64 // so far
	FailAt int64 // number of the call that returns Code; 0: none
	Code   int64
	Sticky int64 // 1: so do all later calls
	HangAt int64 // number of the call that does not return while Hang is 1; 0 is cuInit
	Hang   int64
	Inside int64 // calls under way
	LoadAt int64 // number of the load of a module that does not return while Hang is 1, and then returns Code; 0: none
	Loads  int64 // so far
	Slow   int64 // 1 + the card whose context is not made while Hang is 1, and which then returns Code; 0: none

	// What exists.
	Contexts, Streams, Events, Modules, Blocks, Bytes, Pinned int64

	First      int64    // streams whose kernels come before those of others, so far
	Wrong      int64    // uses of what does not exist, copies outside their memory, calls without a context
	Held       int64    // copies to memory that is not pinned from streams that nobody has waited for, so far
	Behind     int64    // copies behind kernels that nobody has waited for, but of at most 64 KiB that are not pinned to the card, so far
	Syncs      int64    // waits for streams, so far
	Registered int64    // times that pages that are there were pinned, so far
	Launches   int64    // so far
	Grid       [7]int64 // of the last launch: blocks, threads, bytes of shared memory
	Size       int64    // of its parameters, bytes
	Params     [256]byte
}

// Reset makes a sound machine with one card and no counts. Nothing may be open.
func (f *Fake) Reset() {
	*f = Fake{Version: 12080, Cards: 1, Capability: 90, Memory: 1 << 30}
}

// Left describes what exists and should not, and what was used wrongly; empty for a
// device that was closed properly.
func (f *Fake) Left() string {
	var s string
	for _, c := range []struct {
		what string
		n    int64
	}{
		{"contexts", f.Contexts}, {"streams", f.Streams}, {"events", f.Events}, {"modules", f.Modules},
		{"blocks of memory", f.Blocks}, {"bytes", f.Bytes}, {"pinned blocks", f.Pinned},
		{"wrong uses", f.Wrong}, {"copies that keep others from the driver", f.Held}, {"copies behind kernels", f.Behind},
	} {
		if c.n != 0 {
			s += fmt.Sprintf("%d %s; ", c.n, c.what)
		}
	}
	return s
}

// LoadFake builds the fake driver in dir with the C compiler (CC, or cc) and loads it
// in the place of the real one, for the rest of the process: it is for TestMain, and
// for a test binary that opens no card. initStatus is what cuInit returns. The error is
// that of the driver where it does not start.
func LoadFake(dir string, initStatus int) (*Fake, error) {
	f, library, err := BuildFake(dir)
	if err != nil {
		return nil, err
	}
	f.Init = int64(initStatus)
	return f, driver.Open(library)
}

// BuildFake is [LoadFake] without loading the library that it makes.
func BuildFake(dir string) (f *Fake, library string, err error) {
	source, state := filepath.Join(dir, "libcuda.c"), filepath.Join(dir, "state")
	library = filepath.Join(dir, "libcuda.so")
	if err := os.WriteFile(source, fakeSource, 0o666); err != nil {
		return nil, "", err
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-pthread", "-o", library, source).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("gputest: build the fake driver: %w\n%s", err, out)
	}
	size := int(unsafe.Sizeof(Fake{}))
	if err := os.WriteFile(state, make([]byte, size), 0o666); err != nil {
		return nil, "", err
	}
	file, err := os.OpenFile(state, os.O_RDWR, 0)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	shared, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, "", fmt.Errorf("gputest: map the fake driver's state: %w", err)
	}
	f = (*Fake)(unsafe.Pointer(&shared[0]))
	f.Reset()
	return f, library, os.Setenv("PELMILL_FAKE_DRIVER", state)
}
