package gpu

import _ "embed"

//go:embed ptx/selftest.ptx
var selfTestPTX string

// selfTestModule holds the kernels that try the helpers of include/. They need as much
// of a card and its driver as any kernel of the baseline.
var selfTestModule = Module{Name: "gpu", Variants: []string{selfTestPTX}}
