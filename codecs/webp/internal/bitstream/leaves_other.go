//go:build !amd64

package bitstream

var vectors = false

func (m *codeMemory) vectorLeaves([]uint32) (n int, ok bool) { return 0, false }

func occurring(masks []uint64, counts []uint32) { occurringGo(masks, counts) }
