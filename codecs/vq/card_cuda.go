//go:build cuda && cgo

package vq

import "github.com/pelmill/pelmill/gpu"

const cardThreads = 256 // of a block of threads

// launch starts a kernel with at least the given number of threads.
func launch[P any](d *card, kernel string, threads int, params *P) error {
	return launchGrid(d, kernel, gpu.Grid{Blocks: [3]int{(threads + cardThreads - 1) / cardThreads}}, params)
}

func launchGrid[P any](d *card, kernel string, g gpu.Grid, params *P) error {
	k, err := d.lane.Kernel(d.module, kernel)
	if err != nil {
		return err
	}
	if g.Threads[0] == 0 {
		g.Threads[0] = cardThreads
	}
	return gpu.Launch(d.stream, k, g, params)
}

// upload brings bytes to the card.
func (d *card) upload(b []byte) (*gpu.Buffer, error) {
	to, err := d.lane.Device(len(b))
	if err != nil {
		return nil, err
	}
	return to, d.stream.Upload(to, 0, b)
}

// zeros is n bytes of zeros on the card.
func (d *card) zeros(n int) (*gpu.Buffer, error) {
	b, err := d.lane.Device(n)
	if err != nil {
		return nil, err
	}
	return b, d.stream.Fill(b, 0, n, 0)
}

// download brings n bytes of b to the host and waits for them.
func (d *card) download(b *gpu.Buffer, n int) ([]byte, error) {
	out := make([]byte, n)
	return out, d.fetch(out, b)
}

// fetchBytes is what fetch copies at a time.
const fetchBytes = 4 << 20

// fetch fills dst from b and waits for it. The bytes go through page-locked memory,
// several times as fast as without: one piece is copied on while the next one comes,
// in the other stream.
func (d *card) fetch(dst []byte, b *gpu.Buffer) error {
	size := min(len(dst), fetchBytes)
	pieces := (len(dst) + size - 1) / size
	var way [2]*gpu.Host
	for i := range min(pieces, 2) {
		var err error
		if way[i], err = d.lane.Host(size); err != nil {
			return err
		}
		defer way[i].Free()
	}
	if pieces > 1 {
		made, err := d.lane.Event()
		if err != nil {
			return err
		}
		defer made.Free()
		if err := d.stream.Record(made); err != nil {
			return err
		}
		if err := d.lane.Stream(1).Wait(made); err != nil {
			return err
		}
	}
	for i := range pieces + 1 {
		if i < pieces {
			part := way[i%2].Bytes[:min(size, len(dst)-i*size)]
			if err := d.lane.Stream(i%2).Download(part, b, i*size); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		if err := d.lane.Stream((i - 1) % 2).Sync(); err != nil {
			return err
		}
		to, from := dst[(i-1)*size:min(len(dst), i*size)], way[(i-1)%2].Bytes
		d.pool.Spans(len(to), copyBytes, func(lo, hi int) { copy(to[lo:hi], from[lo:hi]) })
	}
	return nil
}

// copyBytes is what a goroutine copies at a time.
const copyBytes = 256 << 10
