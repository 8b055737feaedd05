package neuquant

import (
	"context"
	"sync"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/internal/container"
	"github.com/pelmill/pelmill/internal/container/png"
	"github.com/pelmill/pelmill/internal/container/png/device"
)

// What a byte of the rows of a PNG file takes to inflate, in nanoseconds: on a core, and on a device, on which the files of a batch
// are inflated at the same time, each by one block of threads.
const (
	inflateCore   = 4
	inflateDevice = 12
)

// deviceDecoder decodes the files of a call with a device, which inflates and unfilters the rows of PNG files with a palette. Cores look
// colours up, and decode what a device does not take, what breaks a rule, so that they say which, and all of it where they are sooner.
type deviceDecoder struct {
	ctx   context.Context
	run   codec.Run
	cores *pool.Pool
	files [][]byte
	out   []codec.Decoded

	always bool // on the device also where the cores are sooner; for tests
}

func (d *deviceDecoder) decode() {
	streams := make([]*png.Stream, len(d.files))
	d.cores.Each(len(d.files), func(i int) { streams[i] = d.open(i) })
	all, largest := 0, 0
	var beside []int
	for i, s := range streams {
		if s == nil {
			beside = append(beside, i)
			continue
		}
		all, largest = all+s.Size(), max(largest, s.Size())
	}
	busy, _ := d.cores.Load()
	if all == 0 || !d.always && largest*inflateDevice >= all/max(1, d.cores.Size()-busy)*inflateCore {
		d.cores.Each(len(d.files), func(i int) { d.out[i] = decode(d.ctx, d.files[i], nil, codec.Uncleared) })
		return
	}
	var others sync.WaitGroup
	others.Go(func() {
		d.cores.Each(len(beside), func(j int) { d.out[beside[j]] = decode(d.ctx, d.files[beside[j]], nil, codec.Uncleared) })
	})
	defer others.Wait()
	run := d.run
	run.Alloc = nil // what is lent is for images, not for their indices
	done, err := device.Decode(d.ctx, run, streams)
	d.cores.Each(len(streams), func(i int) {
		switch s := streams[i]; {
		case s == nil:
		case done[i]:
			d.out[i] = decode(d.ctx, d.files[i], s, codec.Uncleared)
		case err != nil:
			d.out[i] = codec.Decoded{Err: err}
		default:
			d.out[i] = decode(d.ctx, d.files[i], nil, codec.Uncleared)
		}
	})
}

// open gives the rows of a file that a device is to read, or nil.
func (d *deviceDecoder) open(i int) *png.Stream {
	p, err := png.Open(d.files[i], container.Strict)
	if err != nil || p.Frames > 1 {
		return nil
	}
	s, ok := p.IndexStream()
	if !ok || !device.Takes(s) {
		return nil
	}
	return s
}
