package vq

// The vector kernels of search. Both go through the whole codebook in the order of
// distance<<shift | index as one number of 32 bits, whose least is found lane by lane
// without a branch; see steps.go for why that is exact. They differ only in how they
// form the distance.

//go:noescape
func searchAVX2(keys *uint32, pts *byte, norms *uint32, fours int, words *int16, base *uint32, groups, k int, shift uint64)

//go:noescape
func searchVNNI(keys *uint32, pts *byte, halves *uint32, eights int, words *byte, base *uint32, groups, k int, shift uint64)

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
			for j, s := range w {
				c.bytes[(group*v.k/4+j/4)*64+4*lane+j%4] = s
			}
			c.base[i] = (norm(w)-254*uint32(sum(w)))<<v.shift + uint32(index)
		}
	}
	return c
}

// find sets keys to the least key of each of the blocks, at most blocksAtOnce.
func (v *vectorFinder) find(b vectors, keys []key) {
	const most = 8 // blocks that a kernel takes at a time
	var raw [blocksAtOnce]uint32
	var norms [blocksAtOnce]uint32
	var tail [most * maxBlock]byte
	odd := v.kernel == kernelVNNI
	n := len(keys)
	for i, s := range b.norms[:n] {
		if odd {
			s = (s + 1) / 2
		}
		norms[i] = s
	}
	at := 4
	if odd {
		at = 8
	}
	whole := n / at * at
	copy(tail[:], b.samples[whole*v.k:n*v.k])
	for i, c := range v.chunks {
		if whole > 0 {
			v.run(&raw[0], &b.samples[0], &norms[0], whole/at, c)
		}
		if whole < n {
			v.run(&raw[whole], &tail[0], &norms[whole], 1, c)
		}
		for j, r := range raw[:n] {
			d := r >> v.shift
			if odd {
				d -= b.norms[j] & 1
			}
			k := makeKey(d, c.first+int(r&(1<<v.shift-1)))
			if i == 0 || k < keys[j] {
				keys[j] = k
			}
		}
	}
}

func (v *vectorFinder) run(raw *uint32, pts *byte, norms *uint32, times int, c chunk) {
	if v.kernel == kernelAVX2 {
		searchAVX2(raw, pts, norms, times, &c.wide[0], &c.base[0], len(c.base)/v.lanes, v.k, uint64(v.shift))
	} else {
		searchVNNI(raw, pts, norms, times, &c.bytes[0], &c.base[0], len(c.base)/v.lanes, v.k, uint64(v.shift)+1)
	}
}
