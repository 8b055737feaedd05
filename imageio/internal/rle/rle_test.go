package rle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// encode writes samples as a frame, each row by itself as PS3.5, G.3.1 asks, or with
// runs that cross rows.
func encode(pix []byte, s Shape, cross bool) []byte {
	n := s.Channels * s.BytesPerSample
	out := make([]byte, headerSize)
	binary.LittleEndian.PutUint32(out, uint32(n))
	for i := range n {
		binary.LittleEndian.PutUint32(out[4+4*i:], uint32(len(out)))
		at := i/s.BytesPerSample*s.BytesPerSample + s.BytesPerSample - 1 - i%s.BytesPerSample
		plane := make([]byte, 0, s.Width*s.Height)
		for p := range s.Width * s.Height {
			plane = append(plane, pix[p*n+at])
		}
		row := s.Width
		if cross {
			row = len(plane)
		}
		for ; len(plane) > 0; plane = plane[row:] {
			out = appendRow(out, plane[:row])
		}
		if len(out)%2 != 0 {
			out = append(out, 0)
		}
	}
	return out
}

func appendRow(out, row []byte) []byte {
	for len(row) > 0 {
		run := 1
		for run < len(row) && run < 128 && row[run] == row[0] {
			run++
		}
		if run > 1 {
			out = append(out, byte(257-run), row[0])
			row = row[run:]
			continue
		}
		n := 1
		for n < len(row) && n < 128 && (n+1 >= len(row) || row[n] != row[n+1]) {
			n++
		}
		out = append(append(out, byte(n-1)), row[:n]...)
		row = row[n:]
	}
	return out
}

type test struct {
	name  string
	frame []byte
	s     Shape
	pix   []byte
}

func tests() (all []test) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, side := range [][2]int{{1, 1}, {1, 17}, {17, 1}, {2, 3}, {127, 2}, {128, 2}, {129, 3}, {300, 5}} {
		for _, channels := range []int{1, 3} {
			for _, bytes := range []int{1, 2} {
				for _, cross := range []bool{false, true} {
					s := Shape{side[0], side[1], channels, bytes}
					pix := make([]byte, s.Size())
					for i := range pix {
						pix[i] = byte(r.IntN(3) * r.IntN(200))
						if i > 9 && r.IntN(4) > 0 {
							pix[i] = pix[i-channels*bytes]
						}
					}
					all = append(all, test{fmt.Sprintf("%+v, across rows: %v", s, cross), encode(pix, s, cross), s, pix})
				}
			}
		}
	}
	return all
}

func TestDecode(t *testing.T) {
	for _, c := range tests() {
		pix := make([]byte, c.s.Size())
		if err := Decode(c.frame, c.s, pix); err != nil || !bytes.Equal(pix, c.pix) {
			t.Errorf("%s: %v, or other samples", c.name, err)
		}
	}
}

// frame is a frame of one byte per sample with the given segments.
func frame(segments ...string) []byte {
	out := make([]byte, headerSize)
	binary.LittleEndian.PutUint32(out, uint32(len(segments)))
	for i, s := range segments {
		binary.LittleEndian.PutUint32(out[4+4*i:], uint32(len(out)))
		out = append(out, s...)
	}
	return out
}

func TestSegments(t *testing.T) {
	s := Shape{Width: 4, Height: 1, Channels: 1, BytesPerSample: 1}
	for _, c := range []struct{ name, segment, pix, says string }{
		{"literal", "\x03abcd", "abcd", ""},
		{"run", "\xfda", "aaaa", ""},
		{"control 128 says nothing", "\x80\xffa\x80\x01bc", "aabc", ""},
		{"padding behind the last sample", "\x03abcd\x00", "abcd", ""},
		{"bytes behind the last sample", "\x03abcdefgh", "abcd", ""},
		{"a run over the end", "\x00a\x81b", "abbb", ""},
		{"a literal over the end", "\x05abcdef", "abcd", ""},
		{"a literal cut short", "\x03abc", "", "segment 1 of 1 ends"},
		{"a run cut short", "\x02abc\xff", "", "segment 1 of 1 ends"},
		{"too few samples", "\x02abc", "", "segment 1 of 1 ends"},
		{"only controls 128", "\x80\x80\x80\x80", "", "segment 1 of 1 ends"},
		{"nothing", "", "", "segment 1 of 1 ends"},
	} {
		pix := make([]byte, 4)
		err := Decode(frame(c.segment), s, pix)
		if c.says == "" && (err != nil || string(pix) != c.pix) {
			t.Errorf("%s: %q, %v", c.name, pix, err)
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestHeader(t *testing.T) {
	s := Shape{Width: 2, Height: 1, Channels: 3, BytesPerSample: 1}
	good := frame("\x01ab", "\x01cd", "\x01ef")
	change := func(at int, v uint32) []byte {
		f := bytes.Clone(good)
		binary.LittleEndian.PutUint32(f[at:], v)
		return f
	}
	for _, c := range []struct {
		name, says string
		frame      []byte
	}{
		{"as it is", "", good},
		{"offset of a segment that is not used", "", change(16, 7)},
		{"fewer segments", "has 2 segments", change(0, 2)},
		{"more segments", "has 15 segments", change(0, 15)},
		{"2^32-1 segments", "segments", change(0, 1<<32-1)},
		{"offset in the header", "begins at byte 63", change(4, 63)},
		{"offset behind the end", "begins at byte 74", change(12, 74)},
		{"offset of 2^32-1", "begins at", change(8, 1<<32-1)},
		{"segments out of order", "out of order", change(12, 66)},
		{"half a header", "no header", good[:63]},
	} {
		err := Decode(c.frame, s, make([]byte, 6))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if Decode(good, s, make([]byte, 5)) == nil {
		t.Error("a buffer of another size was taken")
	}
	if Decode(good, Shape{2, 1, 1, 3}, make([]byte, 6)) == nil {
		t.Error("samples of 3 bytes were taken")
	}
}

// TestTruncation cuts a frame at every byte: nothing is ever invented.
func TestTruncation(t *testing.T) {
	s := Shape{Width: 3, Height: 2, Channels: 3, BytesPerSample: 2}
	pix := []byte("a frame of 3 by 2 pixels with 36 byte")[:s.Size()]
	f := encode(pix, s, true)
	for n := range len(f) - 1 { // the last byte may be padding
		if Decode(f[:n], s, make([]byte, s.Size())) == nil {
			t.Errorf("%d of %d bytes were taken", n, len(f))
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i, c := range tests() {
		if i%5 == 0 {
			f.Add(c.frame, byte(c.s.Width), byte(c.s.Height), c.s.Channels == 3, c.s.BytesPerSample == 2)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, w, h byte, colour, two bool) {
		s := Shape{int(w) + 1, int(h) + 1, 1, 1}
		if colour {
			s.Channels = 3
		}
		if two {
			s.BytesPerSample = 2
		}
		pix, again := make([]byte, s.Size()), make([]byte, s.Size())
		if Decode(data, s, pix) != nil {
			return
		}
		if err := Decode(encode(pix, s, false), s, again); err != nil || !bytes.Equal(pix, again) {
			t.Fatalf("%+v: %v", s, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, s := range []Shape{{512, 512, 1, 1}, {512, 512, 1, 2}, {512, 512, 3, 1}} {
		pix := make([]byte, s.Size())
		r := rand.New(rand.NewPCG(1, 2))
		for i := range pix {
			if pix[i] = byte(r.IntN(256)); i > 9 && r.IntN(8) > 0 {
				pix[i] = pix[i-s.Channels*s.BytesPerSample]
			}
		}
		f := encode(pix, s, false)
		b.Run(fmt.Sprintf("%dx%d", s.Channels, 8*s.BytesPerSample), func(b *testing.B) {
			b.SetBytes(int64(s.Size()))
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(f, s, pix); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
