//go:build cuda && cgo

package gpu

// Every call of gorgonia.org/cu, as functions of its package that need no lock and no
// goroutine of their own: the methods of its Ctx cost 30 microseconds each. The
// results are nil or a driver.Code.

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/pelmill/pelmill/gpu/driver"
	"gorgonia.org/cu"
)

// Handles of the driver.
type (
	cuDevice   = cu.Device
	cuContext  = cu.CUContext
	cuStream   = cu.Stream
	cuEvent    = cu.Event
	cuModule   = cu.Module
	cuFunction = cu.Function
)

// cu keeps the handles inside these to itself; each is a struct of one pointer, which
// the two arrays of negative length would refuse to compile otherwise.
var (
	_ [unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(cu.Function{})]struct{}
	_ [unsafe.Sizeof(uintptr(0)) - unsafe.Sizeof(cu.Stream{})]struct{}
)

func functionHandle(f *cuFunction) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(f)) }
func streamHandle(s *cuStream) unsafe.Pointer     { return *(*unsafe.Pointer)(unsafe.Pointer(s)) }

// code turns cu's error, whose type it does not export, into the driver's code.
func code(err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return driver.Code(v.Int())
	}
	return err
}

func deviceCount() (int, error) {
	n, err := cu.NumDevices()
	return n, code(err)
}

// Attributes by their numbers in cuda.h: cu's list is older than some.
const (
	attributeMultiprocessors = 16
	attributeMajor           = 75
	attributeMinor           = 76
	attributeSharedPerBlock  = 97 // what a block may opt in to
	eventFlags               = cu.BlockingSyncEvent
	streamFlags              = cu.NonBlocking
	contextFlags             = cu.SchedBlockingSync
)

// describe asks the driver for what [Info] holds. Names of calls go into errors.
func describe(index int) (Info, cuDevice, error) {
	i := Info{Index: index}
	failed := func(call string, err error) (Info, cuDevice, error) {
		return i, 0, driverError(index, call, "", err)
	}
	dev, err := cu.GetDevice(index)
	if err != nil {
		return failed("cuDeviceGet", code(err))
	}
	if i.Name, err = dev.Name(); err != nil {
		return failed("cuDeviceGetName", code(err))
	}
	uuid, err := dev.UUID()
	if err != nil {
		return failed("cuDeviceGetUuid", code(err))
	}
	i.UUID = "GPU-" + uuid.String()
	if i.PCI, err = driver.PCI(int(dev)); err != nil {
		return failed("cuDeviceGetPCIBusId", err)
	}
	if i.Memory, err = dev.TotalMem(); err != nil {
		return failed("cuDeviceTotalMem", code(err))
	}
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		value     *int
	}{
		{attributeMajor, &i.Major}, {attributeMinor, &i.Minor},
		{attributeMultiprocessors, &i.Multiprocessors}, {attributeSharedPerBlock, &i.SharedMemory},
	} {
		if *a.value, err = dev.Attribute(a.attribute); err != nil {
			return failed(fmt.Sprintf("cuDeviceGetAttribute %d", a.attribute), code(err))
		}
	}
	i.Driver = cudaVersion(cu.Version())
	return i, dev, nil
}

func driverVersion() int { return cu.Version() }

func retainContext(d cuDevice) (cuContext, error) {
	// Refused where another part of the process holds the context already: then
	// waiting threads spin, which is slower and not wrong.
	_ = d.SetPrimaryCtxFlags(contextFlags)
	held := driver.Held(int(d))
	ctx, err := d.RetainPrimaryCtx()
	if held {
		_ = d.ReleasePrimaryCtx() // a reference too many
	}
	return ctx, code(err)
}

func releaseContext(d cuDevice) error       { return code(d.ReleasePrimaryCtx()) }
func setContext(ctx cuContext) error        { return code(cu.SetCurrentContext(ctx)) }
func destroyStream(s cuStream) error        { return code(s.Destroy()) }
func restsStream(s cuStream) bool           { return s.Query() == nil }
func waitStream(s cuStream) error           { return code(s.Synchronize()) }
func makeEvent() (cuEvent, error)           { e, err := cu.MakeEvent(eventFlags); return e, code(err) }
func destroyEvent(e cuEvent) error          { return code(cu.DestroyEvent(&e)) }
func record(e cuEvent, s cuStream) error    { return code(e.Record(s)) }
func waitEvent(s cuStream, e cuEvent) error { return code(s.Wait(e, 0)) }
func happened(e cuEvent) bool               { return e.Query() == nil }
func awaitEvent(e cuEvent) error            { return code(e.Synchronize()) }

// firstPriority is beyond any that cards know: the driver takes the first that there is.
const firstPriority = -1 << 10

// makeStream makes a stream. Blocks of kernels in one that comes first are started before those of others.
func makeStream(first bool) (s cuStream, err error) {
	if first {
		s, err = cu.MakeStreamWithPriority(firstPriority, streamFlags)
	} else {
		s, err = cu.MakeStream(streamFlags)
	}
	return s, code(err)
}

func elapsed(a, b cuEvent) (milliseconds float64, err error) {
	ms, err := a.Elapsed(b)
	return ms, code(err)
}

func memoryInfo() (free int64, err error) {
	free, _, err = cu.MemInfo()
	return free, code(err)
}

func memAlloc(n int) (Ptr, error) {
	p, err := cu.MemAlloc(int64(n))
	return Ptr(p), code(err)
}

func memFree(p Ptr) error                        { return code(cu.MemFree(cu.DevicePtr(p))) }
func hostFree(p unsafe.Pointer) error            { return code(cu.MemFreeHost(p)) }
func hostAlloc(n int) (unsafe.Pointer, error)    { return driver.HostAlloc(n) }
func hostRegister(p unsafe.Pointer, n int) error { return driver.HostRegister(p, n) }
func hostUnregister(p unsafe.Pointer) error      { return driver.HostUnregister(p) }

func copyUp(dst Ptr, src []byte, s cuStream) error {
	return code(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(&src[0]), int64(len(src)), s))
}

func copyDown(dst []byte, src Ptr, s cuStream) error {
	return code(cu.MemcpyDtoHAsync(unsafe.Pointer(&dst[0]), cu.DevicePtr(src), int64(len(dst)), s))
}

func copyOnDevice(dst, src Ptr, n int, s cuStream) error {
	return code(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), int64(n), s))
}

func fill(dst Ptr, value byte, n int, s cuStream) error {
	return code(cu.MemsetD8Async(cu.DevicePtr(dst), value, int64(n), s))
}

func loadModule(ptx string) (cuModule, error) {
	m, err := cu.LoadData(ptx)
	return m, code(err)
}

func unloadModule(m cuModule) error { return code(m.Unload()) }

func findFunction(m cuModule, name string) (cuFunction, error) {
	f, err := m.Function(name)
	return f, code(err)
}

func occupancy(f cuFunction, threads, shared int) (int, error) {
	n, err := f.MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
	return n, code(err)
}
