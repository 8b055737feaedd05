package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
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

// Frames that are made at once are as good as those made one after the other, and each decodes by itself and behind others.
func TestFramesAreMadeAtOnce(t *testing.T) {
	const n = 50
	text := func(i int) []byte {
		return bytes.Repeat(fmt.Appendf(nil, "\"line of frame %d\"\n", i), 1+i*i*i) // from one to more than a block
	}
	frames, errs := make([][]byte, n), make([]error, n)
	var making sync.WaitGroup
	for i := range n {
		making.Go(func() { frames[i], errs[i] = AppendFrame(nil, text(i)) })
	}
	making.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var all, want []byte
	for i, frame := range frames {
		one, err := AppendFrame([]byte("before"), text(i))
		if err != nil || string(one) != "before"+string(frame) {
			t.Errorf("frame %d is another one beside others (%v)", i, err)
		}
		all, want = append(all, frame...), append(want, text(i)...)
	}
	var got []byte
	if err := EachLine(bytes.NewReader(all), func(line []byte) error {
		got = append(append(got, line...), '\n')
		return nil
	}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of lines, want %d (%v)", len(got), len(want), err)
	}
}
