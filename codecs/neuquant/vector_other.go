//go:build !amd64

package neuquant

var hasAVX2 = false

type vectors struct{}

func newVectors([]uint32) (v vectors) { return v }

func (w *network) learn(list []uint32, _ bool) { w.learnGo(list) }

func (f *finder) two(colours, keys, seconds []uint32) { f.twoGo(colours, keys, seconds) }

func unpack(out []uint32, samples []byte) { unpackGo(out, samples) }
