package raster

// The kernels that transpose take eight rows of src, srcStride bytes apart, in blocks of so many pixels that follow one
// another, and write a row of dst for each column of a block, dstStride bytes apart, of eight pixels. Strides may be
// below zero. That for pixels of three bytes reads four bytes behind each block.

//go:noescape
func transpose1AVX2(dst, src *byte, dstStride, srcStride, blocks int)

//go:noescape
func transpose2AVX2(dst, src *byte, dstStride, srcStride, blocks int)

//go:noescape
func transpose3AVX2(dst, src *byte, dstStride, srcStride, blocks int)

//go:noescape
func transpose4AVX2(dst, src *byte, dstStride, srcStride, blocks int)

//go:noescape
func mirrorAVX2(dst, last *byte, places *[16]byte, step, blocks int)

// transposeRows is how many rows the kernels transpose at once.
const transposeRows = 8

// transpose fills the first rows and columns of an upright slice, whole blocks of the kernels, and returns how many
// columns of pixels it filled, and of how many columns of the stored slice they are.
func (t *turn) transpose(dst, src []byte) (columns, stored int) {
	kernels := [...]struct {
		f             func(dst, src *byte, dstStride, srcStride, blocks int)
		block, behind int // pixels of a block, and those behind it of which bytes are read
	}{1: {transpose1AVX2, 8, 0}, 2: {transpose2AVX2, 8, 0}, 3: {transpose3AVX2, 4, 2}, 4: {transpose4AVX2, 4, 0}}
	if !vector || t.pixel >= len(kernels) {
		return 0, 0
	}
	k := kernels[t.pixel]
	columns, stored = t.width/transposeRows*transposeRows, max(0, t.height-k.behind)/k.block*k.block
	if columns == 0 || stored == 0 {
		return 0, 0
	}
	// The stored column 0 is the first upright row, or the last one.
	row := t.width * t.pixel
	from, to, stride := t.start, 0, row
	if t.dy < 0 {
		from, to, stride = t.start+(t.height-1)*t.dy, (t.height-1)*row, -row
	}
	const tile = 64 // stored columns, whose upright rows stay in the cache
	for c := 0; c < stored; c += tile {
		blocks := min(tile, stored-c) / k.block
		for x := 0; x < columns; x += transposeRows {
			k.f(&dst[to+c*stride+x*t.pixel], &src[from+c*t.pixel+x*t.dx], stride, t.dx, blocks)
		}
	}
	return columns, stored
}

// mirror fills the beginning of dst with the pixels of a row from the last one on, and returns how many bytes it filled.
func mirror(dst, row []byte, pixel int) int {
	const block = 16
	if !vector || len(row) < block || pixel > block {
		return 0
	}
	var places [block]byte
	step := block / pixel * pixel
	for i := range step {
		places[i] = byte(block - pixel - i/pixel*pixel + i%pixel)
	}
	blocks := (len(row)-block)/step + 1
	mirrorAVX2(&dst[0], &row[len(row)-1], &places, step, blocks)
	return blocks * step
}
