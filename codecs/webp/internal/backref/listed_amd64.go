package backref

import (
	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// windows says whether window uses AVX-512; tests run both ways.
var windows = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasPOPCNT

// windowArguments are those of windowAVX512. All pointers but cost are of position 0 of the band.
type windowArguments struct {
	ends, literals, step *uint32
	list                 *Candidate // from the candidates of the first position on
	distances            *uint32    // of these
	cost                 *uint32    // of the first position
	length               *uint16    // of a length of 1 pixel, which does not matter, and longer ones
	i, end               int
}

// windowAVX512 is windowGo.
//
//go:noescape
func windowAVX512(a *windowArguments) int

// window is windowGo.
func (l *listed) window(i, base, end int, length *[format.MaxLength + 1]uint16) int {
	if !windows {
		return l.windowGo(i, base, end, length)
	}
	if i >= end || l.ends[i] >= longer {
		return i
	}
	// What the last position reads last. The candidates of position i are followed by a window of others.
	_, _, _, _, _ = l.ends[end-1], l.literals[end-1], l.step[end+windowPixels], l.cost[end-base+windowPixels], l.distances[len(l.list)-1]
	return windowAVX512(&windowArguments{
		&l.ends[0], &l.literals[0], &l.step[0], &l.list[l.at[i]], &l.distances[l.at[i]], &l.cost[i-base], &length[1], i, end,
	})
}

// farWords says whether far uses BMI1; tests run both ways.
var farWords = cpu.X86.HasBMI1

// farBMI1 is farGo, from the end of a chain of count positions on.
//
//go:noescape
func farBMI1(out *Candidate, pixel *uint8, end *int32, count, i, most, longest, stop int) int

// far is farGo.
func (b *byteFinder) far(out []Candidate, before []int32, i, most, longest int) int {
	if !farWords || len(before) == 0 {
		return b.farGo(out, before, i, most, longest)
	}
	_, _ = out[len(before)-1], b.pixel[i+most+wordPixels-1]
	return farBMI1(&out[0], &b.pixel[0], &before[len(before)-1], len(before), i, most, longest, b.stop)
}
