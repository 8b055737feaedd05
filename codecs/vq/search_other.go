//go:build !amd64

package vq

// This machine has no vector kernels.

type kernel int

const (
	kernelGo   kernel = iota
	bestKernel        = kernelGo
)

type vectorFinder struct{}

func newVectorFinder(*codebook, kernel) *vectorFinder { return nil }

func (*vectorFinder) find(vectors, []key) {}
