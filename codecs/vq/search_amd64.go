package vq

import "encoding/binary"

// The vector kernels of search. Both go through the whole codebook in the order of
// distance<<shift | index as one number of 32 bits, whose least is found lane by lane
// without a branch; see steps.go for why that is exact. They differ only in how they
// form the distance.

//go:noescape
func searchAVX2(keys *key, pts *byte, norms *uint32, fours int, words *int16, base *uint32, groups, k int, shift uint64)

//go:noescape
func searchVNNI(keys *key, pts *byte, norms *uint32, eights int, words *byte, base *uint32, groups, k int, shift uint64)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

// kernel is a way to search.
type kernel int

const (
	kernelGo kernel = iota
	kernelAVX2
	kernelVNNI
)

// bestKernel is the fastest that this machine and its operating system can run.
var bestKernel = func() kernel {
	const (
		osxsave  = 1 << 27
		avx2     = 1 << 5
		avx512f  = 1 << 16
		avx512dq = 1 << 17
		avx512bw = 1 << 30
		avx512vl = 1 << 31
		vnni     = 1 << 11

		stateAVX    = 0x06
		stateAVX512 = 0xe6
	)
	most, _, _, _ := cpuid(0, 0)
	_, _, c1, _ := cpuid(1, 0)
	if most < 7 || c1&osxsave == 0 {
		return kernelGo
	}
	state := xgetbv()
	_, b7, c7, _ := cpuid(7, 0)
	const all512 = avx512f | avx512dq | avx512bw | avx512vl
	switch {
	case state&stateAVX512 == stateAVX512 && b7&all512 == all512 && c7&vnni != 0:
		return kernelVNNI
	case state&stateAVX == stateAVX && b7&avx2 != 0:
		return kernelAVX2
	}
	return kernelGo
}()

// chunk is a part of the codebook as the vector kernels want it.
type chunk struct {
	first int
	base  []uint32 // of each codeword, what the key has beside the part with the block
	wide  []int16  // AVX2: by groups of 8 codewords and pairs of samples, -2 c
	bytes []byte   // VNNI: by groups of 16 codewords and fours of samples, c
}

// vectorFinder is a codebook laid out for a vector kernel.
type vectorFinder struct {
	kernel kernel
	k      int
	shift  int // bits of the index in a kernel's keys
	lanes  int // codewords of a group
	chunks []chunk
}

func newVectorFinder(book *codebook, use kernel) *vectorFinder {
	if use == kernelGo {
		return nil
	}
	// Distances of 64 samples take 22 bits and leave 10 for the index: larger
	// codebooks are searched in chunks.
	v := &vectorFinder{kernel: use, k: book.k(), shift: indexBits, lanes: 8}
	if v.k > 16 {
		v.shift = 10
	}
	if use == kernelVNNI {
		v.lanes = 16
	}
	for first := 0; first < book.n(); first += 1 << v.shift {
		v.chunks = append(v.chunks, v.lay(book, first, min(1<<v.shift, book.n()-first)))
	}
	return v
}

// lay makes the chunk of n codewords from first. The last codeword fills up the last
// group; being the same codeword with the same index it changes no least key.
func (v *vectorFinder) lay(book *codebook, first, n int) chunk {
	groups := (n + v.lanes - 1) / v.lanes
	c := chunk{first: first, base: make([]uint32, groups*v.lanes)}
	if v.kernel == kernelAVX2 {
		c.wide = make([]int16, groups*v.lanes*v.k)
	} else {
		c.bytes = make([]byte, groups*v.lanes*v.k)
	}
	for i := range c.base {
		index := min(i, n-1)
		w := book.word(first + index)
		group, lane := i/v.lanes, i%v.lanes
		if v.kernel == kernelAVX2 {
			for j, s := range w {
				c.wide[(group*v.k/2+j/2)*16+2*lane+j%2] = -2 * int16(s)
			}
			c.base[i] = norm(w)<<v.shift + uint32(index)
		} else {
			to := c.bytes[group*v.k*16+4*lane:]
			var norm, sum uint32
			for j := 0; j < len(w); j += 4 {
				a, b, c, d := uint32(w[j]), uint32(w[j+1]), uint32(w[j+2]), uint32(w[j+3])
				binary.LittleEndian.PutUint32(to[16*j:], a|b<<8|c<<16|d<<24)
				norm += a*a + b*b + c*c + d*d
				sum += a + b + c + d
			}
			c.base[i] = (norm-254*sum)<<v.shift + uint32(index)
		}
	}
	return c
}

// find sets keys to the least key of each of the blocks, at most blocksAtOnce.
func (v *vectorFinder) find(b vectors, keys []key) {
	if len(v.chunks) == 1 && v.shift == indexBits {
		v.run(keys, b, &v.chunks[0])
		return
	}
	var raw [blocksAtOnce]key
	for i := range v.chunks {
		c := &v.chunks[i]
		v.run(raw[:len(keys)], b, c)
		for j, r := range raw[:len(keys)] {
			k := makeKey(uint32(r>>v.shift), c.first+int(r&(1<<v.shift-1)))
			if i == 0 || k < keys[j] {
				keys[j] = k
			}
		}
	}
}

// run sets keys to the least keys of the blocks among the codewords of a chunk, as a kernel
// makes them: distance<<shift | index.
func (v *vectorFinder) run(keys []key, b vectors, c *chunk) {
	const most = 8 // blocks that a kernel takes at a time
	at := 4
	if v.kernel == kernelVNNI {
		at = 8
	}
	n := len(keys)
	whole := n / at * at
	if whole > 0 {
		v.kernelRun(&keys[0], &b.samples[0], &b.norms[0], whole/at, c)
	}
	if whole == n {
		return
	}
	var last [most]key
	var norms [most]uint32
	var tail [most * maxBlock]byte
	copy(tail[:], b.samples[whole*v.k:n*v.k])
	copy(norms[:], b.norms[whole:n])
	v.kernelRun(&last[0], &tail[0], &norms[0], 1, c)
	copy(keys[whole:], last[:])
}

func (v *vectorFinder) kernelRun(keys *key, pts *byte, norms *uint32, times int, c *chunk) {
	if v.kernel == kernelAVX2 {
		searchAVX2(keys, pts, norms, times, &c.wide[0], &c.base[0], len(c.base)/v.lanes, v.k, uint64(v.shift))
	} else {
		searchVNNI(keys, pts, norms, times, &c.bytes[0], &c.base[0], len(c.base)/v.lanes, v.k, uint64(v.shift)+1)
	}
}
