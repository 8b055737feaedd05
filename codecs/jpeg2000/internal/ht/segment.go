package ht

import "encoding/binary"

// melWriter codes the events of MEL (T.814, 7.3.3).
type melWriter struct {
	out   [maxQuads/4 + 64]byte // at most 1.5 bits an event, of which there are 1.25 a quad
	n     int
	byte  byte
	left  uint // bits of byte that are free
	state int
	run   uint32 // events 0 that are not coded yet
}

func (m *melWriter) reset() { m.n, m.byte, m.left, m.state, m.run = 0, 0, 8, 0, 0 }

func (m *melWriter) bit(b byte) {
	m.byte = m.byte<<1 | b
	if m.left--; m.left > 0 {
		return
	}
	m.out[m.n] = m.byte
	m.n++
	m.left = 8
	if m.byte == 0xff {
		m.left = 7 // after ones
	}
	m.byte = 0
}

func (m *melWriter) event(one bool) {
	e := melExponent[m.state]
	if !one {
		if m.run++; m.run == 1<<e {
			m.bit(1)
			m.run = 0
			m.state = min(m.state+1, len(melExponent)-1)
		}
		return
	}
	m.bit(0)
	for i := int(e) - 1; i >= 0; i-- {
		m.bit(byte(m.run >> i & 1))
	}
	m.run = 0
	m.state = max(m.state-1, 0)
}

// segment puts the streams together.
func (e *encoder) segment() []byte {
	n := e.stuffMagSgn()
	if e.mel.run > 0 {
		e.mel.bit(1)
	}
	n += copy(e.out[n:], e.mel.out[:e.mel.n])
	suffix := e.mel.n

	p := &e.vlc
	binary.LittleEndian.PutUint64(p.bytes[p.at:], p.bits)
	vlc := e.vlcOut[:]
	length, last, used := stuffVLC(vlc, p.bytes[:], 8*p.at+int(p.wait))

	// The last byte of MEL and that of VLC may be one, if the bits of both agree.
	mel := e.mel.byte << e.mel.left
	melMask, vlcMask := byte(0xff<<e.mel.left), byte(0xff>>(8-used))
	fused := mel | last
	agree := (fused^mel)&melMask|(fused^last)&vlcMask == 0
	switch {
	case melMask|vlcMask == 0:
	case agree && fused != 0xff && length > 1:
		e.out[n] = fused
		n++
		suffix++
	default:
		if melMask != 0 {
			e.out[n] = mel
			n++
			suffix++
		}
		length++
		vlc[len(vlc)-length] = last
	}
	n += copy(e.out[n:], vlc[len(vlc)-length:])
	suffix += length
	e.out[n-1] = byte(suffix >> 4)
	e.out[n-2] = e.out[n-2]&0xf0 | byte(suffix&15)
	return e.out[:n]
}

// stuffMagSgn writes the MagSgn stream with its gaps to the front of out and returns its
// length. The last byte is filled up with ones and left out if all its bits are.
func (e *encoder) stuffMagSgn() int {
	p := &e.magsgn
	total := 8*p.at + int(p.wait)
	binary.LittleEndian.PutUint64(p.bytes[p.at:], p.bits|^uint64(0)<<p.wait)
	binary.LittleEndian.PutUint64(p.bytes[p.at+8:], ^uint64(0))
	n, last := 0, byte(0)
	for at := 0; at < total; {
		x := binary.LittleEndian.Uint64(p.bytes[at>>3:]) >> (at & 7)
		// Seven whole bytes are in x, whose eighth may be cut off.
		if last != 0xff && at+56 <= total && !anyOnes(x&^(0xff<<56)) {
			binary.LittleEndian.PutUint64(e.out[n:], x)
			n += 7
			at += 56
			last = 0
			continue
		}
		if last == 0xff {
			last = byte(x & 0x7f)
			at += 7
		} else {
			last = byte(x)
			at += 8
		}
		e.out[n] = last
		n++
	}
	if last == 0xff {
		n--
	}
	return n
}

// stuffVLC writes the complete bytes of a VLC stream of total bits with its gaps to out,
// downwards from its end, where the end of Scup will take one on, and returns their number, and what is
// in the last byte and how many bits of it are used. It reads 8 bytes beyond the bits, and writes one beyond its own.
func stuffVLC(out, in []byte, total int) (n int, rest byte, used uint) {
	end := len(out)
	out[end-1] = 0xff
	n = 1
	last := byte(0xff)
	// The lower half of the first byte is of Scup and counts as ones.
	have, x := 4, uint64(15)
	for at := 0; ; have, x = 0, 0 {
		x |= binary.LittleEndian.Uint64(in[at>>3:]) >> (at & 7) << have
		left := total - at + have // bits from the first of this byte on
		switch {
		case have == 0 && left >= 56 && !anyOnes((x|topBits)&^(0xff<<56)):
			// None of seven bytes is one that a gap is for.
			binary.BigEndian.PutUint64(out[end-n-8:], x)
			n += 7
			at += 56
			last = byte(x >> 48)
			continue
		case left >= 7 && last > 0x8f && x&0x7f == 0x7f:
			last = 0x7f
			at += 7 - have
		case left >= 8:
			last = byte(x)
			at += 8 - have
		default:
			return n, byte(x) & (1<<left - 1), uint(left)
		}
		n++
		out[end-n] = last
	}
}
