package raster

import "golang.org/x/sys/cpu"

// vector and vector512 let tests run all ways.
var (
	vector    = cpu.X86.HasAVX2
	vector512 = cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VNNI
)

//go:noescape
func squaresAVX2(a, b *byte, blocks int) uint64

//go:noescape
func fourRowsAVX2(sums *uint32, quantity int, a, b *byte, row, blocks int)

//go:noescape
func cellsAVX2(cells, sums *uint32, channels, n int)

//go:noescape
func greyCellsAVX2(cells, sums *uint32, n int)

//go:noescape
func windowsAVX2(indices *float64, above, cells *uint32, quantity, next int, constants *[2]float64, n int)

//go:noescape
func windowsAVX512(indices *float64, above, cells *uint32, quantity, next int, constants *[2]float64, n int)

//go:noescape
func cellsVNNI(cells *uint32, quantity int, a, b *byte, row, step, n int, full, last uint64, places *[64]byte)

// squares is squaresGo.
func squares(a, b []byte) (sum uint64) {
	const block, most = 32, 16000
	for vector && len(a) >= block {
		n := min(len(a)/block, most)
		sum += squaresAVX2(&a[0], &b[0], n)
		a, b = a[n*block:], b[n*block:]
	}
	return sum + squaresGo(a, b)
}

// quantities is how many sums a window has: those of ssimSums.
const quantities = 5

// qualityBytes sums the index over all windows of each channel of a slice with bytes for samples, and the squared differences of
// all samples, or says that it does not. It goes once through memory: the rows of cells are in a cache when they are squared. The steps and their order are those of ssimPlane. A row of cells has an array for each quantity, with one
// word for a cell of a grey image and four, a word for each channel, for others:
//
//	grey     cell 0  cell 1  cell 2  cell 3  cell 4 ...
//	others   cell 0: r g b -   cell 1: r g b -   ...
//
// so that four words from any cell on are four windows or one window of all channels.
func qualityBytes(a, b *Image, c1, c2 float64) (totals [4]float64, windows int, squared uint64, ok bool) {
	channels := a.Channels
	if !vector || a.Bits > 8 || a.Signed || channels > 4 || a.Width < Window || a.Height < Window {
		return totals, 0, 0, false
	}
	across := a.Width / WindowStride
	row, used := a.Width*channels, across*WindowStride*channels
	words, vectors := 1, (across+2)/4
	if channels > 1 {
		words, vectors = 4, across-1
	}
	// Kernels read and write up to a vector behind the last column and cell.
	const behind = 32
	sumsEach, cellsEach := used+behind, across*words+behind
	above, cells := make([]uint32, quantities*cellsEach), make([]uint32, quantities*cellsEach)
	indices := make([]float64, 4*vectors+4)
	constants := [2]float64{c1, c2}
	var sums []uint32
	wide := newWideCells(channels, used)
	if !vector512 {
		sums = make([]uint32, quantities*sumsEach)
	}
	y := 0
	for ; y+WindowStride <= a.Height; y += WindowStride {
		pa, pb := a.Pix[y*row:], b.Pix[y*row:]
		if vector512 {
			cellsVNNI(&cells[0], 4*cellsEach, &pa[0], &pb[0], row, wide.step, wide.n, wide.full, wide.last, &wide.places)
		} else {
			fourRowsAVX2(&sums[0], 4*sumsEach, &pa[0], &pb[0], row, used/8)
			for i := used &^ 7; i < used; i++ {
				var s ssimSums
				for j := i; j < i+WindowStride*row; j += row {
					s.add(int64(pa[j]), int64(pb[j]))
				}
				for q, v := range [quantities]int64{s.s1, s.s2, s.s11, s.s22, s.s12} {
					sums[q*sumsEach+i] = uint32(v)
				}
			}
			for q := range quantities {
				if channels == 1 {
					greyCellsAVX2(&cells[q*cellsEach], &sums[q*sumsEach], (across+3)/4)
				} else {
					cellsAVX2(&cells[q*cellsEach], &sums[q*sumsEach], channels, across)
				}
			}
		}
		if y > 0 {
			if vector512 {
				windowsAVX512(&indices[0], &above[0], &cells[0], 4*cellsEach, 4*words, &constants, (vectors+1)/2)
			} else {
				windowsAVX2(&indices[0], &above[0], &cells[0], 4*cellsEach, 4*words, &constants, vectors)
			}
			if windows += across - 1; channels == 1 {
				for _, v := range indices[:across-1] {
					totals[0] += v
				}
			} else {
				t := totals
				for i := 0; i < 4*vectors; i += 4 {
					v := indices[i : i+4 : i+4]
					t[0] += v[0]
					t[1] += v[1]
					t[2] += v[2]
					t[3] += v[3]
				}
				totals = t
			}
		}
		squared += squares(pa[:WindowStride*row], pb[:WindowStride*row])
		above, cells = cells, above
	}
	squared += squares(a.Pix[y*row:a.Height*row], b.Pix[y*row:a.Height*row])
	return totals, windows, squared, true
}

// wideCells is how cellsVNNI takes a row of cells.
type wideCells struct {
	step, n    int    // bytes of sixteen words, and how many times so many
	full, last uint64 // a bit for each byte, of the last time for those that there are
	places     [64]byte
}

// newWideCells is for rows of used bytes in whole cells.
func newWideCells(channels, used int) (w wideCells) {
	cell, pixels := 1, 4*channels // words of a cell, bytes of four pixels
	if channels > 1 {
		cell = 4
	}
	w.step = 16 / cell * pixels
	w.n = (used + w.step - 1) / w.step
	w.full, w.last = 1<<w.step-1, 1<<(used-(w.n-1)*w.step)-1
	for i := range w.places {
		// Byte i is of sample i%4 of word i/4. A word of no channel has the first one.
		word, channel := i/4/cell, i/4%cell
		if channel >= channels {
			channel = 0
		}
		w.places[i] = byte(word*pixels + i%4*channels + channel)
	}
	return w
}
