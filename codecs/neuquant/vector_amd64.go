package neuquant

import features "golang.org/x/sys/cpu"

// hasAVX2 lets tests run both ways.
var hasAVX2 = features.X86.HasAVX2

//go:noescape
func learnAVX2(w *network, list *uint32, n int, alpha bool)

//go:noescape
func twoAVX2(keys, seconds, colours *uint32, n int, groups *entryGroup, count int)

//go:noescape
func unpackAVX2(out *uint32, samples *byte, eights int)

// unpack is unpackGo.
func unpack(out []uint32, samples []byte) {
	// The kernel reads four bytes beyond the samples of eight colours.
	if eights := (len(out) - 2) / 8; hasAVX2 && eights > 0 {
		_ = samples[8*3*eights+3]
		unpackAVX2(&out[0], &samples[0], eights)
		out, samples = out[8*eights:], samples[8*3*eights:]
	}
	unpackGo(out, samples)
}

// learn is learnGo. The alpha of opaque samples does not move and decides nothing.
func (w *network) learn(list []uint32, opaque bool) {
	if !hasAVX2 {
		w.learnGo(list)
		return
	}
	learnAVX2(w, &list[0], len(list), !opaque)
}

// entryGroup is eight entries as the kernel wants them: a key is
//
//	(|entry|^2 - 2 entry . colour + |colour|^2) << 8 | index
//
// of which it gets the second summand from 64 times the colour and -8 times the entry.
type entryGroup struct {
	redGreen, blueAlpha [8][2]int16 // times -8
	base                [8]int32    // |entry|^2 << 8 | index
}

// vectors is the entries in groups. The last has some that are farther than any entry.
type vectors []entryGroup

func newVectors(entries []uint32) vectors {
	if !hasAVX2 {
		return nil
	}
	v := make(vectors, (len(entries)+7)/8)
	for i := range len(v) * 8 {
		g, lane := &v[i/8], i%8
		if i >= len(entries) {
			g.base[lane] = 1 << 30
			continue
		}
		e := entries[i]
		g.redGreen[lane] = [2]int16{-8 * int16(e&255), -8 * int16(e>>8&255)}
		g.blueAlpha[lane] = [2]int16{-8 * int16(e>>16&255), -8 * int16(e>>24)}
		g.base[lane] = int32(distance(e, 0)<<indexBits | uint32(i))
	}
	return v
}

// two is twoGo, but for the second key where there is one entry.
func (f *finder) two(colours, keys, seconds []uint32) {
	if f.vectors == nil {
		f.twoGo(colours, keys, seconds)
		return
	}
	if len(colours) > 0 {
		twoAVX2(&keys[0], &seconds[0], &colours[0], len(colours), &f.vectors[0], len(f.vectors))
	}
}
