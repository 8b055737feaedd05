package tiff

// Planes interleaves the samples of planes.
type Planes struct {
	count  int // planes
	sample int // bytes of a sample
	swap   bool
	places [most][most][lane]byte
}

const (
	lane = 16 // bytes that a vector has
	most = 4  // planes that are interleaved with vectors
)

// NewPlanes returns what interleaves so many planes with samples of one or two bytes, which swap exchanges.
func NewPlanes(count, sample int, swap bool) *Planes {
	p := &Planes{count: count, sample: sample, swap: swap}
	if count > most {
		return p
	}
	// Where each byte of a vector of pixels lies in the vectors of the planes: nowhere in all but one.
	for i := range count * lane {
		in := i % (count * sample)
		for plane := range count {
			p.places[i/lane][plane][i%lane] = 0x80
		}
		byteOf := in % sample
		if swap {
			byteOf = sample - 1 - byteOf
		}
		p.places[i/lane][in/sample][i%lane] = byte(i/(count*sample)*sample + byteOf)
	}
	return p
}

// Interleave fills dst with pixels, which have a sample of each plane. The planes have at least as many.
func (p *Planes) Interleave(dst []byte, planes [][]byte) {
	done := p.vectors(dst, planes)
	if p.sample == 1 {
		dst = dst[done*p.count:]
		for c, plane := range planes {
			plane = plane[done : done+len(dst)/p.count]
			for i, v := range plane {
				dst[c+i*p.count] = v
			}
		}
		return
	}
	first, second := 0, 1
	if p.swap {
		first, second = 1, 0
	}
	for i := done; i*p.count < len(dst); i += 2 {
		for c, plane := range planes {
			to, from := dst[i*p.count+2*c:], plane[i:]
			to[0], to[1] = from[first], from[second]
		}
	}
}
