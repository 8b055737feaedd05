//go:build !amd64

package deflate

func (f *finder) words() { f.wordsGo() }

func (p *planner) plan(data []byte, longest, nearest *[chunkBytes]uint32) {
	p.planGo(data, longest, nearest)
}
