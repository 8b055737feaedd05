//go:build cuda && cgo

package neuquant

import (
	"slices"
	"unsafe"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// card is a lane at work for the codec.
type card struct {
	pool   *pool.Pool
	lane   *gpu.Lane
	locked bool              // problems lie in page-locked memory, from which the card reads
	train  trainer           // who trains
	note   func(what string) // told what has just ended, step by step; nil: nobody
}

// launch starts a kernel in a stream.
func launch[P any](d *card, s *gpu.Stream, kernel string, blocks [3]int, threads int, params *P) error {
	k, err := d.lane.Kernel(&cardModule, kernel)
	if err != nil {
		return err
	}
	return gpu.Launch(s, k, gpu.Grid{Blocks: blocks, Threads: [3]int{threads}}, params)
}

// mark tells that what began with the last mark has ended.
func (d *card) mark(what string) error {
	if d.note == nil {
		return nil
	}
	err := d.lane.Sync()
	d.note(what)
	return err
}

// asBytes is a list in memory, as the card, which is little-endian, reads it.
func asBytes[T uint32 | cardProblem](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// stretch is a part of a buffer on the host.
type stretch struct {
	at    int // in the buffer on the card
	bytes []byte
}

// What goes through page-locked memory at a time, and what a goroutine copies at a time.
const (
	wayBytes  = 16 << 20
	copyBytes = 256 << 10
)

// copies calls f for what lies in bytes lo to hi-1 of a buffer with the stretches list,
// which ascend: with a part of a stretch and its place behind lo. All goroutines share it.
func (d *card) copies(list []stretch, lo, hi int, f func(part []byte, at int)) {
	d.pool.Spans(hi-lo, copyBytes, func(a, b int) {
		a, b = a+lo, b+lo
		i, _ := slices.BinarySearchFunc(list, a, func(s stretch, at int) int {
			if s.at+len(s.bytes) <= at {
				return -1
			}
			return 1
		})
		for ; i < len(list) && list[i].at < b; i++ {
			s := list[i]
			from, to := max(a, s.at), min(b, s.at+len(s.bytes))
			f(s.bytes[from-s.at:to-s.at], from-lo)
		}
	})
}

// ways is page-locked memory for copies of n bytes in pieces, one of which is copied on
// the host while the other one is under way in its stream.
func (d *card) ways(n int) (w [2]*gpu.Host, err error) {
	for i := range w {
		if w[i], err = d.lane.Host(min(n, wayBytes)); err != nil {
			return w, err
		}
	}
	return w, nil
}

// upload brings the stretches to the first n bytes of b. What lies between them is
// undefined.
func (d *card) upload(b *gpu.Buffer, list []stretch, n int) error {
	if d.locked {
		for _, s := range list {
			if err := d.lane.Stream(0).Upload(b, s.at, s.bytes); err != nil {
				return err
			}
		}
		return d.follow(1, 0)
	}
	way, err := d.ways(n)
	if err != nil {
		return err
	}
	for i := 0; i*wayBytes < n; i++ {
		s, lo, hi := d.lane.Stream(i%2), i*wayBytes, min(n, (i+1)*wayBytes)
		if i >= 2 {
			if err := s.Sync(); err != nil {
				return err
			}
		}
		to := way[i%2].Bytes
		d.copies(list, lo, hi, func(part []byte, at int) { copy(to[at:], part) })
		if err := s.Upload(b, lo, to[:hi-lo]); err != nil {
			return err
		}
	}
	if err := d.follow(0, 1); err != nil {
		return err
	}
	return d.follow(1, 0)
}

// download fills the stretches from the first n bytes of b, after all that stream 0 has to
// do.
func (d *card) download(b *gpu.Buffer, list []stretch, n int) error {
	way, err := d.ways(n)
	if err != nil {
		return err
	}
	if err := d.follow(1, 0); err != nil {
		return err
	}
	pieces := (n + wayBytes - 1) / wayBytes
	for i := range pieces + 1 {
		if i < pieces {
			lo, hi := i*wayBytes, min(n, (i+1)*wayBytes)
			if err := d.lane.Stream(i%2).Download(way[i%2].Bytes[:hi-lo], b, lo); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		if err := d.lane.Stream((i - 1) % 2).Sync(); err != nil {
			return err
		}
		from := way[(i-1)%2].Bytes
		d.copies(list, (i-1)*wayBytes, min(n, i*wayBytes), func(part []byte, at int) { copy(part, from[at:]) })
	}
	return nil
}

// follow lets stream i wait for what stream j holds so far.
func (d *card) follow(i, j int) error {
	e, err := d.lane.Event()
	if err != nil {
		return err
	}
	if err := d.lane.Stream(j).Record(e); err != nil {
		return err
	}
	return d.lane.Stream(i).Wait(e)
}
