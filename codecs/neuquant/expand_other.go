//go:build !amd64

package neuquant

var hasVBMI = false

// expand is expandGo.
func expand(pix, indices []byte, table *[256]uint32) { expandGo(pix, indices, table) }
