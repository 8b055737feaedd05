package neuquant

import (
	"context"

	"github.com/pelmill/pelmill/codecs/codec"
)

// The steps of the codec, in the order in which they run. Those marked with a star are
// behind the interface steps: in Go in train.go, bins.go, refine.go, map.go and internal/deflate, and on a
// device in the kernels of the same names, which steps_cuda.go launches for all problems
// of a batch.
//
//	step      input                    output                       unit of parallel work
//	scope     image or frame           problems of a palette        pixel
//	train*    problem, a sample of it  up to 256 entries            problem (Dekker)
//	bins*     problem                  occupied bins, their means   colour
//	refine*   bins, entries            entries                      bin, summed in integers
//	map*      problem, entries         index of each colour         colour
//	expand*   indices, entries         digests of the image         colour, on a device only
//	rows*     indices, entries         rows of a PNG file           index, on a device where it has 8 bits
//	count     pixels                   each colour's count          scope
//	exactly   counts, entries          entries, of both parts       colour, summed in integers
//	dither    pixels, entries          index of each pixel          row
//	join      indices of the problems  palette, indices             pixel
//	deflate*  rows of a PNG file       zlib stream                  position, chunk, file
//	format    palette, indices         PNG or GIF file              frame

// A colour is 4 bytes R, G, B, A from the lowest byte of a uint32 up.
const opaqueAlpha = 255 << 24

// problem is a list of colours for which entries are looked for: the opaque or the
// partly transparent pixels of an image, in raster order.
type problem struct {
	// One of the two holds the colours, at least one. values are premultiplied. samples
	// are R, G, B of opaque pixels, three bytes each, as they lie in an image, which
	// they belong to.
	values  []uint32
	samples []byte

	entries int  // at most; 1 to 256
	opaque  bool // all colours have alpha 255
	mapped  bool // indices are wanted

	// Of colours that are all pixels of a picture of which a PNG file is made: its width, and what its hash has before its samples. 0 and nil:
	// they are not.
	width int
	head  []byte
}

// solution is what was found for a problem.
type solution struct {
	entries []uint32       // premultiplied, as in problem.values; as many as problem.entries
	index   []uint8        // of the nearest entry, for each colour in turn; nil unless mapped
	file    *fileRows      // in place of index, by a device for a problem with a width; nil: there are none
	digests *codec.Digests // of the image with the entries of the indices, by a device that was asked; nil: there are none
	err     error
}

// fileRows are the rows of a PNG file of 8 bits, and what they follow from.
type fileRows struct {
	census []int   // pixels of each entry
	list   []uint8 // entries in their order in the file
	rows   []byte
}

// steps solves problems. There are two kinds: [cpuSteps] in Go, and [deviceSteps] on a
// device, which may make digests and rows of indices as well. The solutions are the same
// from both, in every batch and with any number of goroutines.
type steps interface {
	// solve answers item i of list with item i of the result: it trains a network,
	// refines its neurons and, where indices are wanted, maps each colour to the nearest.
	solve(ctx context.Context, list []problem, o *Options) []solution

	// deflate makes zlib streams of the rows of PNG files, item i of list into item i of the
	// result, as far as that is better done for many files at once. They are the same in any case.
	deflate(ctx context.Context, list [][]byte) []deflated
}

// n is the number of colours.
func (p *problem) n() int { return len(p.values) + len(p.samples)/3 }

// at is colour i.
func (p *problem) at(i int) uint32 {
	if p.values != nil {
		return p.values[i]
	}
	s := p.samples[3*i : 3*i+3 : 3*i+3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | opaqueAlpha
}

// span is the colours lo to hi-1, in room where they do not lie in memory as values.
func (p *problem) span(lo, hi int, room []uint32) []uint32 {
	if p.values != nil {
		return p.values[lo:hi]
	}
	room = room[:hi-lo]
	unpack(room, p.samples[3*lo:3*hi])
	return room
}

// unpackGo makes colours of samples.
func unpackGo(out []uint32, samples []byte) {
	samples = samples[:3*len(out)]
	n := len(out)
	// Four bytes at a time, as long as there are four.
	for i := 0; i < n-1; i++ {
		s := samples[3*i : 3*i+4 : 3*i+4]
		out[i] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | opaqueAlpha
	}
	if n > 0 {
		s := samples[3*n-3:]
		out[n-1] = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | opaqueAlpha
	}
}

// piece is how many colours are worked on at a time: little enough to stay in the
// cache nearest to the core.
const piece = 2048
