package device

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/pelmill/pelmill/imageio"
)

// sharedLine is how base.cuh spells the memory of a block, which on a CPU is that of the program.
var sharedLine = regexp.MustCompile(`(?m)^#define __shared__ .*$`)

// onCPU compiles the kernels for this machine, as testdata/cpu.cc says, and returns a function that fills
// those streams that are sound. The
// test is skipped where the compiler is missing or the machine is another one than the fibers are written for.
func onCPU(t testing.TB) func(streams []*imageio.Stream) []bool {
	t.Helper()
	compiler, err := exec.LookPath("clang-19")
	if err != nil || runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		if os.Getenv("PELMILL_TEST") == "require" && runtime.GOARCH == "amd64" {
			t.Fatalf("clang-19 is needed: %v", err)
		}
		t.Skipf("NOT TESTED: kernels on a CPU need clang-19 on linux/amd64: %v", err)
	}
	dir := t.TempDir()
	for _, file := range []string{"imageio/device/kernels.cu", "imageio/device/inflate.cuh", "imageio/device/unfilter.cuh", "imageio/device/check.cuh",
		"imageio/device/shared.cuh",
		"gpu/include/base.cuh", "gpu/include/warp.cuh"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		text = sharedLine.ReplaceAll(text, []byte("#define __shared__ static"))
		write(t, filepath.Join(dir, file), text)
	}
	write(t, filepath.Join(dir, "__clang_cuda_builtin_vars.h"), nil)
	program := filepath.Join(dir, "kernels")
	out, err := exec.Command(compiler, "-x", "c++", "-std=c++17", "-O2", "-g", "-w", "-fno-exceptions", "-fsanitize=undefined", "-fsanitize-trap=all", "-I", dir,
		"-I", filepath.Join(dir, "imageio/device"), "-o", program, "testdata/cpu.cc").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(streams []*imageio.Stream) []bool {
		var in bytes.Buffer
		for _, s := range streams {
			data := bytes.Join(s.Pieces, nil)
			for _, v := range []int{len(data), s.Height, s.RowBytes, s.PixelBytes, 0} {
				binary.Write(&in, binary.LittleEndian, uint32(v))
			}
			in.Write(data)
		}
		cmd := exec.Command(program)
		cmd.Stdin = &in
		var errs bytes.Buffer
		cmd.Stderr = &errs
		got, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, errs.Bytes())
		}
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

func write(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
}
