//go:build !amd64

package raster

func (t *turn) transpose(dst, src []byte) (columns, stored int) { return 0, 0 }
func mirror(dst, row []byte, pixel int) int                     { return 0 }
