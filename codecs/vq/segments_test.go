package vq

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/pool"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// randomStream is a segment of a random index table, coded.
type randomStream struct {
	book         *codebook
	cols, blocks int
	stream       []byte
}

// newRandomStream has codewords of many kinds, and indices that follow their neighbours more or less.
func newRandomStream(r *rand.Rand) randomStream {
	s := []shape{{2, 2}, {4, 2}, {4, 4}, {8, 8}}[r.IntN(4)]
	n := 1 + r.IntN(40)
	switch r.IntN(8) {
	case 0:
		n = 1 + r.IntN(4)
	case 1:
		n = 33 + r.IntN(400)
	case 2:
		n = []int{256, 257, 1000, 4095, 4096}[r.IntN(5)]
	}
	book := finished(&codebook{shape: s, words: testVectors(r, s.k(), n)})
	n = book.n()
	cols, rows := 1+r.IntN(1+r.IntN(30)), 1+r.IntN(12)
	table := make([]uint16, cols*rows)
	k := book.ranker(pool.New())
	p := newPicker(n)
	near := 1 + r.IntN(min(n, 1<<r.IntN(12)))
	for i := range table {
		above, left, _ := k.around(table, cols, 0, i/cols, i%cols)
		p.fill(k, above, left)
		place := r.IntN(1 + r.IntN(near))
		table[i] = uint16(p.nth(place) & (1<<indexBits - 1))
	}
	symbols := make([]symbol, len(table))
	ranks(table, cols, segment{0, rows}, k, symbols)
	return randomStream{book, cols, len(table), encodeSegment(symbols, cols, segment{0, rows}, n)}
}

// damage changes the stream as transfers and disks do, or not at all.
func (c *randomStream) damage(r *rand.Rand) {
	c.stream = slices.Clone(c.stream)
	switch r.IntN(6) {
	case 0:
		c.stream[r.IntN(len(c.stream))] ^= 1 << r.IntN(8)
	case 1:
		c.stream = c.stream[:r.IntN(len(c.stream)+1)]
	case 2:
		c.stream = append(c.stream, byte(r.Uint32()))
	case 3:
		for i := range c.stream {
			c.stream[i] = byte(r.Uint32())
		}
	}
}

// expectation is the table that a stream decodes to, that of a sound one, or one that differs in an index.
func (c *randomStream) expectation(r *rand.Rand, sound []uint16) []uint16 {
	table := slices.Clone(sound)
	decodeSegment(c.stream, table, c.cols, segment{0, c.blocks / c.cols}, c.book.ranker(pool.New()))
	switch r.IntN(4) {
	case 0:
		copy(table, sound)
	case 1:
		table[r.IntN(len(table))] = uint16(r.IntN(c.book.n() + 1))
	}
	return table
}

// The kernels that decode segments do what decodeSegment does, for sound streams and for damaged ones, and those that compare them with
// expected tables find what it finds: run on a CPU, where the lanes of a warp take turns.
func TestSegmentsAreDecodedByKernels(t *testing.T) {
	program := gputest.CPUProgram(t, "../..", "testdata/segments.cc", "codecs/vq/expect.cuh", "codecs/vq/segments.cuh", "codecs/vq/code.cuh", "codecs/vq/vectors.cuh",
		"codecs/vq/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh", "gpu/include/alllanes.cuh")
	r := rand.New(rand.NewPCG(40, 41))
	count := 400
	if testing.Short() {
		count = 60
	}
	var list []randomStream
	var wanted [][]uint16
	var in bytes.Buffer
	for i := range count {
		c := newRandomStream(r)
		sound := make([]uint16, c.blocks)
		decodeSegment(c.stream, sound, c.cols, segment{0, c.blocks / c.cols}, c.book.ranker(pool.New()))
		if i%2 == 1 {
			c.damage(r)
		}
		list = append(list, c)
		for _, v := range []int{c.book.n(), c.book.p, c.book.q, c.cols, c.blocks, len(c.stream), r.IntN(2)} {
			binary.Write(&in, binary.LittleEndian, uint32(v))
		}
		in.Write(c.book.words)
		in.Write(c.stream)
		wanted = append(wanted, c.expectation(r, sound))
		in.Write(gpu.Bytes(wanted[i]))
		if i == 0 {
			in.Write(gpu.Bytes([]deviceTables{coderTables}))
		}
	}
	out := gputest.RunCPU(t, program, in.Bytes())
	sound, same := 0, 0
	for i, c := range list {
		damaged, got := binary.LittleEndian.Uint32(out), make([]uint16, c.blocks)
		out = out[4:]
		for k := range got {
			got[k] = binary.LittleEndian.Uint16(out[2*k:])
		}
		out = out[2*c.blocks:]
		others := binary.LittleEndian.Uint32(out)
		out = out[4:]
		want := make([]uint16, c.blocks)
		whole := decodeSegment(c.stream, want, c.cols, segment{0, c.blocks / c.cols}, c.book.ranker(pool.New()))
		if whole != (damaged == 0) {
			t.Fatalf("segment %d, %d codewords of %s, %d blocks in rows of %d, %d bytes: damaged %d, on the CPU whole %v",
				i, c.book.n(), c.book.shape, c.blocks, c.cols, len(c.stream), damaged, whole)
		}
		if is := whole && slices.Equal(want, wanted[i]); is != (others == 0) {
			t.Fatalf("segment %d, %d codewords of %s, %d blocks in rows of %d, %d bytes: decodes to the expected table: %v, expected on the device: %d",
				i, c.book.n(), c.book.shape, c.blocks, c.cols, len(c.stream), is, others)
		} else if is {
			same++
		}
		if whole {
			sound++
			for k := range want {
				if got[k] != want[k] {
					t.Fatalf("segment %d, %d codewords of %s, %d blocks in rows of %d: index %d is %d, want %d",
						i, c.book.n(), c.book.shape, c.blocks, c.cols, k, got[k], want[k])
				}
			}
		}
	}
	if sound < count/2 {
		t.Errorf("only %d of %d segments are sound", sound, count)
	}
	if same < count/4 || same > sound*7/8 {
		t.Errorf("%d of %d sound segments are expected ones", same, sound)
	}
}
