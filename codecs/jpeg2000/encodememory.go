package jpeg2000

import (
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
	"github.com/pelmill/pelmill/raster"
)

// encodeMemory is what encoding an image of shape s takes besides the attributes, and
// the size of the file.
func (o *Options) encodeMemory(s raster.Shape) (encode, file int64) {
	samples, channels := int64(s.Samples()), int64(s.Channels)
	part := samples
	if o.tile.X > 0 {
		part = min(part, int64(min(o.tile.X, s.Width))*int64(min(o.tile.Y, s.Height))*channels)
	}
	planes := int64(s.Bits + 4)
	file = samples*planes/8 + samples/64 + o.headers(s) + 4<<10
	perSample := int64(10) // samples, where RCT is, and the subbands of all levels
	if o.irreversible() {
		perSample = 17 // as integers, as floats, and both of the subbands
	}
	blocks := o.blocks(s)
	if o.style&codestream.Terminate != 0 {
		file += blocks * 3 * planes // a byte for the end of each coding pass
	}
	coded := file + blocks*(blockState+passState*3*planes)
	if o.effort == effortBest && !o.Lossy() {
		coded, blocks = 7*coded, 3*blocks // three shapes, two styles, and a best one; keys
	}
	encode = part*perSample + coded + 3*file + blocks*taskState + o.headers(s) + encodeTables
	if o.ht() && o.goal() {
		encode += 4*samples + file // the subbands of all tiles, while steps are tried, and the best stream
	}
	return encode, file
}

const (
	encodeTables = 4 << 20 // block encoders of goroutines, and a sample of the image
	blockState   = 320     // of a code-block, and of its place in a packet
	passState    = 24      // of a coding pass
	taskState    = 250     // of a code-block that waits to be encoded, and its key
)

// blocks is about the number of code-blocks, those that are not whole included.
func (o *Options) blocks(s raster.Shape) int64 {
	side := 4096
	if o.block.X > 0 {
		side = 1 << (o.block.X + o.block.Y)
	}
	for _, p := range o.precincts {
		side = min(side, 1<<max(0, p.X+p.Y-2))
	}
	n := int64(s.Samples())/int64(side)*5/4 + 16*int64(s.Channels)
	if o.block.X > 0 { // narrow images cut blocks on one side
		n += int64(s.Channels) * 8 * int64(s.Width>>o.block.X+s.Height>>o.block.Y)
	} else {
		n += int64(s.Channels) * 8 * int64(s.Width>>5+s.Height>>5)
	}
	return n + o.tiles(s)*int64(s.Channels)*22
}

func (o *Options) tiles(s raster.Shape) int64 {
	if o.tile.X == 0 {
		return 1
	}
	return int64((s.Width+o.tile.X-1)/o.tile.X) * int64((s.Height+o.tile.Y-1)/o.tile.Y)
}

// headers is about the size of all headers, and half of what packets are in work.
func (o *Options) headers(s raster.Shape) int64 {
	return o.tiles(s)*int64(s.Channels)*int64(o.layers)*8*40 + o.blocks(s)*int64(o.layers)*2
}
