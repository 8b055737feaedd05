package gputest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/gpu"
)

type (
	// entry is one item of a batch.
	entry struct {
		Samples   gpu.Ptr `cuda:"const uint8_t"`
		Width     uint32
		CacheBits uint32
		Steps     [2]uint16
		Rest      uint32
	}
	// swapped is entry after somebody exchanged two fields of one size.
	swapped struct {
		Samples   gpu.Ptr `cuda:"const uint8_t"`
		CacheBits uint32
		Width     uint32
		Steps     [2]uint16
		Rest      uint32
	}
)

const include = "../include/base.cuh"

func header(t *testing.T, value any) string {
	t.Helper()
	h := Header{Include: include, Constants: []Constant{{"most", 256, "entries"}, {"seed", uint64(2), ""}}, Structs: []Struct{{"Entry", value}}}
	text, err := h.text(map[string]note{"entry.Samples": {"entry is one item.", ""}, "entry.Width": {"", "pixels"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestASharedHeaderIsMadeOfGo(t *testing.T) {
	want := `// Code generated from Go structs and constants by make kernels. DO NOT EDIT.
#pragma once

#include "../include/base.cuh"

constexpr uint32_t most = 256; // entries
constexpr uint64_t seed = 2;

// Entry is one item.
struct Entry {
	const uint8_t *samples;
	uint32_t width; // pixels
	uint32_t cache_bits;
	uint16_t steps[2];
	uint32_t rest;
};
static_assert(sizeof(Entry) == 24, "Entry");
static_assert(__builtin_offsetof(Entry, samples) == 0, "Samples");
static_assert(__builtin_offsetof(Entry, width) == 8, "Width");
static_assert(__builtin_offsetof(Entry, cache_bits) == 12, "CacheBits");
static_assert(__builtin_offsetof(Entry, steps) == 16, "Steps");
static_assert(__builtin_offsetof(Entry, rest) == 20, "Rest");
`
	if got := header(t, entry{}); got != want {
		t.Errorf("made\n%s\nwant\n%s", got, want)
	}
}

// A struct and an array of structs are declared by the name that their tag gives them.
func TestStructsInSharedStructs(t *testing.T) {
	type inner struct{ A, B uint32 }
	type outer struct {
		List [3]inner `cuda:"Inner"`
		One  inner    `cuda:"Inner"`
	}
	h := Header{Include: include, Structs: []Struct{{"Inner", inner{}}, {"Outer", outer{}}}}
	text, err := h.text(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\tInner list[3];\n", "\tInner one;\n", "static_assert(sizeof(Outer) == 32, \"Outer\");\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("made\n%s\nwithout %q", text, want)
		}
	}
}

// Two fields of one size that change places on either side alone do not get through: in
// Go the header is another one, in CUDA the compiler refuses it.
func TestSwappedFieldsAreNoticed(t *testing.T) {
	text := header(t, entry{})
	if header(t, swapped{}) == text {
		t.Error("the header is the same after two fields of the Go struct have changed places")
	}
	if _, err := exec.LookPath(compiler); err != nil {
		if os.Getenv("PELMILL_TEST") == "require" {
			t.Fatal(err)
		}
		t.Skipf("NOT TESTED whether %s notices: %v", compiler, err)
	}
	base, err := filepath.Abs(include)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, include, base, 1)
	width, bits := "\tuint32_t width; // pixels\n", "\tuint32_t cache_bits;\n"
	for name, c := range map[string]struct{ text, want string }{
		"as it is": {text, ""},
		"swapped":  {strings.Replace(text, width+bits, bits+width, 1), "static assertion failed"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "kernels.cu")
		for path, text := range map[string]string{filepath.Join(dir, "shared.cuh"): c.text, file: "#include \"shared.cuh\"\n"} {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := compile(file, 75)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestWhatCannotBeSharedIsRefused(t *testing.T) {
	for want, value := range map[string]any{
		"needs a tag":            struct{ Samples gpu.Ptr }{},
		"a string is not shared": struct{ Name string }{},
		"a int is not shared":    struct{ N int }{},
		"4 bytes of room before Words": struct {
			N     uint32
			Words uint64
		}{},
		"4 bytes of room at the end": struct {
			Words uint64
			N     uint32
		}{},
		"is int": 5,
	} {
		h := Header{Structs: []Struct{{"S", value}}}
		if _, err := h.text(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %q", value, err, want)
		}
	}
}
