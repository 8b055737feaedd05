//go:build !amd64

package webp

var vectors = false

func loadRGB([]uint32, []byte) int { return 0 }
func storeRGB([]byte) int          { return 0 }
