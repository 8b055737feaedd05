package backref

import "golang.org/x/sys/cpu"

// vectors says whether equalBefore uses AVX2; tests run both ways.
var vectors = cpu.X86.HasAVX2

//go:noescape
func equalBeforeAVX2(bits, argb *uint32, eights, distance int, bit uint32)

// equalBefore is equalBeforeGo.
func equalBefore(bits, argb []uint32, from, distance int, bit uint32) {
	if n := (len(argb) - from) / 8; vectors && n > 0 {
		equalBeforeAVX2(&bits[from], &argb[from], n, distance, bit)
		from += 8 * n
	}
	equalBeforeGo(bits, argb, from, distance, bit)
}
