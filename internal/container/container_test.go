package container

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zlib"
)

func zipped(t testing.TB, data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestInflate(t *testing.T) {
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	stream := zipped(t, noise)
	for name, c := range map[string]struct {
		stream []byte
		limit  int
		want   []byte
		ok     bool
	}{
		"at the limit":         {stream, len(noise), noise, true},
		"below the limit":      {stream, 1 << 20, noise, true},
		"over the limit":       {stream, len(noise) - 1, nil, false},
		"far over the limit":   {stream, 3, nil, false},
		"nothing, limit 0":     {zipped(t, nil), 0, []byte{}, true},
		"cut short":            {stream[:len(stream)-5], 1 << 20, nil, false},
		"no stream":            {[]byte("text"), 1 << 20, nil, false},
		"nothing":              {nil, 1 << 20, nil, false},
		"a wrong checksum":     {append(bytes.Clone(stream[:len(stream)-1]), stream[len(stream)-1]^1), 1 << 20, nil, false},
		"zeros, at the limit":  {zipped(t, make([]byte, 1<<20)), 1 << 20, make([]byte, 1<<20), true},
		"zeros, over the same": {zipped(t, make([]byte, 1<<20+1)), 1 << 20, nil, false},
	} {
		got, ok := Inflate(c.stream, c.limit)
		if ok != c.ok || !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d bytes, %t, want %d, %t", name, len(got), ok, len(c.want), c.ok)
		}
	}
}

// A bomb takes no more than twice the limit.
func TestInflateTakesTwiceTheLimit(t *testing.T) {
	bomb := zipped(t, make([]byte, 40<<20))
	const tables = 200 << 10 // of the zlib reader
	for _, limit := range []int{1, 1 << 10, 100 << 10, 1<<20 - 1, 3 << 20} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, ok := Inflate(bomb, limit)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; ok || took > uint64(2*limit+tables) {
			t.Errorf("limit %d: took %d bytes, %t", limit, took, ok)
		}
	}
}

func TestJoin(t *testing.T) {
	for name, c := range map[string]struct {
		blocks string
		limit  int
		want   string
		ok     bool
	}{
		"nothing":                {"", 0, "", true},
		"an empty block":         {"\x00", 0, "", true},
		"one block":              {"\x03abc\x00", 3, "abc", true},
		"one block, no end":      {"\x03abc", 3, "abc", true},
		"two blocks":             {"\x03abc\x02de\x00", 5, "abcde", true},
		"two blocks and a limit": {"\x03abc\x02de\x00", 4, "", false},
		"a block that is cut":    {"\x03abc\x02d", 9, "", false},
	} {
		a := Attribute{Data: []byte(c.blocks), Parted: true}
		if got, ok := a.Bytes(c.limit); ok != c.ok || string(got) != c.want {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
}

func TestBytesOfAttribute(t *testing.T) {
	plain := Attribute{Data: []byte("abc")}
	if got, ok := plain.Bytes(3); !ok || string(got) != "abc" {
		t.Errorf("%q, %t", got, ok)
	}
	if _, ok := plain.Bytes(2); ok {
		t.Error("three bytes pass a limit of two")
	}
	packed := Attribute{Data: zipped(t, []byte("abc")), Zipped: true}
	if got, ok := packed.Bytes(3); !ok || string(got) != "abc" {
		t.Errorf("%q, %t", got, ok)
	}
}
