package decode

// The inverse DCT is that of Loeffler, Ligtenberg and Moschytz (ICASSP 1989)
// with constants of 13 fractional bits: columns first, whose results keep 2
// fractional bits, then rows. libjpeg calls it "islow".

// Constants c(i,j,...), sums of sqrt(2)*cos(k*pi/16), Q13.
const (
	fix0298631336 = 2446
	fix0390180644 = 3196
	fix0541196100 = 4433
	fix0765366865 = 6270
	fix0899976223 = 7373
	fix1175875602 = 9633
	fix1501321110 = 12299
	fix1847759065 = 15137
	fix1961570560 = 16069
	fix2053119869 = 16819
	fix2562915447 = 20995
	fix3072711026 = 25172

	fixBits   = 13
	pass1Bits = 2
)

// narrow is the largest sum of magnitudes with which no number of the transform
// leaves 16 bits where libjpeg-turbo's vector instructions have no more: column
// results are at most 1.39 * 4 * sum, and pairs of them are added.
const narrow = 5800

// column holds the index of every coefficient of a column as set bits.
const column = 0x0101010101010101

// inverse transforms coefficients that are not dequantized into block x, y of the component.
func (c *component) inverse(from *[64]int16, x, y int) {
	inverse(from, c.quant, c.rows[8*y%c.ringRows*c.stride+8*x:], c.stride)
}

// inverseGo dequantizes and transforms a block.
func inverseGo(from *[64]int16, q *quantTable, to []byte, stride int) {
	var b block
	b.load(from, q)
	switch {
	case b.sum > narrow:
		inverseWide(&b, to, stride)
	case b.set&^1 == 0:
		flat(b.coefficients[0], to, stride)
	default:
		inverseNarrow(&b, to, stride)
	}
}

// flat is inverseNarrow for a block that has only a DC coefficient.
func flat(dc int32, to []byte, stride int) {
	v := uint64(clamp8((dc+4)>>3+128)) * 0x0101010101010101
	for range 7 {
		put8(to, v)
		to = to[stride:]
	}
	put8(to, v)
}

func put8(to []byte, v uint64) {
	_ = to[7]
	to[0], to[1], to[2], to[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	to[4], to[5], to[6], to[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}

// clamp8 holds v to 0..255.
func clamp8(v int32) byte {
	if uint32(v) > 255 {
		return byte(^(v >> 31))
	}
	return byte(v)
}

// inverseNarrow transforms a block whose sum is at most narrow. Its results are those
// of inverseWide, which is slower.
func inverseNarrow(b *block, to []byte, stride int) {
	var w [64]int32 // rows of column results, Q2
	in := &b.coefficients
	for x := range 8 {
		rows := b.set >> x & column
		if rows&^1 == 0 {
			if rows != 0 {
				v := in[x] << pass1Bits
				w[x], w[8+x], w[16+x], w[24+x] = v, v, v, v
				w[32+x], w[40+x], w[48+x], w[56+x] = v, v, v, v
			}
			continue
		}
		// Even part: a rotation by c(6) and two sums.
		z2, z3 := in[16+x], in[48+x]
		z1 := (z2 + z3) * fix0541196100
		t2 := z1 - z3*fix1847759065
		t3 := z1 + z2*fix0765366865
		t0 := (in[x]+in[32+x])<<fixBits + 1<<(fixBits-pass1Bits-1)
		t1 := (in[x]-in[32+x])<<fixBits + 1<<(fixBits-pass1Bits-1)
		e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2

		o0, o1, o2, o3 := odd(in[8+x], in[24+x], in[40+x], in[56+x])
		const shift = fixBits - pass1Bits
		w[x], w[56+x] = (e0+o0)>>shift, (e0-o0)>>shift
		w[8+x], w[48+x] = (e1+o1)>>shift, (e1-o1)>>shift
		w[16+x], w[40+x] = (e2+o2)>>shift, (e2-o2)>>shift
		w[24+x], w[32+x] = (e3+o3)>>shift, (e3-o3)>>shift
	}
	for y := range 8 {
		r := (*[8]int32)(w[8*y:])
		z2, z3 := r[2], r[6]
		z1 := (z2 + z3) * fix0541196100
		t2 := z1 - z3*fix1847759065
		t3 := z1 + z2*fix0765366865
		// Half a unit to round, and 128 units for the level shift of T.81, A.3.1.
		const shift = fixBits + pass1Bits + 3
		t0 := (r[0]+r[4])<<fixBits + 1<<(shift-1) + 128<<shift
		t1 := (r[0]-r[4])<<fixBits + 1<<(shift-1) + 128<<shift
		e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2

		o0, o1, o2, o3 := odd(r[1], r[3], r[5], r[7])
		out := (*[8]byte)(to)
		out[0], out[7] = clamp8((e0+o0)>>shift), clamp8((e0-o0)>>shift)
		out[1], out[6] = clamp8((e1+o1)>>shift), clamp8((e1-o1)>>shift)
		out[2], out[5] = clamp8((e2+o2)>>shift), clamp8((e2-o2)>>shift)
		out[3], out[4] = clamp8((e3+o3)>>shift), clamp8((e3-o3)>>shift)
		if y < 7 {
			to = to[stride:]
		}
	}
}

// odd is the odd part of the transform for inputs 1, 3, 5 and 7, Q13.
func odd(i1, i3, i5, i7 int32) (o0, o1, o2, o3 int32) {
	z3, z4 := i7+i3, i5+i1
	z5 := (z3 + z4) * fix1175875602
	z3 = z5 - z3*fix1961570560
	z4 = z5 - z4*fix0390180644
	z1 := (i7 + i1) * fix0899976223
	z2 := (i5 + i3) * fix2562915447
	o3 = i7*fix0298631336 - z1 + z3
	o2 = i5*fix2053119869 - z2 + z4
	o1 = i3*fix3072711026 - z2 + z3
	o0 = i1*fix1501321110 - z1 + z4
	return
}

// inverseWide transforms any block, with the widths of libjpeg-turbo's vector
// instructions: sums of two inputs wrap at 16 bits, results saturate there.
func inverseWide(b *block, to []byte, stride int) {
	var w [64]int32
	in := &b.coefficients
	for x := range 8 {
		if b.set>>8 == 0 {
			for y := range 8 {
				w[8*y+x] = int32(int16(in[x] << pass1Bits))
			}
			continue
		}
		v := [8]int32{in[x], in[8+x], in[16+x], in[24+x], in[32+x], in[40+x], in[48+x], in[56+x]}
		for y, v := range wide8(v, fixBits-pass1Bits) {
			w[8*y+x] = v
		}
	}
	for y := range 8 {
		for x, v := range wide8([8]int32(w[8*y:]), fixBits+pass1Bits+3) {
			to[y*stride+x] = clamp8(v + 128)
		}
	}
}

// wide8 is one transform of inverseWide; its results are shifted.
func wide8(in [8]int32, shift uint) [8]int32 {
	wrap := func(v int32) int32 { return int32(int16(v)) }
	z3, z4 := wrap(in[7]+in[3]), wrap(in[5]+in[1])
	t0, t1 := wrap(in[0]+in[4])<<fixBits, wrap(in[0]-in[4])<<fixBits
	t2 := in[2]*fix0541196100 + in[6]*(fix0541196100-fix1847759065)
	t3 := in[2]*(fix0541196100+fix0765366865) + in[6]*fix0541196100
	y3 := z3*(fix1175875602-fix1961570560) + z4*fix1175875602
	y4 := z3*fix1175875602 + z4*(fix1175875602-fix0390180644)
	o3 := in[7]*(fix0298631336-fix0899976223) - in[1]*fix0899976223 + y3
	o2 := in[5]*(fix2053119869-fix2562915447) - in[3]*fix2562915447 + y4
	o1 := in[3]*(fix3072711026-fix2562915447) - in[5]*fix2562915447 + y3
	o0 := in[1]*(fix1501321110-fix0899976223) - in[7]*fix0899976223 + y4
	e := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}
	o := [4]int32{o0, o1, o2, o3}
	var out [8]int32
	for i := range e {
		half := int32(1) << (shift - 1)
		out[i] = min(max((e[i]+o[i]+half)>>shift, -32768), 32767)
		out[7-i] = min(max((e[i]-o[i]+half)>>shift, -32768), 32767)
	}
	return out
}
