package gputest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// compiler is the one that makes the PTX of all kernels; another version makes other
// PTX.
const compiler = "clang-19"

// isa is the version of PTX that a capability is compiled to: the least that has its
// instructions, so that old drivers read it.
var isa = map[int]string{75: "63", 80: "70"}

// Kernels checks the PTX that was made from a CUDA file of the test's folder: one file
// for each capability, ptx/kernels.ptx for 75 and ptx/kernels_80.ptx for 80. Its first line
// must hold the hash of the sources as they are, and where the compiler is installed
// its result must be what is there. With PELMILL_KERNELS=write in the environment it
// writes the files instead; "make kernels" does.
//
// Where the compiler is missing the test is skipped after the first check or, with
// PELMILL_TEST=require, fails.
func Kernels(t *testing.T, source string, capabilities ...int) {
	t.Helper()
	sum, err := sourceHash(source)
	if err != nil {
		t.Fatal(err)
	}
	write := os.Getenv("PELMILL_KERNELS") == "write"
	_, missing := exec.LookPath(compiler)
	for _, c := range capabilities {
		name := ptxName(source, c)
		head := fmt.Sprintf("// Made from %s by %s for compute capability %d.%d; SHA-256 of the sources %x", source, compiler, c/10, c%10, sum)
		if !write {
			have, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v; run make kernels", err)
			}
			line, _, _ := strings.Cut(string(have), "\n")
			if line != head {
				t.Errorf("%s was not made from the sources as they are; run make kernels\nhave %s\nwant %s", name, line, head)
				continue
			}
		}
		if missing != nil {
			if write || os.Getenv("PELMILL_TEST") == "require" {
				t.Fatalf("%s is needed: %v", compiler, missing)
			}
			t.Skipf("NOT TESTED whether %s is what %s makes: %v", name, compiler, missing)
		}
		ptx, err := compile(source, c)
		if err != nil {
			t.Fatal(err)
		}
		made := append([]byte(head+"\n"), ptx...)
		if write {
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, made, 0o666)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(name); err != nil || !bytes.Equal(have, made) {
			if err := os.WriteFile(name+".got", made, 0o666); err != nil {
				t.Log(err)
			}
			t.Errorf("%s is not what %s makes of the sources (now in %s.got); run make kernels", name, compiler, name)
		}
	}
}

// ptxName is the file of the PTX: in the folder ptx beside the source.
func ptxName(source string, capability int) string {
	name := strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))
	if capability != 75 {
		name += "_" + strconv.Itoa(capability)
	}
	return filepath.Join(filepath.Dir(source), "ptx", name+".ptx")
}

// compile returns the PTX. Floating-point operations are never fused: the CPU does not
// either. Neither NVIDIA's headers and libraries nor those of the host are used.
func compile(source string, capability int) ([]byte, error) {
	version, ok := isa[capability]
	if !ok {
		return nil, fmt.Errorf("gputest: no version of PTX is chosen for capability %d", capability)
	}
	cmd := exec.Command(compiler, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_"+strconv.Itoa(capability),
		"--cuda-feature=+ptx"+version, "-nocudainc", "-nocudalib", "-ffreestanding", "-ffp-contract=off", "-std=c++17",
		"-O3", "-Wall", "-Wextra", "-Werror", "-S", "-o", "-", source)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gputest: %s %s: %w\n%s", compiler, source, err, errs.Bytes())
	}
	return out.Bytes(), nil
}

var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"([^"]+)"`)

// sourceHash is over the file and all that it includes by "name", each once, in the
// order of first mention: name as mentioned, length and content.
func sourceHash(source string) ([]byte, error) {
	h := sha256.New()
	seen := make(map[string]bool)
	var add func(path, name string) error
	add = func(path, name string) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("gputest: hash of kernels: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
		for _, m := range includeLine.FindAllSubmatch(text, -1) {
			included := string(m[1])
			if err := add(filepath.Join(filepath.Dir(path), included), included); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(filepath.Clean(source), filepath.Base(source)); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
