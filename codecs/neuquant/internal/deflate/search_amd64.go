package deflate

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasBMI1 && cpu.X86.HasBMI2

//go:noescape
func wordsBMI2(s *scan)

// words is wordsGo.
func (f *finder) words() {
	if !vector {
		f.wordsGo()
		return
	}
	wordsBMI2(&f.scan)
}

//go:noescape
func planBMI2(p *planner, data *byte, longest, nearest *uint32, n int)

// plan is planGo.
func (p *planner) plan(data []byte, longest, nearest *[chunkBytes]uint32) {
	if !vector || len(data) == 0 {
		p.planGo(data, longest, nearest)
		return
	}
	planBMI2(p, &data[0], &longest[0], &nearest[0], min(len(data), chunkBytes))
}
