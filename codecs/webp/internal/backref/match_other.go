//go:build !amd64

package backref

var vectors = false

func equalBefore(bits, argb []uint32, from, distance int, bit uint32) {
	equalBeforeGo(bits, argb, from, distance, bit)
}
