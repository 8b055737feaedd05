package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"

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
