//go:build !cuda || !cgo

package webp

import (
	"context"

	"github.com/pelmill/pelmill/codecs/internal/crew"
	"github.com/pelmill/pelmill/gpu"
)

// onCard leaves everything to the CPU: this build has no card to give.
func onCard(_ context.Context, _ *gpu.Device, _ *crew.Crew, n int, _ func(g ganged, from, to int) error) (left []int, err error) {
	for i := range n {
		left = append(left, i)
	}
	return left, nil
}
