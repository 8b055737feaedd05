//go:build cuda && cgo

package pcwt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/internal/wavelet"
	"github.com/pelmill/pelmill/codecs/pcwt/internal/wavelettree"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// randomPicture is noise, a slope or few values, of any depth.
func randomPicture(r *rand.Rand) picture {
	side := func() int { return 1 + r.IntN(1+r.IntN(300)) }
	p := picture{width: side(), height: side(), channels: 1 + r.IntN(4), bits: 1 + r.IntN(16), signed: r.IntN(2) == 0}
	p.colour = p.channels >= 3 && r.IntN(3) > 0
	bytesOf := 1 + (p.bits-1)/8
	p.pix = make([]byte, bytesOf*p.pixels()*p.channels)
	kind, a, b := r.IntN(4), r.IntN(5), r.IntN(5)
	half := 0
	if p.signed {
		half = 1 << (p.bits - 1)
	}
	for i := range p.pixels() * p.channels {
		x, y := i/p.channels%p.width, i/p.channels/p.width
		v := 0
		switch kind {
		case 0:
			v = r.IntN(1 << p.bits)
		case 1:
			v = a*x + b*y + 40*(i%p.channels) + r.IntN(8)
		case 2:
			v = 85 * r.IntN(4)
		case 3:
			v = 255 * (x / 8 % 2)
		}
		v = v%(1<<p.bits) - half
		if bytesOf == 1 {
			p.pix[i] = byte(v)
		} else {
			binary.LittleEndian.PutUint16(p.pix[2*i:], uint16(v))
		}
	}
	return p
}

// planesOf is pcwt_planes, sample by sample.
func planesOf(p *picture) []wavelet.Plane[int32] {
	planes := make([]wavelet.Plane[int32], p.channels)
	for c := range planes {
		planes[c] = wavelet.NewPlane[int32](p.width, p.height)
	}
	for i := range p.pixels() {
		var v [4]int32
		for c := range p.channels {
			at := i*p.channels + c
			switch {
			case p.bits <= 8 && p.signed:
				v[c] = int32(int8(p.pix[at]))
			case p.bits <= 8:
				v[c] = int32(p.pix[at]) - 1<<(p.bits-1)
			case p.signed:
				v[c] = int32(int16(binary.LittleEndian.Uint16(p.pix[2*at:])))
			default:
				v[c] = int32(binary.LittleEndian.Uint16(p.pix[2*at:])) - 1<<(p.bits-1)
			}
		}
		if p.colour {
			v[0], v[1], v[2] = (v[0]+2*v[1]+v[2])>>2, v[2]-v[1], v[0]-v[1]
		}
		for c := range planes {
			planes[c].Samples[i] = v[c]
		}
	}
	return planes
}

func randomParams(r *rand.Rand, p *picture) wavelettree.Params {
	params := wavelettree.DefaultParams(p.width, p.height)
	if r.IntN(2) == 0 {
		params = wavelettree.Params{Levels: 1 + r.IntN(8), GroupRows: 1 + r.IntN(40), GroupColumns: 1 + r.IntN(40)}
	}
	params.ZeroSigns = r.IntN(2) == 0
	return params
}

// The stages of wavelet trees give, after every stage, what they give in Go, and the files decode to the pictures on the device.
// The message names the first stage that differs.
func TestTreesInLockstep(t *testing.T) {
	dev := gputest.Device(t, nil)
	batches := 200
	if testing.Short() {
		batches = 10 // under compute-sanitizer a kernel takes a hundred times as long
	}
	for seed := range batches {
		err := dev.Do(context.Background(), func(l *gpu.Lane) error {
			return treesInLockstep(newDeviceSteps(l, pool.New()), rand.New(rand.NewPCG(uint64(seed), 12)))
		})
		if err != nil {
			t.Fatalf("batch %d: %v", seed, err)
		}
	}
}

func treesInLockstep(d *deviceSteps, r *rand.Rand) error {
	var pictures []picture
	var params []wavelettree.Params
	for range 1 + r.IntN(6) {
		p := randomPicture(r)
		pictures, params = append(pictures, p), append(params, randomParams(r, &p))
	}
	b, err := d.newTreeBatch(pictures, params)
	if err != nil {
		return err
	}
	if err := d.makePlanes(b.images); err != nil {
		return err
	}
	for i := range b.planes {
		if err := planeInLockstep(b, i, &pictures[b.planes[i].picture]); err != nil {
			return err
		}
	}
	if err := b.analyse(); err != nil {
		return err
	}
	for i := range b.planes {
		if err := treeInLockstep(b, i, &pictures[b.planes[i].picture]); err != nil {
			return fmt.Errorf("%v: %w", b.layouts[b.planes[i].picture].Params, err)
		}
	}
	return filesInLockstep(d, pictures, params)
}

// at is n numbers of device memory.
func at[T int8 | uint8 | int16 | uint16 | int32 | uint32](d *deviceSteps, p gpu.Ptr, of *gpu.Buffer, n int) ([]T, error) {
	out := make([]T, n)
	if err := d.stream.Download(gpu.Bytes(out), of, int(p-of.Ptr)); err != nil {
		return nil, err
	}
	return out, d.stream.Sync()
}

func differ[T comparable](step string, got, want []T) error {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("%s: value %d of %d is %v, want %v", step, i, len(got), got[i], want[i])
		}
	}
	return nil
}

func planeInLockstep(b *treeBatch, i int, p *picture) error {
	t := &b.planes[i]
	got, err := at[int32](b.deviceSteps, t.low[0], b.images.planes, p.pixels())
	if err != nil {
		return err
	}
	return differ("planes", got, planesOf(p)[t.channel].Samples)
}

func treeInLockstep(b *treeBatch, i int, p *picture) error {
	t := &b.planes[i]
	l := b.layouts[t.picture]
	want := wavelettree.NewTree(l)
	want.Transform(pool.New(), planesOf(p)[t.channel])
	want.Quantise(pool.New())
	want.Search()
	for n := range l.Bands {
		band := &l.Bands[n]
		got, err := at[int32](b.deviceSteps, t.coefficients+gpu.Ptr(4*band.At), b.memory, 4*band.Columns*band.Rows)
		if err != nil {
			return err
		}
		stride := 2 * band.Columns
		for y := range band.Height { // what elements add is not written
			at := band.At + y*stride
			if err := differ(fmt.Sprintf("transform, band %d, row %d", n, y), got[y*stride:][:band.Width], want.Coefficients[at:][:band.Width]); err != nil {
				return err
			}
		}
	}
	mqd, err := at[int8](b.deviceSteps, t.mqd, b.memory, l.Elements)
	if err != nil {
		return err
	}
	if err := differ("quantise", mqd, want.MQD); err != nil {
		return err
	}
	qmax, err := at[int32](b.deviceSteps, t.qmax, b.qmax, 1)
	if err != nil {
		return err
	}
	return differ("search", qmax, []int32{int32(want.Qmax)})
}

func encodeTrees(d *deviceSteps, pictures []picture, params []wavelettree.Params) (files [][]byte, err error) {
	_, err = d.encodeTrees(context.Background(), pictures, params, func(sizes []int) [][]byte {
		for _, n := range sizes {
			files = append(files, make([]byte, n))
		}
		return files
	})
	return files, err
}

func filesInLockstep(d *deviceSteps, pictures []picture, params []wavelettree.Params) error {
	files, err := encodeTrees(d, pictures, params)
	if err != nil {
		return err
	}
	for i := range pictures {
		want := wavelettree.Encode(pool.New(), planesOf(&pictures[i]), params[i])
		if !bytes.Equal(files[i], want) {
			return fmt.Errorf("groups: picture %d has other bytes, %d of them, want %d", i, len(files[i]), len(want))
		}
	}
	back, err := d.decodeTrees(context.Background(), pictures, files)
	if err != nil {
		return err
	}
	for i := range pictures {
		if !bytes.Equal(back.samples[i], pictures[i].pix) {
			return fmt.Errorf("decoding: picture %d comes back changed", i)
		}
	}
	return nil
}

// Damaged files fail on the device as they do in Go, each for itself.
func TestDamagedTreesOnTheDevice(t *testing.T) {
	dev := gputest.Device(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	var pictures []picture
	var params []wavelettree.Params
	for range 20 {
		p := randomPicture(r)
		pictures, params = append(pictures, p), append(params, randomParams(r, &p))
	}
	err := dev.Do(context.Background(), func(l *gpu.Lane) error {
		d := newDeviceSteps(l, pool.New())
		files, err := encodeTrees(d, pictures, params)
		if err != nil {
			return err
		}
		for range 50 {
			damaged := slices.Clone(files)
			for i := range damaged {
				damaged[i] = bytes.Clone(damaged[i])
				if i%2 == 0 {
					damaged[i][r.IntN(len(damaged[i]))] ^= 1 << r.IntN(8)
				}
			}
			back, err := d.decodeTrees(context.Background(), pictures, damaged)
			if err != nil {
				return err
			}
			for i := range pictures {
				if err := sameDamage(&pictures[i], damaged[i], back.samples[i] == nil); err != nil {
					return fmt.Errorf("picture %d: %w", i, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sameDamage compares whether a file counts as damaged with Go, where a sample out of its range is an error of the codec.
func sameDamage(shape *picture, data []byte, damaged bool) error {
	planes := planesOf(shape)
	err := wavelettree.Decode(pool.New(), data, shape.width, shape.height, planes, 0)
	if err == nil {
		m := raster.Make(raster.Shape{Width: shape.width, Height: shape.height, Depth: 1, Channels: shape.channels, Bits: shape.bits, Signed: shape.signed})
		if !storePlanes(pool.New(), m, 0, 0, shape.colour, planes) {
			err = errors.New("a sample is out of its range")
		}
	}
	if (err != nil) != damaged {
		return fmt.Errorf("damaged %t, in Go: %v", damaged, err)
	}
	return nil
}
