package device

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/internal/container/png"
)

// file is a PNG file of a test, or what looks like one.
type file struct {
	name string
	data []byte
}

// pngFile makes a file of rows with their filters, in chunks of at most so many bytes.
func pngFile(width, height, colour int, stream []byte, most int, extra ...[]byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	b := png.Append([]byte(png.Signature), "IHDR", append(head, 8, byte(colour), 0, 0, 0))
	for _, e := range extra {
		b = append(b, e...)
	}
	for {
		n := min(most, len(stream))
		b = png.Append(b, "IDAT", stream[:n])
		if stream = stream[n:]; len(stream) == 0 {
			return png.Append(b, "IEND", nil)
		}
	}
}

// paletteFile has a palette, and indices of depth bits that may name entries which it lacks.
func paletteFile(rng *rand.Rand, width, height, depth int) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	b := png.Append([]byte(png.Signature), "IHDR", append(head, byte(depth), png.Palette, 0, 0, 0))
	colours := make([]byte, 3*(1+rng.IntN(1<<depth)))
	for i := range colours {
		colours[i] = byte(rng.Uint32())
	}
	b = png.Append(b, "PLTE", colours)
	b = png.Append(b, "IDAT", zipped(randomRows(rng, height, (width*depth+7)/8, rng.IntN(3)), 1+rng.IntN(9)))
	return png.Append(b, "IEND", nil)
}

// zipped is a zlib stream of rows.
func zipped(rows []byte, level int) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	w.Write(rows)
	w.Close()
	return b.Bytes()
}

// channels are those of the colour types that a device takes.
var channels = map[int]int{png.Grey: 1, png.RGB: 3, png.GreyAlpha: 2, png.RGBA: 4}

// randomRows are rows with random filters and residuals of some kind.
func randomRows(rng *rand.Rand, height, rowBytes, kind int) []byte {
	var rows []byte
	for range height {
		rows = append(rows, byte(rng.IntN(5)))
		for x := range rowBytes {
			switch kind {
			case 0: // noise, which is stored
				rows = append(rows, byte(rng.Uint32()))
			case 1: // as of a photograph
				rows = append(rows, byte(int(rng.NormFloat64()*6)))
			case 2: // runs
				rows = append(rows, byte(x/64))
			case 3: // matches near and far
				if n := len(rows); n > 40 && rng.IntN(4) > 0 {
					rows = append(rows, rows[n-1-rng.IntN(min(n-1, 1<<(1+rng.IntN(15))))])
				} else {
					rows = append(rows, byte(rng.IntN(3)))
				}
			case 4:
				rows = append(rows, 0)
			case 5: // two values, which make codes of one bit
				rows = append(rows, byte(rng.IntN(2)*200))
			default: // the row before again, with changes
				if n := len(rows); n > rowBytes && rng.IntN(30) > 0 {
					rows = append(rows, rows[n-rowBytes-1])
				} else {
					rows = append(rows, byte(rng.Uint32()))
				}
			}
		}
	}
	return rows
}

const kinds = 7

// sizes are those of files: the smallest, and around the pixels of a warp and a step.
func sizes() (list [][2]int) {
	for w := 1; w <= 70; w += 1 + w/12 {
		list = append(list, [2]int{w, 1 + w*7%66})
	}
	return append(list, [2]int{1, 1}, [2]int{1, 70}, [2]int{31, 31}, [2]int{32, 32}, [2]int{33, 33}, [2]int{7, 64}, [2]int{8, 65}, [2]int{9, 63}, [2]int{300, 3}, [2]int{257, 129})
}

// madeFiles are files of all sizes, colour types, levels and kinds.
func madeFiles(rng *rand.Rand) (list []file) {
	for i, s := range sizes() {
		for colour, n := range channels {
			kind, level := rng.IntN(kinds), []int{0, 1, 6, 9, zlib.HuffmanOnly}[rng.IntN(5)]
			rows := randomRows(rng, s[1], s[0]*n, kind)
			most := []int{1 << 20, 100, 1}[rng.IntN(3)]
			list = append(list, file{fmt.Sprintf("%d: %d x %d of colour type %d, kind %d, level %d, chunks of %d", i, s[0], s[1], colour, kind, level, most),
				pngFile(s[0], s[1], colour, zipped(rows, level), most)})
		}
	}
	for kind := range kinds {
		rows := randomRows(rng, 200, 3*310, kind)
		list = append(list, file{fmt.Sprintf("larger, kind %d", kind), pngFile(310, 200, png.RGB, zipped(rows, 6), 8192)})
	}
	rows := randomRows(rng, 20, 3*30, 1)
	tiff := "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00%c\x00\x00\x00\x00\x00\x00"
	for name, extra := range map[string][]byte{
		"density": png.Append(nil, "pHYs", []byte{0, 0, 11, 19, 0, 0, 22, 38, 1}), "text": png.Append(nil, "tEXt", []byte("Author\x00nobody")),
		"turned": png.Append(nil, "eXIf", fmt.Appendf(nil, tiff, 6)), "mirrored": png.Append(nil, "eXIf", fmt.Appendf(nil, tiff, 2)),
		"transparent": png.Append(nil, "tRNS", make([]byte, 6)), "frames": png.Append(nil, "acTL", []byte{0, 0, 0, 2, 0, 0, 0, 0}),
		"profile": png.Append(nil, "iCCP", append([]byte("a\x00\x00"), zipped(make([]byte, 300), 6)...)),
		"gamma":   png.Append(nil, "gAMA", []byte{0, 0, 177, 143}),
	} {
		list = append(list, file{"with " + name, pngFile(30, 20, png.RGB, zipped(rows, 6), 500, extra)})
	}
	list = append(list, file{"a long run", pngFile(1000, 700, png.RGB, zipped(make([]byte, 700*3001), 9), 8192)})
	return append(list, handMade()...)
}

// bitWriter writes deflate streams by hand.
type bitWriter struct {
	b    []byte
	free int // bits of the last byte that are not used
}

func (w *bitWriter) put(v uint32, n int) {
	for i := range n {
		if w.free == 0 {
			w.b, w.free = append(w.b, 0), 8
		}
		w.b[len(w.b)-1] |= byte(v>>i&1) << (8 - w.free)
		w.free--
	}
}

// code puts a prefix code, its first bit first.
func (w *bitWriter) code(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		w.put(v>>i, 1)
	}
}

// handMade are streams that a compressor does not write. Some are sound.
func handMade() (list []file) {
	add := func(name string, rows []byte, f func(w *bitWriter)) {
		w := &bitWriter{b: []byte{0x78, 0x9c}}
		f(w)
		sum := uint32(1)
		s1, s2 := sum, uint32(0)
		for _, v := range rows {
			s1 = (s1 + uint32(v)) % 65521
			s2 = (s2 + s1) % 65521
		}
		list = append(list, file{name, pngFile(len(rows)-1, 1, png.Grey, binary.BigEndian.AppendUint32(w.b, s2<<16|s1), 1<<20)})
	}
	fixed := func(w *bitWriter, v byte) {
		if v < 144 {
			w.code(48+uint32(v), 8)
		} else {
			w.code(400+uint32(v)-144, 9)
		}
	}
	add("many empty blocks", make([]byte, 9), func(w *bitWriter) {
		for range 300 {
			w.put(2, 3) // fixed codes
			w.code(0, 7)
		}
		for range 30 {
			w.put(0, 3) // stored
			w.free = 0
			w.put(0xffff0000, 32)
		}
		w.put(3, 3)
		for range 9 {
			fixed(w, 0)
		}
		w.code(0, 7)
	})
	add("codes of eight bits at odd places", make([]byte, 5001), func(w *bitWriter) {
		w.put(3, 3)
		for range 5001 {
			fixed(w, 0)
		}
		w.code(0, 7)
	})
	add("a distance before the stream", make([]byte, 9), func(w *bitWriter) {
		w.put(3, 3)
		fixed(w, 0)
		w.code(1, 7) // length 3
		w.code(1, 5) // distance 2
		for range 5 {
			fixed(w, 0)
		}
		w.code(0, 7)
	})
	add("length and distance codes that are reserved", make([]byte, 9), func(w *bitWriter) {
		w.put(3, 3)
		fixed(w, 0)
		w.code(0xc6, 8) // 286
		w.code(0, 5)
		w.code(0, 7)
	})
	add("no end of the block", make([]byte, 9), func(w *bitWriter) {
		w.put(3, 3)
		for range 9 {
			fixed(w, 0)
		}
	})
	add("block type 3", make([]byte, 9), func(w *bitWriter) { w.put(7, 3); w.put(0, 64) })
	run := make([]byte, 1+2*258*300)
	add("two bits for 258 bytes", run, func(w *bitWriter) {
		w.put(5, 3)       // dynamic
		w.put(286-257, 5) // lengths
		w.put(0, 5)       // one distance
		w.put(14, 4)      // 18 lengths of lengths
		short := map[int]uint32{18: 2, 0: 2, 1: 2, 2: 2}
		order := []int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1}
		for _, s := range order {
			w.put(short[s], 3)
		}
		// Codes: 0 is 00, 1 is 01, 2 is 10, 18 is 11.
		zeros := func(n int) {
			for n > 138 {
				w.code(3, 2)
				w.put(127, 7)
				n -= 138
			}
			for ; n > 0 && n < 11; n-- {
				w.code(0, 2)
			}
			if n > 0 {
				w.code(3, 2)
				w.put(uint32(n-11), 7)
			}
		}
		w.code(2, 2) // literal 0: 2 bits
		zeros(255)
		w.code(2, 2) // end: 2 bits
		zeros(28)
		w.code(1, 2) // 258: 1 bit
		w.code(1, 2) // distance 1: 1 bit
		w.code(2, 2)
		for range 2 * 300 {
			w.code(0, 1)
			w.code(0, 1)
		}
		w.code(3, 2)
	})
	return list
}

// corpus are the files of test data that are PNG.
func corpus(t testing.TB) (list []file) {
	t.Helper()
	for _, pattern := range []string{"../../../../imageio/testdata/*.png", "../../../../imageio/testdata/*/*.png", "../testdata/*.png", "../testdata/*/*.png",
		"../../../../testdata/*.png", "../../../../testdata/*/*.png", "../../../../testdata/*/*/*.png"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			data, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, file{n, data})
		}
	}
	return list
}

// damagedFiles are files of which a byte of the stream or its length was changed and the checksums of chunks were made anew, so that
// only who inflates can find it.
func damagedFiles(rng *rand.Rand, n int) (list []file) {
	for i := range n {
		kind := rng.IntN(kinds)
		w, h := 1+rng.IntN(90), 1+rng.IntN(60)
		rows := randomRows(rng, h, 3*w, kind)
		z := zipped(rows, []int{0, 1, 6, 9, zlib.HuffmanOnly}[rng.IntN(5)])
		what := rng.IntN(6)
		switch what {
		case 0:
			z = z[:rng.IntN(len(z))]
		case 1:
			z = append(z, byte(rng.Uint32()))
		case 2:
			h++ // less than it says
		case 3:
			h = max(1, h-1) // more, but for one row
		default:
			for range 1 + rng.IntN(3) {
				z[rng.IntN(len(z))] ^= 1 << rng.IntN(8)
			}
		}
		list = append(list, file{fmt.Sprintf("damage %d of kind %d in image %d", what, kind, i), pngFile(w, h, png.RGB, z, 1<<20)})
	}
	return list
}

// streamsOf opens those files that a device may take.
func streamsOf(files []file) (streams []*imageio.Stream, of []file) {
	for _, f := range files {
		if s, ok := imageio.OpenStream(f.data, nil); ok {
			streams, of = append(streams, s), append(of, f)
		}
	}
	return streams, of
}

// coded are the streams as a device takes them.
func coded(streams []*imageio.Stream) []*png.Stream {
	list := make([]*png.Stream, len(streams))
	for i, s := range streams {
		list[i] = s.Stream
	}
	return list
}

// same compares what came of a stream with what package imageio reads. One that was left to it may be anything, but it says
// whether imageio reads the file.
func same(f file, s *imageio.Stream, done bool) (reads bool, err error) {
	want, failure := imageio.Decode(f.data, nil)
	if !done {
		return failure == nil, nil
	}
	if failure != nil {
		return false, fmt.Errorf("%s: a device reads it, and others do not: %w", f.name, failure)
	}
	got, failure := s.Decode()
	if failure != nil {
		return true, fmt.Errorf("%s: %w", f.name, failure)
	}
	if !got.Same(want.Shape) || got.Shape != want.Shape || !bytes.Equal(got.Pix, want.Pix) || got.Hash() != want.Hash() {
		return true, fmt.Errorf("%s: other samples", f.name)
	}
	if lost := append(want.Meta.Lost(&got.Meta), got.Meta.Lost(&want.Meta)...); len(lost) > 0 || got.Meta.Orientation != want.Meta.Orientation {
		return true, fmt.Errorf("%s: other attributes: %v", f.name, lost)
	}
	return true, nil
}

// checkAll holds the results for files against what package imageio reads. mostLeft are left to it although it reads them.
func checkAll(t *testing.T, files []file, streams []*imageio.Stream, done []bool, mostLeft int) {
	t.Helper()
	left, read := 0, 0
	for i, f := range files {
		reads, err := same(f, streams[i], done[i])
		if err != nil {
			t.Error(err)
		}
		if done[i] {
			read++
		} else if reads {
			if left++; left > mostLeft {
				t.Errorf("%s: is left to the host, which reads it", f.name)
			}
		}
	}
	t.Logf("%d files, %d read, %d left that the host reads", len(files), read, left)
}
