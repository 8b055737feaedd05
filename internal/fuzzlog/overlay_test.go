package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestTargetsAreLooped(t *testing.T) {
	const before = `package p_test

import "testing"

func FuzzA(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) { f := other{}; f.Fuzz(1, 2) })
}

func FuzzB(fz *testing.F) { f.Fuzz(1); fz.Fuzz( check ) }
`
	const after = `package p_test; import fuzzloop "github.com/pelmill/pelmill/internal/fuzzloop"

import "testing"

func FuzzA(f *testing.F) {
	f.Add(1)
	fuzzloop.Run(f, func(t *testing.T, n int) { f := other{}; f.Fuzz(1, 2) })
}

func FuzzB(fz *testing.F) { f.Fuzz(1); fuzzloop.Run(fz,  check ) }
`
	got, n, err := loopTargets("p_test.go", []byte(before))
	if err != nil || n != 2 || string(got) != after {
		t.Errorf("%d targets, %v:\n%s", n, err, got)
	}
}

// The loop executes as many inputs as it is told, reaches the planted faults, and leaves the inputs that fail where go test finds them.
func TestLoop(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the loop needs Linux")
	}
	if testing.Short() {
		t.Skip("NOT TESTED: -short: compiles a test with instrumented packages")
	}
	const pkg = "github.com/pelmill/pelmill/internal/fuzzlog/testdata/planted"
	dir := t.TempDir()
	if err := overlay("./testdata/planted", dir); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "planted.test")
	build := exec.Command("go", "test", "-c", "-tags", "fuzzloop", "-overlay", filepath.Join(dir, "overlay.json"), "-ldflags=-checklinkname=0",
		"-gcflags="+pkg+"=-d=libfuzzer", "-o", program, pkg)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	fuzz := func(t *testing.T, dir, target, length string, env ...string) (out string, ok bool) {
		t.Helper()
		cmd := exec.Command(program, "-test.run", "^"+target+"$", "-test.fuzztime", length, "-test.fuzzcachedir", filepath.Join(dir, "cache"))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		text, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(text), err == nil
	}
	cases := func(dir, target string) []string {
		found, err := filepath.Glob(filepath.Join(dir, "testdata", "fuzz", target, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}

	t.Run("stands", func(t *testing.T) {
		dir := t.TempDir()
		out, ok := fuzz(t, dir, "FuzzStands", "70000x")
		if m := progress.FindStringSubmatch(lastProgress(out)); !ok || m == nil || m[2] != "70000" || m[3] == "0" {
			t.Errorf("%v:\n%s", ok, out)
		}
		kept, err := os.ReadDir(filepath.Join(dir, "cache", "FuzzStands"))
		if err != nil || len(kept) == 0 {
			t.Errorf("%d inputs are kept, %v", len(kept), err)
		}
		again, ok := fuzz(t, dir, "FuzzStands", "500x") // what the first run has found is nothing new
		if !ok || !strings.Contains(again, "new interesting: 0 ") {
			t.Errorf("%v:\n%s", ok, again)
		}
	})
	for _, target := range []string{"FuzzPanics", "FuzzFails"} {
		t.Run(target, func(t *testing.T) {
			dir := t.TempDir()
			out, ok := fuzz(t, dir, target, "20000000x")
			if found := cases(dir, target); ok || !fails.MatchString(out[strings.Index(out, "--- FAIL"):]) || len(found) != 1 || lastProgress(out) == "" {
				t.Fatalf("%v, %q:\n%s", ok, found, out)
			}
			again, ok := fuzz(t, dir, target, "1x") // it is a seed now
			if ok || !strings.Contains(again, "fault") {
				t.Errorf("%v:\n%s", ok, again)
			}
		})
	}
	t.Run("left by another target", func(t *testing.T) {
		dir := t.TempDir()
		last := filepath.Join(dir, "cache", "FuzzStands.last")
		for _, size := range []byte{9, 40, 0xff} { // of what the file says to hold
			if err := os.MkdirAll(filepath.Dir(last), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(last, append([]byte{size, 0, 0, 0, 0, 0, 0, 0}, bytes.Repeat([]byte{0xff}, 300)...), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, ok := fuzz(t, dir, "FuzzStands", "100x"); !ok || len(cases(dir, "FuzzStands")) != 0 {
				t.Errorf("%d bytes: %v:\n%s", size, ok, out)
			}
		}
	})
	t.Run("dies", func(t *testing.T) {
		dir := t.TempDir()
		out, ok := fuzz(t, dir, "FuzzDies", "20000000x")
		if found := cases(dir, "FuzzDies"); ok || len(found) != 0 {
			t.Fatalf("%v, %q:\n%s", ok, found, out)
		}
		// A target that stands the input has not failed: somebody may have killed the process.
		if out, ok := fuzz(t, dir, "FuzzDies", "100x", "PLANTED_STANDS=1"); !ok || len(cases(dir, "FuzzDies")) != 0 {
			t.Errorf("%v:\n%s", ok, out)
		}
		fuzz(t, dir, "FuzzDies", "20000000x")
		fuzz(t, dir, "FuzzDies", "100x") // dies of the same input, which is a case now
		if found := cases(dir, "FuzzDies"); len(found) != 1 {
			t.Errorf("%q", found)
		}
	})
}

func lastProgress(out string) string {
	lines := regexp.MustCompile(`(?m)^fuzz: elapsed: .*$`).FindAllString(out, -1)
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
