package neuquant

import features "golang.org/x/sys/cpu"

// hasVBMI lets tests run both ways.
var hasVBMI = features.X86.HasAVX512BW && features.X86.HasAVX512VBMI

//go:noescape
func expandVBMI(pix, indices *byte, blocks int, components *[3][256]byte)

//go:noescape
func renumberVBMI(out, indices *byte, blocks int, to *[256]uint8)

// expandBlock is how many pixels the kernels take at a time.
const expandBlock = 64

// expandPlaces says where a sample comes from, for the three vectors of the samples of expandBlock
// pixels: the place of its pixel, with 64 added for the second channel. Those of the third one
// lie under a mask.
var expandPlaces = func() (p [3][expandBlock]byte) {
	for i := range 3 * expandBlock {
		p[i/expandBlock][i%expandBlock] = byte(i/3) + byte(i%3%2)*expandBlock
	}
	return p
}()

// expand is expandGo.
func expand(pix, indices []byte, table *[256]uint32) {
	// Below this it takes longer to arrange the table.
	const least = 8 * expandBlock
	if hasVBMI && len(indices) >= least {
		var components [3][256]byte
		for v, c := range table {
			components[0][v], components[1][v], components[2][v] = byte(c), byte(c>>8), byte(c>>16)
		}
		n := len(indices) / expandBlock * expandBlock
		expandVBMI(&pix[:3*n][0], &indices[0], n/expandBlock, &components)
		pix, indices = pix[3*n:], indices[n:]
	}
	expandGo(pix, indices, table)
}

// renumber is renumberGo.
func renumber(out, indices []byte, to *[256]uint8) {
	n := 0
	if hasVBMI && len(indices) >= expandBlock {
		n = len(indices) / expandBlock * expandBlock
		renumberVBMI(&out[:n][0], &indices[0], n/expandBlock, to)
	}
	renumberGo(out[n:], indices[n:], to)
}
