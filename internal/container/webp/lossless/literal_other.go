//go:build !amd64

package lossless

func (s *scan) literals(*literalTable, []uint32, int, int) {}

func (s *scan) greens(*literalTable, uint32, int) {}
