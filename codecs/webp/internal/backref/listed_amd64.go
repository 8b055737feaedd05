package backref

import (
	"golang.org/x/sys/cpu"

	"github.com/pelmill/pelmill/codecs/webp/internal/format"
)

// windows says whether window and near use AVX-512; tests run both ways.
var windows = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasAVX512CD && cpu.X86.HasPOPCNT

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
	at := len(l.list) - windowPixels - int(l.left[i])
	return windowAVX512(&windowArguments{
		&l.ends[0], &l.literals[0], &l.step[0], &l.list[at], &l.distances[at], &l.cost[i-base], &length[1], i, end,
	})
}

// nearAVX512 is nearGo. All pointers but memory are of position 0; that is where memory begins.
//
//go:noescape
func nearAVX512(a *nearSearch, same, saved, left, ends *uint32, best *listedGain, memory *Candidate)

// near is nearGo.
func (l *listed) near(a *nearSearch, same, saved []uint32) {
	if !windows {
		l.nearGo(a, same, saved)
		return
	}
	if a.i > 0 {
		// What the last position reads and writes last.
		_, _, _, _, _, _ = same[a.i-1], saved[a.i+windowPixels-1], l.left[a.i-1], l.ends[a.i-1], l.best[a.i-1], l.memory[a.at-1]
		nearAVX512(a, &same[0], &saved[0], &l.left[0], &l.ends[0], &l.best[0], &l.memory[0])
	}
}
