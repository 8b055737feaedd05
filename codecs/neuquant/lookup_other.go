//go:build !amd64

package neuquant

var hasVBMI = false

// expand is expandGo.
func expand(pix, indices []byte, table *[256]uint32) { expandGo(pix, indices, table) }

// renumber is renumberGo.
func renumber(out, indices []byte, to *[256]uint8) { renumberGo(out, indices, to) }
