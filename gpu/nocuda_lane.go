//go:build !cuda || !cgo

package gpu

import "time"

// Builds without CUDA have no lanes. Their types are here so that what runs on lanes
// compiles in every build; none of the methods is ever called.
type (
	// Lane is a thread of a device with memory and streams of its own.
	Lane struct{}
	// Stream is a queue of copies and kernels.
	Stream struct{ lane *Lane }
	// Buffer is device memory of a lane.
	Buffer struct {
		Ptr  Ptr // address
		Size int // bytes
	}
	// Host is pinned host memory.
	Host struct{ Bytes []byte }
	// Event is a point in a stream.
	Event struct{}
	// Kernel is a function of a module.
	Kernel struct{}
)

func (*Lane) Card() Info                              { return Info{} }
func (*Lane) Budget() int64                           { return 0 }
func (*Lane) Stream(int) *Stream                      { return nil }
func (*Lane) Sync() error                             { return errNotBuilt }
func (*Lane) Device(int) (*Buffer, error)             { return nil, errNotBuilt }
func (*Lane) Host(int) (*Host, error)                 { return nil, errNotBuilt }
func (*Lane) Event() (*Event, error)                  { return nil, errNotBuilt }
func (*Lane) Kernel(*Module, string) (*Kernel, error) { return nil, errNotBuilt }

func (*Lane) Pinned([]byte) bool { return false }

func (*Stream) Upload(*Buffer, int, []byte) error          { return errNotBuilt }
func (*Stream) Download([]byte, *Buffer, int) error        { return errNotBuilt }
func (*Stream) UploadParts(*Buffer, []Part) error          { return errNotBuilt }
func (*Stream) DownloadParts([]Part, *Buffer) error        { return errNotBuilt }
func (*Stream) Copy(*Buffer, int, *Buffer, int, int) error { return errNotBuilt }
func (*Stream) Fill(*Buffer, int, int, byte) error         { return errNotBuilt }
func (*Stream) Sync() error                                { return errNotBuilt }
func (*Stream) Record(*Event) error                        { return errNotBuilt }
func (*Stream) Wait(*Event) error                          { return errNotBuilt }
func (*Stream) Time(func() error) (time.Duration, error)   { return 0, errNotBuilt }

func (*Buffer) Free()      {}
func (*Host) Free()        {}
func (*Event) Sync() error { return errNotBuilt }
func (*Event) Free()       {}

// Launch fails in builds without CUDA.
func Launch[P any](*Stream, *Kernel, Grid, *P) error { return errNotBuilt }
