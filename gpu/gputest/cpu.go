package gputest

import (
	"bytes"
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

//go:embed testdata/cpu.h
var cpuHeader []byte

// The lines of CUDA that a CPU has in other words: shared memory, that which a launch brings, and instructions.
var cpuWords = []struct {
	cuda *regexp.Regexp
	cpu  string
}{
	{regexp.MustCompile(`(?m)^#define __shared__ .*$`), "#define __shared__ static"},
	{regexp.MustCompile(`extern __shared__`), "extern"},
	{regexp.MustCompile(`(?m)^\s*asm\("dp4a\.u32\.u32 .*$`), "\td = c;\n\tfor (int i = 0; i < 32; i += 8)\n\t\td += (a >> i & 255) * (b >> i & 255);"},
	{regexp.MustCompile(`(?m)^\s*asm\("shf\.r\.clamp\.b32 .*$`), "\td = (uint32_t)(((uint64_t)high << 32 | low) >> (s < 32 ? s : 32));"},
	{regexp.MustCompile(`(?m)^\s*asm volatile\("red\.global\.add\..*$`), "\t*p += v;"},
	{regexp.MustCompile(`(?m)^\s*asm volatile\("redux\.sync\.min\.u32 .*$`), "\tm = least_of_lanes(v);"},
	{regexp.MustCompile(`(?m)^\s*asm volatile\("redux\.sync\.add\.u32 .*$`), "\tm = sum_of_lanes(v);"},
	{regexp.MustCompile(`(?ms)^\s*asm\("mma\.sync\.aligned\.m16n8k4\..*?\);$`), "\tmultiply_lanes(d, x0, x1, c, base);"},
}

// CPUProgram compiles a program that runs kernels on a CPU, testdata/cpu.h says how, and returns where it is. source is its file in the
// test's folder, and files are all that it includes of the project, by their paths from the root, which is up from there. The test
// is skipped where the compiler is missing or the machine is another one than the fibers are written for.
func CPUProgram(t testing.TB, up, source string, files ...string) string {
	t.Helper()
	path, err := exec.LookPath(compiler)
	if err != nil || runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		if os.Getenv("PELMILL_TEST") == "require" && runtime.GOARCH == "amd64" {
			t.Fatalf("%s is needed: %v", compiler, err)
		}
		t.Skipf("NOT TESTED: kernels on a CPU need %s on linux/amd64: %v", compiler, err)
	}
	dir := t.TempDir()
	put := func(name string, text []byte) {
		t.Helper()
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	include := []string{"-I", dir}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(up, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range cpuWords {
			text = w.cuda.ReplaceAll(text, []byte(w.cpu))
		}
		put(filepath.Join(dir, file), text)
		if !strings.HasPrefix(file, "gpu/") {
			include = append(include, "-I", filepath.Join(dir, filepath.Dir(file)))
		}
	}
	put(filepath.Join(dir, "cpu.h"), cpuHeader)
	put(filepath.Join(dir, "__clang_cuda_builtin_vars.h"), nil)
	program := filepath.Join(dir, "kernels")
	args := append([]string{"-x", "c++", "-std=c++17", "-O2", "-g", "-w", "-fno-exceptions", "-fsanitize=undefined", "-fsanitize-trap=all"}, include...)
	out, err := exec.Command(path, append(args, "-o", program, source, "-lstdc++")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// RunCPU runs what [CPUProgram] has made with input on its standard input, and returns what it writes. It ends the test where the
// program fails, with what it says.
func RunCPU(t testing.TB, program string, input []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v after %d bytes\n%.3000s", err, out.Len(), errs.Bytes())
	}
	return out.Bytes()
}
