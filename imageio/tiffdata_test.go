package imageio

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zlib"
	"golang.org/x/image/tiff/lzw"
)

// lzwOf compresses as libtiff does: codes grow early, and a full table ends with a clear code.
func lzwOf(data []byte) []byte {
	var out []byte
	var acc uint64
	var have uint
	put := func(code int, width uint) {
		acc = acc<<width | uint64(code)
		for have += width; have >= 8; have -= 8 {
			out = append(out, byte(acc>>(have-8)))
		}
	}
	table, next, width := map[[2]int]int{}, lzwEnd+1, uint(9)
	put(lzwClear, width)
	last := -1
	for _, v := range data {
		if last < 0 {
			last = int(v)
			continue
		}
		if code, ok := table[[2]int{last, int(v)}]; ok {
			last = code
			continue
		}
		put(last, width)
		table[[2]int{last, int(v)}] = next
		last = int(v)
		if next++; next == 1<<width {
			width++
		}
		if next == lzwCodes-1 {
			put(lzwClear, 12)
			clear(table)
			next, width = lzwEnd+1, 9
		}
	}
	if last >= 0 {
		put(last, width)
		if next+1 == 1<<width {
			width++
		}
	}
	put(lzwEnd, width)
	return append(out, byte(acc<<(8-have)))
}

// similar are bytes that repeat themselves more or less.
func similar(rng *rand.Rand, n int) []byte {
	data := make([]byte, n)
	most, run := 1+rng.IntN(256), 1+rng.IntN(40)
	for i := range data {
		if data[i] = byte(rng.IntN(most)); i > run && rng.IntN(4) > 0 {
			data[i] = data[i-run]
		}
	}
	return data
}

// The fast decoder of LZW takes what an encoder writes; what it takes of damaged data is what the other one makes of
// them.
func TestTIFFLZW(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var z lzwStrings
	for n := range 600 {
		want := similar(rng, rng.IntN(40000)>>rng.IntN(10))
		raw := lzwOf(want)
		got := make([]byte, len(want))
		if !z.unpack(got, raw) || !bytes.Equal(got, want) {
			t.Fatalf("%d: %d bytes come back otherwise", n, len(want))
		}
		for range 4 {
			bad := bytes.Clone(raw)
			for range 1 + rng.IntN(3) {
				bad[rng.IntN(len(bad))] = byte(rng.IntN(256))
			}
			bad = bad[:len(bad)-rng.IntN(2)*rng.IntN(len(bad))]
			other := make([]byte, len(want))
			r := lzw.NewReader(bytes.NewReader(bad), lzw.MSB, 8)
			_, err := io.ReadFull(r, other)
			if !z.unpack(got, bad) {
				continue
			}
			if err != nil || !bytes.Equal(got, other) {
				t.Fatalf("%d: the fast decoder takes what the other gives %v for", n, err)
			}
		}
	}
}

// Strips of deflated data give the same bytes or errors, of any state of the shared reader.
func TestTIFFDeflate(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	var shared tiffWork
	for n := range 300 {
		var b bytes.Buffer
		w, _ := zlib.NewWriterLevel(&b, rng.IntN(10))
		want := similar(rng, 1+rng.IntN(200000)>>rng.IntN(10))
		w.Write(want)
		w.Close()
		raw := b.Bytes()
		asked := want[:len(want)-rng.IntN(2)*rng.IntN(len(want))]
		if n%3 > 0 {
			for range n % 3 {
				raw[rng.IntN(len(raw))] ^= 1 << rng.IntN(8)
			}
		}
		simple := func() ([]byte, error) {
			r, err := zlib.NewReader(bytes.NewReader(raw))
			if err != nil {
				return nil, err
			}
			out := make([]byte, len(asked))
			if _, err := io.ReadFull(r, out); err != nil {
				return nil, err
			}
			var more [1]byte
			if n, err := r.Read(more[:]); n == 0 && err != nil && err != io.EOF {
				return nil, err
			}
			return out, nil
		}
		other, wantErr := simple()
		got := make([]byte, len(asked))
		if err := shared.unzip(got, raw); (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%d: error %v, want %v", n, err, wantErr)
		} else if err == nil && !bytes.Equal(got, other) {
			t.Fatalf("%d: other bytes", n)
		}
	}
}

// Differences of rows of all lengths, of one to five samples in both orders.
func TestTIFFDifferences(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for width := 1; width < 40; width++ {
		for n := 1; n <= 5; n++ {
			for _, bits := range []int{8, 16} {
				for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
					p := &tiffPage{samples: n, bits: bits, order: order, blockW: width}
					row := make([]byte, width*n*bits/8)
					for i := range row {
						row[i] = byte(rng.IntN(256))
					}
					want := bytes.Clone(row)
					for i := n; i < width*n; i++ {
						if bits == 8 {
							want[i] += want[i-n]
						} else {
							order.PutUint16(want[2*i:], order.Uint16(want[2*i:])+order.Uint16(want[2*(i-n):]))
						}
					}
					if p.addLeft(row); !bytes.Equal(row, want) {
						t.Fatalf("%d pixels of %d samples of %d bits, %v: %v, want %v", width, n, bits, order, row, want)
					}
				}
			}
		}
	}
}
