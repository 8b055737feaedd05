//go:build !cuda || !cgo

package webp

import (
	"context"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// onDevice leaves everything to the CPU: this build has no card to give.
func onDevice(_ context.Context, _ *gpu.Device, _ *pool.Pool, n int, _ func(g batched, from, to int) error) (left []int, err error) {
	for i := range n {
		left = append(left, i)
	}
	return left, nil
}
