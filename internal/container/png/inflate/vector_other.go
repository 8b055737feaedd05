//go:build !amd64

package inflate

const vector = false

func (r *Reader) fast(int) fastResult { return fastLimit }

func pairs(table []uint32) { pairsGo(table) }

func adler(sum uint32, p []byte) uint32 { return adlerGo(sum, p) }
