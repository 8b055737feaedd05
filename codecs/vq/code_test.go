package vq

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// A codedSegment is a segment of a table, and what vq_code is told of it.
type codedSegment struct {
	symbols []symbol
	cols, n int
	room    int
}

// The index coder of the card gives the bytes of encodeSegment: for segments of all kinds, some
// after others with the same memory, and where there is too little room it counts what there
// would be.
func TestCodeKernel(t *testing.T) {
	program := gputest.CPUProgram(t, "../..", "testdata/code.cc", "codecs/vq/code.cuh", "codecs/vq/vectors.cuh", "codecs/vq/shared.cuh",
		"gpu/include/base.cuh", "gpu/include/warp.cuh", "gpu/include/alllanes.cuh")
	r := rand.New(rand.NewPCG(8, 1))
	var list []codedSegment
	words := 0
	for _, n := range []int{1, 2, 3, 5, 8, 17, 64, 65, 255, 256, 257, 1000, 4096} {
		for _, cols := range []int{1, 2, 31, 32, 33, 100} {
			s := codedSegment{cols: cols, n: n}
			for kind, blocks := r.IntN(4), cols*(1+r.IntN(40)); blocks > 0; blocks-- {
				rank := r.IntN(n)
				switch kind {
				case 1:
					rank = min(rank, r.IntN(4), r.IntN(4))
				case 2:
					rank = n - 1
				case 3:
					rank = blocks / 100 % 2 * rank
				}
				// The greatest contexts, and few that are seen often.
				activity, mismatch, best := r.IntN(activities), r.IntN(21), r.IntN(n)
				if kind&1 != 0 {
					activity, mismatch, best = 3, 9, best%3
				}
				s.symbols = append(s.symbols, symbol(rank|best>>bestShift(n)<<12|mismatch<<20|activity<<25))
			}
			s.room = 4*len(s.symbols) + 8
			if r.IntN(10) == 0 {
				s.room = r.IntN(8)
			}
			list = append(list, s)
			words = max(words, codeWords(n))
		}
	}
	got := runCode(t, program, list, 5, words)
	for i, s := range list {
		want := encodeSegment(s.symbols, s.cols, segment{0, len(s.symbols) / s.cols}, s.n)
		n := min(len(want), s.room)
		if got[i].length != len(want) || !bytes.Equal(got[i].bytes[:n], want[:n]) {
			t.Fatalf("segment %d, %d codewords, %d blocks, %d columns: %d bytes, want %d; or others", i, s.n, len(s.symbols), s.cols, got[i].length, len(want))
		}
	}
}

type codeResult struct {
	length int
	bytes  []byte
}

// runCode codes the segments with the program.
func runCode(t *testing.T, program string, list []codedSegment, blocks, words int) []codeResult {
	le := binary.LittleEndian
	var in bytes.Buffer
	put := func(v ...int) {
		for _, v := range v {
			in.Write(le.AppendUint32(nil, uint32(v)))
		}
	}
	put(len(list), blocks, words)
	in.Write(gpu.Bytes([]deviceTables{coderTables}))
	for _, s := range list {
		put(len(s.symbols), s.cols, s.n, codeContexts(s.n), s.room)
		in.Write(gpu.Bytes(s.symbols))
	}
	out := bytes.NewBuffer(gputest.RunCPU(t, program, in.Bytes()))
	var results []codeResult
	for _, s := range list {
		length := int(le.Uint32(out.Next(4)))
		results = append(results, codeResult{length, bytes.Clone(out.Next(s.room))})
	}
	return results
}

// Contexts and places are as many as the greatest that the coder computes, and no more.
func TestCodeWords(t *testing.T) {
	for n := 1; n <= maxCodewords; n++ {
		if got, want := codeContexts(n), contextStart[3]+(n-1)>>bestShift(n)+1; got != want {
			t.Fatalf("%d codewords: %d contexts, want %d", n, got, want)
		}
		places := 0
		for length := 1; length <= bits.Len(uint(n-1)); length++ {
			places++
			if length > 1 {
				places += 3
			}
		}
		if got, want := codeWords(n), codeContexts(n)*places; got != want {
			t.Fatalf("%d codewords: %d words, want %d", n, got, want)
		}
	}
}
