//go:build !amd64

package backref

import "github.com/pelmill/pelmill/codecs/webp/internal/format"

var windows = false

func (l *listed) window(i, base, end int, length *[format.MaxLength + 1]uint16) int {
	return l.windowGo(i, base, end, length)
}

func (l *listed) near(a *nearSearch, same, saved []uint32) { l.nearGo(a, same, saved) }
