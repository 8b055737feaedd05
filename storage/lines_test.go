package storage

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func deflate(t testing.TB, text []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(text, nil)
}

// TestLinesAreReadInBoundedMemory: a few kilobytes that inflate to one line of 256
// MiB are an error long before.
func TestLinesAreReadInBoundedMemory(t *testing.T) {
	bomb := deflate(t, bytes.Repeat([]byte{'x'}, 256<<20))
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := DecodeLines(bomb, func(json.RawMessage) error { return nil })
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "token too long") {
		t.Errorf("%v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d bytes of %d took %d bytes of memory", len(bomb), 256<<20, grown)
	}
}

func TestLinesWithinABound(t *testing.T) {
	data := deflate(t, []byte("1\n2\n3\n"))
	count := func(most int64) (n int, err error) {
		err = DecodeLinesWithin(data, most, func(int) error { n++; return nil })
		return n, err
	}
	if n, err := count(6); n != 3 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
	if _, err := count(5); err == nil {
		t.Error("six bytes are read within five")
	}
	if err := DecodeLines(append(data, data...), func(int) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := DecodeLines(data[:len(data)-2], func(int) error { return nil }); err == nil {
		t.Error("a frame that was cut off is read")
	}
}
