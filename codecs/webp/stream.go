package webp

func (p *parse) symbols() int {
	n := greenAt + 280
	if p.cacheBits > 0 {
		n += 1 << p.cacheBits
	}
	return n
}

// prefix splits a length or distance code into a symbol and extra bits (RFC 9649, 3.6.2.2).
func prefix(v uint32) (symbol, extra uint32, n uint) {
	v--
	if v < 4 {
		return v, 0, 0
	}
	h := uint32(31)
	for v>>h == 0 {
		h--
	}
	second := v >> (h - 1) & 1
	n = uint(h - 1)
	return 2*h + second, v & (1<<n - 1), n
}

func (s *stream) each(f func(i, group int)) {
	p := s.pixels
	g := s.groups
	tw := 0
	if g.bits > 0 {
		tw = (p.w + 1<<g.bits - 1) >> g.bits
	}
	for y, i := 0, 0; y < p.h; y++ {
		for x := 0; x < p.w; x, i = x+1, i+1 {
			k := 0
			if g.bits > 0 {
				k = int(g.of[y>>g.bits*tw+x>>g.bits])
			}
			f(i, k)
		}
	}
}

func (s *stream) histograms() [][]uint32 {
	n := max(1, s.groups.n)
	out := make([][]uint32, n)
	for k := range out {
		out[k] = make([]uint32, s.parse.symbols())
	}
	s.each(func(i, k int) {
		h := out[k]
		l := uint16(0)
		if s.parse.length != nil {
			l = s.parse.length[i]
		}
		switch l {
		case 0:
			v := s.pixels.argb[i]
			h[alphaAt+v>>24]++
			h[redAt+v>>16&255]++
			h[blueAt+v&255]++
			h[greenAt+v>>8&255]++
		case covered:
		case cached:
			h[greenAt+280+s.parse.value[i]]++
		default:
			c, _, _ := prefix(uint32(l))
			h[greenAt+256+c]++
			c, _, _ = prefix(s.parse.value[i])
			h[distanceAt+c]++
		}
	})
	return out
}

func (s *stream) write() []byte {
	w := &bitWriter{}
	w.put(0x2f, 8)
	w.put(uint64(s.width-1), 14)
	w.put(uint64(s.height-1), 14)
	a := uint64(0)
	if s.alpha {
		a = 1
	}
	w.put(a, 1)
	w.put(0, 3)
	for _, t := range s.transforms {
		w.put(1, 1)
		w.put(uint64(t.kind), 2)
		switch t.kind {
		case predictorTransform, colourTransform:
			w.put(uint64(t.bits-2), 3)
			writeSub(w, t.data)
		case colourIndexing:
			w.put(uint64(t.data.w-1), 8)
			d := pixels{t.data.w, 1, make([]uint32, t.data.w)}
			for i, v := range t.data.argb {
				if i > 0 {
					u := t.data.argb[i-1]
					d.argb[i] = (v&0xff00ff00-u&0xff00ff00)&0xff00ff00 | (v&0xff00ff-u&0xff00ff)&0xff00ff
				} else {
					d.argb[i] = v
				}
			}
			writeSub(w, d)
		}
	}
	w.put(0, 1)
	s.writeImage(w, true)
	return w.bytes()
}

func writeSub(w *bitWriter, p pixels) {
	(&stream{pixels: p}).writeImage(w, false)
}

func (s *stream) writeImage(w *bitWriter, main bool) {
	if s.parse.cacheBits > 0 {
		w.put(1, 1)
		w.put(uint64(s.parse.cacheBits), 4)
	} else {
		w.put(0, 1)
	}
	if main {
		if s.groups.bits > 0 && s.groups.n > 1 {
			w.put(1, 1)
			w.put(uint64(s.groups.bits-2), 3)
			tw := (s.pixels.w + 1<<s.groups.bits - 1) >> s.groups.bits
			sub := pixels{tw, len(s.groups.of) / tw, make([]uint32, len(s.groups.of))}
			for i, g := range s.groups.of {
				sub.argb[i] = 0xff000000 | uint32(g)<<8
			}
			writeSub(w, sub)
		} else {
			w.put(0, 1)
		}
	}
	hs := s.histograms()
	lens := make([][]uint8, len(hs))
	codes := make([][]uint16, len(hs))
	for k, h := range hs {
		lens[k] = make([]uint8, len(h))
		codes[k] = make([]uint16, len(h))
		part := func(lo, hi int) {
			l := codeLengths(h[lo:hi], maxCodeLength)
			copy(codes[k][lo:hi], canonical(l))
			writeCode(w, l)
			n := 0
			for _, v := range l {
				if v > 0 {
					n++
				}
			}
			if n == 1 {
				clear(l)
			}
			copy(lens[k][lo:hi], l)
		}
		part(greenAt, len(h))
		part(redAt, redAt+256)
		part(blueAt, blueAt+256)
		part(alphaAt, alphaAt+256)
		part(distanceAt, distanceAt+40)
	}
	s.each(func(i, k int) {
		l := uint16(0)
		if s.parse.length != nil {
			l = s.parse.length[i]
		}
		c, n := codes[k], lens[k]
		put := func(at uint32) { w.put(uint64(c[at]), uint(n[at])) }
		switch l {
		case 0:
			v := s.pixels.argb[i]
			put(greenAt + v>>8&255)
			put(redAt + v>>16&255)
			put(blueAt + v&255)
			put(alphaAt + v>>24)
		case covered:
		case cached:
			put(greenAt + 280 + s.parse.value[i])
		default:
			c, e, x := prefix(uint32(l))
			put(greenAt + 256 + c)
			w.put(uint64(e), x)
			c, e, x = prefix(s.parse.value[i])
			put(distanceAt + c)
			w.put(uint64(e), x)
		}
	})
}
