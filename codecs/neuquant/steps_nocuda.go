//go:build !cuda || !cgo

package neuquant

import (
	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
)

// onCard is the CPU: this build has no card to give.
func onCard(_ *gpu.Device, c *pool.Pool) device { return cpu{c} }
