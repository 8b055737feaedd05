//go:build !amd64

package backref

func hitsOfColours(out, number []uint8, colours []uint32) bool { return false }
