//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
)

// Parameters of the kernels of selftest.cu.
type (
	reduceParams struct {
		sums, leasts, in Ptr
		n                uint32
	}
	scanParams struct {
		out, state, in Ptr
		n              uint32
	}
	packParams struct {
		low, high, values, counts, at Ptr
		words                         uint64
		n                             uint32
	}
	unpackParams struct {
		fromLow, fromHigh, low, high, counts, at Ptr
		words                                    uint64
		n                                        uint32
	}
)

const selfTestBlock = 256 // threads

// SelfTest runs every helper of include/ on each card, on sizes around those of warps,
// blocks and tiles, and compares the results with the same in Go.
func (d *Device) SelfTest(ctx context.Context) error {
	if err := d.usable(ctx, d.Opened, "self-test of"); err != nil {
		return err
	}
	return d.onEach(ctx, func(l *Lane) error {
		for _, n := range []int{1, 31, 32, 33, 255, 256, 257, 8191, 8193, 300_001} {
			for _, test := range []func(*Lane, int) error{selfTestReduce, selfTestScan, selfTestBits} {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				if err := test(l, n); err != nil {
					return fmt.Errorf("gpu: self-test on card %d, %d elements: %w", l.card.Index, n, err)
				}
			}
		}
		return nil
	})
}

// onEach runs f once on every card, one after the other.
func (d *Device) onEach(ctx context.Context, f func(*Lane) error) error {
	for _, c := range d.cards {
		one, err := open(c.Index, &Options{Lanes: 1, Pinned: d.opts.Pinned, Memory: d.opts.Memory, Hang: d.opts.Hang, Apart: d.opts.Apart})
		if err != nil {
			if errors.Is(err, ErrFatal) {
				d.poison(err)
			}
			return err
		}
		err = one.Do(ctx, f)
		if errors.Is(err, ErrFatal) {
			d.poison(err)
			return err
		}
		if err := errors.Join(err, one.Close()); err != nil {
			return err
		}
	}
	return nil
}

// pseudo is a generator of test data, xorshift32: the same on every machine.
type pseudo uint32

func (p *pseudo) next() uint32 {
	*p ^= *p << 13
	*p ^= *p >> 17
	*p ^= *p << 5
	return uint32(*p)
}

// bytesOf is a slice of numbers as memory.
func bytesOf[T uint32 | uint64](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// upload returns device memory with the content of s.
func upload[T uint32 | uint64](l *Lane, s []T) (*Buffer, error) {
	b, err := l.Device(len(bytesOf(s)))
	if err != nil {
		return nil, err
	}
	return b, l.Stream(0).Upload(b, 0, bytesOf(s))
}

// download returns the content of b from its start.
func download[T uint32 | uint64](l *Lane, b *Buffer, n int) ([]T, error) {
	s := make([]T, n)
	if err := l.Stream(0).Download(bytesOf(s), b, 0); err != nil {
		return nil, err
	}
	return s, l.Stream(0).Sync()
}

// filled returns device memory of n bytes, all of the value.
func filled(l *Lane, n int, value byte) (*Buffer, error) {
	b, err := l.Device(n)
	if err != nil {
		return nil, err
	}
	return b, l.Stream(0).Fill(b, 0, n, value)
}

func run[P any](l *Lane, kernel string, n int, p *P) error {
	k, err := l.Kernel(&selfTestModule, kernel)
	if err != nil {
		return err
	}
	g := Grid{Blocks: [3]int{(n + selfTestBlock - 1) / selfTestBlock}, Threads: [3]int{selfTestBlock}}
	return Launch(l.Stream(0), k, g, p)
}

// try returns what f does; after a first error in *err nothing runs any more.
func try[T any](err *error, f func() (T, error)) (v T) {
	if *err == nil {
		v, *err = f()
	}
	return v
}

func selfTestReduce(l *Lane, n int) error {
	random, in := pseudo(n), make([]uint32, n)
	blocks := (n + selfTestBlock - 1) / selfTestBlock
	wantSums, wantLeasts := make([]uint64, blocks), slices.Repeat([]uint32{^uint32(0)}, blocks)
	for i := range in {
		in[i] = random.next()
		b := i / selfTestBlock
		wantSums[b] += uint64(in[i])
		wantLeasts[b] = min(wantLeasts[b], in[i])
	}
	var err error
	dIn := try(&err, func() (*Buffer, error) { return upload(l, in) })
	sums := try(&err, func() (*Buffer, error) { return filled(l, 8*blocks, 0xaa) })
	leasts := try(&err, func() (*Buffer, error) { return filled(l, 4*blocks, 0xaa) })
	if err != nil {
		return err
	}
	if err := run(l, "gpu_reduce", n, &reduceParams{sums.Ptr, leasts.Ptr, dIn.Ptr, uint32(n)}); err != nil {
		return err
	}
	gotSums := try(&err, func() ([]uint64, error) { return download[uint64](l, sums, blocks) })
	gotLeasts := try(&err, func() ([]uint32, error) { return download[uint32](l, leasts, blocks) })
	return errors.Join(err, same("gpu_reduce, sums", gotSums, wantSums), same("gpu_reduce, least", gotLeasts, wantLeasts))
}

func same[T uint32 | uint64](what string, got, want []T) error {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s: element %d is %d, want %d", what, i, got[i], want[i])
		}
	}
	return nil
}

func selfTestScan(l *Lane, n int) error {
	random, in, want := pseudo(n), make([]uint32, n), make([]uint64, n)
	var sum uint64
	for i := range in {
		in[i], want[i] = random.next(), sum
		sum += uint64(in[i])
	}
	blocks := (n + selfTestBlock - 1) / selfTestBlock
	var err error
	dIn := try(&err, func() (*Buffer, error) { return upload(l, in) })
	out := try(&err, func() (*Buffer, error) { return filled(l, 8*n, 0xaa) })
	state := try(&err, func() (*Buffer, error) { return filled(l, 8*(1+blocks), 0) })
	if err != nil {
		return err
	}
	if err := run(l, "gpu_scan", n, &scanParams{out.Ptr, state.Ptr, dIn.Ptr, uint32(n)}); err != nil {
		return err
	}
	got := try(&err, func() ([]uint64, error) { return download[uint64](l, out, n) })
	return errors.Join(err, same("gpu_scan", got, want))
}

// selfTestBits writes n values of 0 to 32 bits without gaps and reads them back. The
// last word is cut off, so that guards are tried too.
func selfTestBits(l *Lane, n int) error {
	random := pseudo(n)
	values, counts, at := make([]uint32, n), make([]uint32, n), make([]uint64, n)
	var end uint64
	for i := range values {
		values[i], counts[i], at[i] = random.next(), random.next()%33, end
		end += uint64(counts[i])
	}
	words := int(end/32) + 1
	low, high := packInGo(values, counts, at, words)
	var err error
	dValues := try(&err, func() (*Buffer, error) { return upload(l, values) })
	dCounts := try(&err, func() (*Buffer, error) { return upload(l, counts) })
	dAt := try(&err, func() (*Buffer, error) { return upload(l, at) })
	dLow := try(&err, func() (*Buffer, error) { return filled(l, 4*words+4, 0) })
	dHigh := try(&err, func() (*Buffer, error) { return filled(l, 4*words+4, 0) })
	fromLow := try(&err, func() (*Buffer, error) { return filled(l, 4*n, 0xaa) })
	fromHigh := try(&err, func() (*Buffer, error) { return filled(l, 4*n, 0xaa) })
	if err != nil {
		return err
	}
	fit := uint64(words - 1) // what the kernels may touch
	err = run(l, "gpu_pack", n, &packParams{dLow.Ptr, dHigh.Ptr, dValues.Ptr, dCounts.Ptr, dAt.Ptr, fit, uint32(n)})
	if err == nil {
		err = run(l, "gpu_unpack", n, &unpackParams{fromLow.Ptr, fromHigh.Ptr, dLow.Ptr, dHigh.Ptr, dCounts.Ptr, dAt.Ptr, fit, uint32(n)})
	}
	gotLow := try(&err, func() ([]uint32, error) { return download[uint32](l, dLow, words+1) })
	gotHigh := try(&err, func() ([]uint32, error) { return download[uint32](l, dHigh, words+1) })
	backLow := try(&err, func() ([]uint32, error) { return download[uint32](l, fromLow, n) })
	backHigh := try(&err, func() ([]uint32, error) { return download[uint32](l, fromHigh, n) })
	if err != nil {
		return err
	}
	low, high = append(low[:fit], 0, 0), append(high[:fit], 0, 0)
	wantLow, wantHigh := make([]uint32, n), make([]uint32, n)
	for i := range values {
		for b := range uint64(counts[i]) {
			bit := at[i] + b
			wantLow[i] |= low[bit/32] >> (bit % 32) & 1 << b
			wantHigh[i] = wantHigh[i]<<1 | bits.ReverseBytes32(high[bit/32])>>(31-bit%32)&1
		}
	}
	return errors.Join(same("gpu_pack, low order", gotLow, low), same("gpu_pack, high order", gotHigh, high),
		same("gpu_unpack, low order", backLow, wantLow), same("gpu_unpack, high order", backHigh, wantHigh))
}

// packInGo writes bit after bit.
func packInGo(values, counts []uint32, at []uint64, words int) (low, high []uint32) {
	low, high = make([]uint32, words), make([]uint32, words)
	for i, v := range values {
		for b := range uint64(counts[i]) {
			bit := at[i] + b
			low[bit/32] |= v >> b & 1 << (bit % 32)
			high[bit/32] |= bits.ReverseBytes32(v >> (uint64(counts[i]) - 1 - b) & 1 << (31 - bit%32))
		}
	}
	return low, high
}
