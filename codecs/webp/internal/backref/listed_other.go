//go:build !amd64

package backref

import "github.com/pelmill/pelmill/codecs/webp/internal/format"

var windows, farWords = false, false

func (l *listed) window(i, base, end int, length *[format.MaxLength + 1]uint16) int {
	return l.windowGo(i, base, end, length)
}

func (b *byteFinder) far(out []Candidate, before []int32, i, most, longest int) int {
	return b.farGo(out, before, i, most, longest)
}
