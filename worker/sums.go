package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/sha256batch"
	"github.com/pelmill/pelmill/raster"
)

// sumOf is the SHA-256 of data in lower-case hexadecimal.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// sumSource records the SHA-256 of the source, unless it is in the record.
func (o *object) sumSource() {
	if o.record.SHA256 == "" {
		o.record.SHA256 = sumOf(o.data)
	}
}

// hashImage is [raster.Image.Hash] of the image. It records the SHA-256 of the source as sumSource does, which takes less
// time beside the hash.
func (o *object) hashImage() string {
	if o.record.SHA256 != "" {
		return o.image.Hash()
	}
	hash, sum := o.image.HashWith(o.data)
	o.record.SHA256 = hex.EncodeToString(sum[:])
	return hash
}

// pixelSeed makes sums that no image can be made to fit.
var pixelSeed = maphash.MakeSeed()

// pixelSum tells whether the samples of an image have changed since another sum was taken in this process. It takes a
// quarter of the time of their hash.
func pixelSum(m *raster.Image) uint64 { return maphash.Bytes(pixelSeed, m.Pix) }

// sameSamples reports whether m, of o's shape, has the samples that were read, and so the hash that is in the record. What
// has changed o's image since, an encoder or the memory, is noticed, as it would be by the hash.
func (o *object) sameSamples(m *raster.Image) bool {
	return o.sum != 0 && bytes.Equal(m.Pix, o.image.Pix) && pixelSum(m) == o.sum
}

// hashOriginal is the hash of o's image as it is in memory now. It needs not be made where the samples have the sum that was taken of
// them when they were read.
func (o *object) hashOriginal() string {
	if o.sum != 0 && pixelSum(o.image) == o.sum {
		return o.record.PixelHash
	}
	return o.image.Hash()
}

// recordSums records the digests of source and image of an object that came to no end, as far as these are there.
func (o *object) recordSums() {
	if o.sumsDue && o.image != nil {
		o.record.PixelHash, o.sumsDue = o.hashImage(), false
	}
	o.sumSource()
}

// deviceSums has a device make the digests of sources, images and results while it encodes them, where cores have no time for that. No flag
// decides it. A nil *deviceSums makes none.
type deviceSums struct {
	p *pipeline

	// atWork is how many objects have not come to their end.
	atWork func() int

	// sums makes digests on the device.
	sums func(context.Context, codec.Run, []sha256batch.Message) ([][sha256.Size]byte, []bool, error)

	made   atomic.Int64 // digests
	failed atomic.Bool  // a batch has, for a reason that lasts
}

func newDeviceSums(p *pipeline, atWork func() int) *deviceSums {
	return &deviceSums{p: p, atWork: atWork, sums: sha256batch.Sums}
}

// toOpen is how many seconds it takes to open a device, in which cores may have nothing else to do.
const toOpen = 0.15

// digestLoad is the share of the cores at work from which on an open device makes the digests: goroutines of lanes and stores need the others.
const digestLoad = 3. / 4

// takes reports whether the digests of an object that has been read are left to the device: cores are busy with other objects, or, if it is
// not open, objects wait for them and do so for longer than it takes to open it.
func (s *deviceSums) takes(o *object) bool {
	if s == nil || s.failed.Load() || o.batches == nil || o.alone ||
		!sha256batch.Takes(sha256batch.Message{Data: o.image.Pix}) || !sha256batch.Takes(sha256batch.Message{Data: o.data}) {
		return false
	}
	busy, waiting := s.p.cores.Load()
	if s.p.open.Load() {
		return float64(busy) >= digestLoad*float64(s.p.cores.Size())
	}
	return waiting > 0 && s.p.reading.onCores(s.atWork()) > toOpen
}

// digestsOfResults reports whether a device that encodes a batch of n objects is asked for the digests of what the files decode to: cores
// will decode lossy results and compare them, while objects wait for cores, be it those of the batch for one another.
func (k *jobContext) digestsOfResults(run codec.Run, n int) bool {
	if k.summing == nil || run.Device == nil || k.summing.failed.Load() || k.info.KeepsImages(k.options) ||
		k.spec.Verify == verifyDevice || k.spec.Verify == "off" {
		return false
	}
	cores := k.summing.p.cores
	_, waiting := cores.Load()
	return waiting > 0 || n > cores.Size()
}

// hashResult is the hash of what the result of o has been decoded to: that of the device, where m is the image that the device had and no
// digest of the device was wrong yet. One of each batch is hashed all the same.
func (k *jobContext) hashResult(o *object, m *raster.Image) string {
	d := o.digests
	same := d.Are(m)
	if same && !o.proved && !k.summing.failed.Load() {
		k.summing.made.Add(1)
		return hex.EncodeToString(d.Image[:])
	}
	hash, sum := m.HashWith(o.file)
	o.fileSum = sum[:]
	if d != nil && (!same || hash != hex.EncodeToString(d.Image[:])) {
		k.summing.fail(fmt.Errorf("%s: the device's digests of a result of %d bytes are wrong", k.info.Name, len(o.file)))
	}
	return hash
}

// fail ends the digests of a device.
func (s *deviceSums) fail(err error) {
	if !s.failed.Swap(true) {
		s.p.log.Warn("the device makes no digests any more, cores do", "error", err)
	}
}

// sumBatch makes the digests of a batch that are due. What the device does not make, cores do.
func (s *deviceSums) sumBatch(ctx context.Context, run codec.Run, batch []*object) {
	var due []*object
	var messages []sha256batch.Message
	for _, o := range batch {
		if o.sumsDue {
			due = append(due, o)
			messages = append(messages, sha256batch.Message{Data: o.data}, sha256batch.Message{Head: o.image.HashHead(), Data: o.image.Pix})
		}
	}
	if len(due) == 0 {
		return
	}
	sums, done, err := s.sums(ctx, run, messages)
	if err != nil && ctx.Err() == nil && s.p.lost() == nil {
		s.fail(err)
	}
	run.Pool.Each(len(messages), func(i int) {
		if done[i] {
			s.made.Add(1)
		} else {
			sums[i] = messages[i].Sum()
		}
	})
	for i, o := range due {
		o.record.SHA256, o.record.PixelHash, o.sumsDue = hex.EncodeToString(sums[2*i][:]), hex.EncodeToString(sums[2*i+1][:]), false
	}
}

// count is how many digests the device has made.
func (s *deviceSums) count() int64 {
	if s == nil {
		return 0
	}
	return s.made.Load()
}
