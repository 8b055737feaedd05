//go:build cuda && cgo

package driver

// #cgo CFLAGS: -I${SRCDIR} -O2
// #cgo LDFLAGS: -L${SRCDIR}/lib -Wl,--as-needed -ldl
// #include <cuda.h>
// #include "table.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"unsafe"
)

// What the driver is asked for by variables of the environment that are not set: CUDA_MODULE_LOADING and CUDA_DEVICE_MAX_COPY_CONNECTIONS.
const (
	ModuleLoading   = C.PELMILL_MODULE_LOADING
	CopyConnections = C.PELMILL_COPY_CONNECTIONS
)

// Library is the driver's name in every program; tests load a driver of their own.
const Library = "libcuda.so.1"

// ErrNoLibrary says that the driver is not installed.
var ErrNoLibrary = errors.New("NVIDIA's driver is not installed")

// once holds what the one call that loaded a library came to: the table belongs to
// the process, as cu's calls through it do.
var once struct {
	sync.Mutex
	done  bool
	err   error
	first int // see First
}

// visible is the variable of the environment that says which cards the driver shows, and in which order.
const visible = "CUDA_VISIBLE_DEVICES"

// ShowOnly has the driver show one card alone, by its number among all of them. It then starts sooner: it takes 0.1 s for each card
// that it shows. ShowOnly has no effect once the driver has been begun or [Open] called, or where the environment says which cards there are.
func ShowOnly(card int) {
	once.Lock()
	defer once.Unlock()
	if _, chosen := os.LookupEnv(visible); chosen || once.done || Begun() {
		return
	}
	if os.Setenv(visible, strconv.Itoa(card)) == nil {
		once.first = card
	}
}

// First is the number among all cards of the first one that the driver shows: the card of [ShowOnly] where that had an effect, else 0.
func First() int {
	once.Lock()
	defer once.Unlock()
	return once.first
}

// Begun reports whether a program had the driver begin before main, by pelmill_begin of table.h: with the variables of the environment that
// there were then.
func Begun() bool { return C.pelmill_begun() != 0 }

// Held waits until the driver, if it was begun before main, has made the primary context of a device, and gives the caller the reference to
// that: true the first time, if there is one.
func Held(device int) bool { return C.pelmill_held(C.int(device)) != 0 }

// Open loads the library, by name through the system's search path or by its path,
// and initialises the driver. Only the first call in a process does; all later ones
// return its result. The error wraps [ErrNoLibrary] or is a [Code].
func Open(library string) error {
	once.Lock()
	defer once.Unlock()
	if !once.done {
		once.done, once.err = true, open(library)
	}
	return once.err
}

func open(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var text [256]C.char
	switch status := C.pelmill_open(name, &text[0], C.size_t(len(text))); status {
	case 0:
		return nil
	case C.PELMILL_NO_LIBRARY:
		return fmt.Errorf("%w: %s", ErrNoLibrary, C.GoString(&text[0]))
	default:
		return Code(status)
	}
}

// Code is a result of the driver other than success.
type Code int

// NoDevice says that the driver works and shows no card.
const NoDevice Code = C.CUDA_ERROR_NO_DEVICE

// Error is the driver's name of the code, or its number where the driver has none.
func (c Code) Error() string {
	var name *C.char
	if C.cuGetErrorName(C.CUresult(c), &name) == C.CUDA_SUCCESS && name != nil {
		return C.GoString(name)
	}
	return fmt.Sprintf("CUDA error %d", int(c))
}

func result(status C.CUresult) error {
	if status == C.CUDA_SUCCESS {
		return nil
	}
	return Code(status)
}

// HostAlloc returns n bytes of pinned memory that every context may copy from
// and to. cu's MemFreeHost frees it. A context must be current.
func HostAlloc(n int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := result(C.cuMemHostAlloc(&p, C.size_t(n), C.CU_MEMHOSTALLOC_PORTABLE))
	return p, err
}

// HostRegister pins n bytes of memory that the caller has mapped, so that every context
// may copy from and to it, until HostUnregister. A context must be current.
func HostRegister(p unsafe.Pointer, n int) error {
	return result(C.cuMemHostRegister(p, C.size_t(n), C.CU_MEMHOSTREGISTER_PORTABLE))
}

// HostUnregister ends what HostRegister began.
func HostUnregister(p unsafe.Pointer) error { return result(C.cuMemHostUnregister(p)) }

// SetMaxShared lets the function use up to n bytes of dynamic shared memory, which
// is needed above 48 KiB.
func SetMaxShared(function unsafe.Pointer, n int) error {
	return result(C.cuFuncSetAttribute(C.CUfunction(function), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(n)))
}

// PCI is the address of a device on the bus, as in "0000:3b:00.0".
func PCI(device int) (string, error) {
	var text [32]C.char
	err := result(C.cuDeviceGetPCIBusId(&text[0], C.int(len(text)), C.CUdevice(device)))
	return C.GoString(&text[0]), err
}

// Launch starts a kernel. size is grid x, y, z, then block x, y, z; shared is in
// bytes; params are bytes in the layout of the kernel's parameter list and may be
// reused at once.
func Launch(function, stream unsafe.Pointer, size [6]uint32, shared int, params unsafe.Pointer, bytes int) error {
	return result(C.CUresult(C.pelmill_launch(function, (*C.uint)(&size[0]), C.uint(shared), stream, params, C.size_t(bytes))))
}
