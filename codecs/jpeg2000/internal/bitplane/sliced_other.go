//go:build !amd64

package bitplane

import "github.com/pelmill/pelmill/codecs/jpeg2000/internal/mq"

// This machine has no assembly, without which column words are faster.
var useSliced = false

func planesOf(src []int32, stride, w, h int) int { return planesOfGo(src, stride, w, h) }

func (b *sliced) slice(src []int32, stride, w, h, planes int) { b.sliceGo(src, stride, w, h, planes) }

func write(out []mq.Symbol, groups []group) []mq.Symbol { return writeGo(out, groups) }

func (b *sliced) propagation(p uint) {
	b.propagate(p)
	b.propagationGo(p)
}

func (b *sliced) cleanup(p uint) {
	b.complete(p)
	b.cleanupGo(p)
}
