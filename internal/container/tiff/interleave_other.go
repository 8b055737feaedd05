//go:build !amd64

package tiff

func (p *Planes) vectors(dst []byte, planes [][]byte) int { return 0 }
