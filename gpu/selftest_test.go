//go:build cuda && cgo

package gpu

import "testing"

func TestParametersLieWhereKernelsLookForThem(t *testing.T) {
	for kernel, params := range map[string]any{
		"gpu_reduce": reduceParams{}, "gpu_scan": scanParams{}, "gpu_pack": packParams{}, "gpu_unpack": unpackParams{},
	} {
		if err := CheckParams(&selfTestModule, kernel, params); err != nil {
			t.Error(err)
		}
	}
}
