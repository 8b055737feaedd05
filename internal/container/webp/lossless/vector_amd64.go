package lossless

import "golang.org/x/sys/cpu"

// vector lets tests run both ways.
var vector = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

//go:noescape
func addGreenAVX2(row *byte, blocks int)

//go:noescape
func packAVX2(out, rgba *byte, blocks int, green bool)

//go:noescape
func addColoursAVX2(row, multipliers *byte, tiles, blocks int)

//go:noescape
func predict1AVX2(row, left, up *byte, n int)

//go:noescape
func predict2AVX2(row, left, up *byte, n int)

//go:noescape
func predict3AVX2(row, left, up *byte, n int)

//go:noescape
func predict4AVX2(row, left, up *byte, n int)

//go:noescape
func predict5AVX2(row, left, up *byte, n int)

//go:noescape
func predict6AVX2(row, left, up *byte, n int)

//go:noescape
func predict7AVX2(row, left, up *byte, n int)

//go:noescape
func predict8AVX2(row, left, up *byte, n int)

//go:noescape
func predict9AVX2(row, left, up *byte, n int)

//go:noescape
func predict10AVX2(row, left, up *byte, n int)

//go:noescape
func predict11AVX2(row, left, up *byte, n int)

//go:noescape
func predict12AVX2(row, left, up *byte, n int)

//go:noescape
func predict13AVX2(row, left, up *byte, n int)

//go:noescape
func predictTilesAVX2(row, up, modes *byte, tiles, blocks int)

// block is how many bytes the kernels take at once that take more than a pixel.
const block = 32

// addGreen is addGreenGo.
func addGreen(row []byte) {
	n := 0
	if vector && len(row) >= block {
		n = len(row) &^ (block - 1)
		addGreenAVX2(&row[0], n/block)
	}
	addGreenGo(row[n:])
}

// pack is packGo. The kernel writes four bytes more than it packs.
func pack(out, rgba []byte, green bool) {
	n := 0
	if vector {
		if n = min(len(rgba)/block, (len(out)-4)/(3*block/4)); n > 0 {
			packAVX2(&out[0], &rgba[0], n, green)
		}
		n = max(n, 0)
	}
	packGo(out[3*block/4*n:], rgba[block*n:], green)
}

// addColours is addColoursGo. The kernel takes tiles of whole blocks, and of a single tile what are whole blocks.
func addColours(row, multipliers []byte, tiles, side int) {
	n := 0
	if vector && (tiles == 1 || tiles > 1 && side%block == 0) {
		if n = side &^ (block - 1); n > 0 {
			// What the kernel needs last.
			_, _ = row[tiles*n-1], multipliers[4*tiles-1]
			addColoursAVX2(&row[0], &multipliers[0], tiles, n/block)
		}
	}
	if n < side {
		addColoursGo(row[n:], multipliers, tiles, side-n)
	}
}

// predictTiles is predictTilesGo.
func predictTiles(left, up, modes []byte, tiles, side int) {
	if !vector || tiles == 0 {
		predictTilesGo(left, up, modes, tiles, side)
		return
	}
	// What the kernel needs last.
	_, _, _ = left[tiles*side+3], up[tiles*side+7], modes[4*(tiles-1)]
	predictTilesAVX2(&left[4], &up[0], &modes[0], tiles, side/16)
}

// predict is predictGo.
func predict(mode int, row, left, up []byte) {
	n := 0
	if vector && len(row) > 0 {
		// up[len(row)+7] is the last byte that the kernels may need.
		_ = up[len(row)+7]
		switch r, l, u := &row[0], &left[0], &up[0]; mode {
		case 1, 2, 3, 4, 8, 9:
			if n = len(row) &^ (block - 1); n == 0 {
				break
			}
			switch mode {
			case 1:
				predict1AVX2(r, l, u, n/block)
			case 2:
				predict2AVX2(r, l, u, n/block)
			case 3:
				predict3AVX2(r, l, u, n/block)
			case 4:
				predict4AVX2(r, l, u, n/block)
			case 8:
				predict8AVX2(r, l, u, n/block)
			case 9:
				predict9AVX2(r, l, u, n/block)
			}
		case 5:
			predict5AVX2(r, l, u, len(row)/4)
			return
		case 6:
			predict6AVX2(r, l, u, len(row)/4)
			return
		case 7:
			predict7AVX2(r, l, u, len(row)/4)
			return
		case 10:
			predict10AVX2(r, l, u, len(row)/4)
			return
		case 11:
			predict11AVX2(r, l, u, len(row)/4)
			return
		case 12:
			predict12AVX2(r, l, u, len(row)/4)
			return
		case 13:
			predict13AVX2(r, l, u, len(row)/4)
			return
		}
	}
	if n < len(row) {
		predictGo(mode, row[n:], left[n:], up[n:])
	}
}
