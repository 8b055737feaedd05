package gpu_test

import (
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
)

func TestKernelsAreCompiled(t *testing.T) { gputest.Kernels(t, "selftest.cu", 75) }
