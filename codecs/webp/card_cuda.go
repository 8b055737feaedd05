//go:build cuda && cgo

package webp

import (
	"context"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// Threads of a block.
const (
	cardThreads = 256
	bigBlock    = 1024 // where a block has an image
)

// deviceLane is a lane at work for the codec.
type deviceLane struct {
	pool    *pool.Pool
	lane    *gpu.Lane
	stream  *gpu.Stream
	note    func(what string) // see batch
	kernels bool              // see batch
}

// onDevice runs f for the items 0 to n-1 on dev, in parts where they do not fit, and
// returns those that do not even fit alone.
func onDevice(ctx context.Context, dev *gpu.Device, c *pool.Pool, n int, f func(g batched, from, to int) error) (left []int, err error) {
	return dev.Split(ctx, n, func(l *gpu.Lane, from, to int) error {
		return f(&deviceLane{pool: c, lane: l, stream: l.Stream(0)}, from, to)
	})
}

// launchKernel starts a kernel for the given number of images, with at least as many threads
// for each, in blocks of block.
func launchKernel[P any](d *deviceLane, kernel string, threads, block, images int, params *P) error {
	k, err := d.lane.Kernel(&module, kernel)
	if err != nil {
		return err
	}
	return gpu.Launch(d.stream, k, gpu.Grid{
		Blocks:  [3]int{max(1, (threads+block-1)/block), images},
		Threads: [3]int{block},
	}, params)
}

// arena is a buffer on the card and one of its size on the host, page-locked, that grow
// with what is put into them.
type arena struct {
	device *gpu.Buffer
	host   *gpu.Host
}

// room makes both hold n bytes. What they held before is lost.
func (a *arena) room(l *gpu.Lane, n int) error {
	if n == 0 || a.device != nil && a.device.Size >= n {
		return nil
	}
	if a.device != nil {
		a.device.Free()
		a.host.Free()
	}
	var err error
	if a.device, err = l.Device(n); err != nil {
		a.device = nil
		return err
	}
	a.host, err = l.Host(n)
	return err
}

// asBytes is a list in memory, as the card, which is little-endian, reads it.
func asBytes[T uint16 | uint32 | deviceSlot](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// copyBytes is what a goroutine copies at a time.
const copyBytes = 256 << 10

// copy copies as much as fits into dst, or src if that is less.
func (d *deviceLane) copy(dst, src []byte) {
	d.pool.Spans(min(len(dst), len(src)), copyBytes, func(lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })
}
