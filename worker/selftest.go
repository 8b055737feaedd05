package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/raster"
)

// selfTestTime bounds a self-test.
const selfTestTime = time.Minute

// selfTestPSNR is what a lossy codec must reach on a smooth image with its
// default options, in dB. It separates a codec that works from one that does not, not
// a good one from a bad one.
const selfTestPSNR = 15

// selfTestCores is the part of the cores that a self-test with a device keeps from images; of few cores none.
const selfTestCores = 4

// selfTestBatch is how many images of a kind a device encodes at once in a self-test.
const selfTestBatch = 12

// SelfTest encodes and decodes small known images of every kind that the codec
// takes, with its default options, on the CPU and on dev. The error says what
// differs. It does not end before the codec does, or a minute has passed.
func SelfTest(ctx context.Context, c codec.Codec, dev *gpu.Device) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestTime)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("it panicked: %v", v)
			}
		}()
		done <- selfTest(ctx, c, dev)
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("self-test of codec %s: %w", c.Info().Name, err)
	}
	return nil
}

// keptCodecs is more than there are.
const keptCodecs = 64

// errUnfit means that a codec has failed its self-test: this process must do nothing with it.
var errUnfit = errors.New("the codec does not work here")

// test runs the self-tests of codecs side by side, each once, as soon as the device is open.
func (w *Worker) test(ctx context.Context, all ...codec.Codec) error {
	errs := make([]error, len(all))
	var tests sync.WaitGroup
	for i, c := range all {
		tests.Go(func() {
			_, errs[i] = w.works.get(ctx, c.Info().Name, func(ctx context.Context) (bool, error) {
				w.testing.Add(1)
				defer w.testing.Add(-1)
				if err := w.opened(ctx); err != nil {
					return false, err
				}
				if w.device != nil {
					// The results of all jobs wait for it, and it is many goroutines that wait for each other and for the device: beside cores
					// that all read, each would wait for Go's scheduler.
					release, err := w.cores.Reserve(ctx, w.cores.Size()/selfTestCores)
					if err != nil {
						return false, err
					}
					defer release()
				}
				err := SelfTest(ctx, c, w.device)
				return err == nil, err
			})
		})
	}
	tests.Wait()
	return cmp.Or(errs...)
}

// codecs are those that a job may need.
func (k *jobContext) codecs() (all []codec.Codec) {
	for _, one := range append(slices.Collect(maps.Values(k.choices)), k) {
		if one.codec != nil {
			all = append(all, one.codec)
		}
	}
	return all
}

// testFor tests codecs that a job needs. The error, which ends Run, is an errUnfit unless ctx has ended.
func (w *Worker) testFor(ctx context.Context, all ...codec.Codec) error {
	err := w.test(ctx, all...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	select {
	case w.unfit <- err:
	default:
	}
	return fmt.Errorf("%w: %w", errUnfit, err)
}

func selfTest(ctx context.Context, c codec.Codec, dev *gpu.Device) error {
	info := c.Info()
	if exact, ok := c.(codec.SourceCodec); ok {
		return selfTestSource(ctx, exact)
	}
	kinds := info.Accepts.Channels
	errs := make([]error, len(kinds))
	pool.New().Each(len(kinds), func(i int) { errs[i] = selfTestKind(ctx, c, dev, testImage(kinds[i], info.Accepts.MaxBits)) })
	return cmp.Or(errs...)
}

// selfTestKind tests a codec with images like m.
func selfTestKind(ctx context.Context, c codec.Codec, dev *gpu.Device, m *raster.Image) error {
	files := c.Encode(ctx, codec.Run{}, codec.Items(m), nil)
	if err := one(len(files), "file", m); err != nil {
		return err
	}
	file := files[0]
	if file.Err != nil {
		return fmt.Errorf("encode %s: %w", m.Shape, file.Err)
	}
	devices := []*gpu.Device{nil}
	if dev != nil {
		devices = append(devices, dev)
		// One core for so many images: what codecs leave to the cores where those are sooner is done on the device.
		same := slices.Repeat([]*raster.Image{m}, selfTestBatch)
		others := c.Encode(ctx, codec.Run{Device: dev, Pool: pool.Of(1)}, codec.Items(same...), nil)
		if len(others) != len(same) {
			return fmt.Errorf("encode %s on %s: %d files, want %d", m.Shape, dev.Name(), len(others), len(same))
		}
		for _, other := range others {
			if other.Err != nil {
				return fmt.Errorf("encode %s on %s: %w", m.Shape, dev.Name(), other.Err)
			}
			if !bytes.Equal(other.Data, file.Data) {
				return fmt.Errorf("encode %s: device %s gives another file than the CPU", m.Shape, dev.Name())
			}
		}
	}
	for _, d := range devices {
		images := c.Decode(ctx, codec.Run{Device: d}, [][]byte{file.Data}, nil)
		if err := one(len(images), "picture", m); err != nil {
			return err
		}
		if err := near(m, images[0], c.Info().Lossless); err != nil {
			return fmt.Errorf("decode %s on %s: %w", m.Shape, d.Name(), err)
		}
	}
	return nil
}

func one(n int, what string, m *raster.Image) error {
	if n != 1 {
		return fmt.Errorf("%s: %d %ss, want 1", m.Shape, n, what)
	}
	return nil
}

func near(m *raster.Image, got codec.Decoded, lossless bool) error {
	if got.Err != nil {
		return got.Err
	}
	psnr, err := raster.PSNR(m, got.Image)
	switch {
	case err != nil:
		return err
	case lossless && got.Image.Hash() != m.Hash():
		return fmt.Errorf("it is another picture, PSNR %.1f dB", psnr)
	case psnr < selfTestPSNR:
		return fmt.Errorf("PSNR %.1f dB, want at least %d dB", psnr, selfTestPSNR)
	}
	return nil
}

// testImage is 23 x 19 samples, slopes of a different direction in each channel: more colours than a palette has, and so few
// that a device merges them in some milliseconds.
func testImage(channels, bits int) *raster.Image {
	m := raster.New(23, 19, 1, channels, bits)
	top := 1<<bits - 1
	for y := range m.Height {
		for x := range m.Width {
			for c := range channels {
				v := [...]int{x, y, x + y, m.Width - x}[c] * top / (m.Width + m.Height)
				i := (y*m.Width+x)*channels + c
				if bits <= 8 {
					m.Pix[i] = byte(v)
				} else {
					m.Pix[2*i], m.Pix[2*i+1] = byte(v), byte(v>>8)
				}
			}
		}
	}
	return m
}
