package device

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/internal/container/png"
)

// onCPU compiles the kernels for this machine, and returns a function that fills those streams that are sound.
func onCPU(t testing.TB) func(streams []*png.Stream) []bool {
	t.Helper()
	program := gputest.CPUProgram(t, "../../../..", "testdata/cpu.cc", "internal/container/png/device/kernels.cu", "internal/container/png/device/inflate.cuh",
		"internal/container/png/device/unfilter.cuh", "internal/container/png/device/check.cuh", "internal/container/png/device/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh")
	return func(streams []*png.Stream) []bool {
		var in bytes.Buffer
		for _, s := range streams {
			data := bytes.Join(s.Pieces, nil)
			for _, v := range []int{len(data), s.Height, s.RowBytes, s.PixelBytes, 0} {
				binary.Write(&in, binary.LittleEndian, uint32(v))
			}
			in.Write(data)
		}
		got := gputest.RunCPU(t, program, in.Bytes())
		done := make([]bool, len(streams))
		for i, s := range streams {
			state := binary.LittleEndian.Uint32(got)
			got = got[4:]
			if state != 1 {
				continue
			}
			var sums imageSums
			for k := range sums {
				sums[k], got = binary.LittleEndian.Uint64(got), got[8:]
			}
			s.Fill(got[:s.Size()])
			got = got[s.Size():]
			done[i] = proved(s, sums)
		}
		return done
	}
}
