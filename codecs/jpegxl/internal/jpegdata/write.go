package jpegdata

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/internal/container"
)

// Write puts a file together. A file that is not consistent, as from a damaged box, gives
// an error, and limit bounds the size.
func (f *File) Write(limit int) ([]byte, error) {
	w := &writer{file: f, limit: limit, padding: f.Padding}
	w.out = append(w.out, 0xff, soi)
	for _, m := range f.Markers {
		if err := w.segment(m); err != nil {
			return nil, err
		}
		if len(w.out) > limit {
			return nil, container.OverLimit("the JPEG file in it is larger than %d bytes", limit)
		}
	}
	if len(w.padding) > 0 {
		return nil, malformed("it has more padding bits than its scans")
	}
	return w.out, nil
}

// writer is a file in the making: how much of each list was used.
type writer struct {
	bitWriter
	file  *File
	limit int

	app, comment, gap, quant, huffman, scans int
	restarts                                 bool // DRI was written
	padding                                  []byte
	dc, ac                                   [4]*encoder
}

// next takes an item of a list.
func next[T any](list []T, at *int) (T, error) {
	if *at >= len(list) {
		var none T
		return none, malformed("it has fewer segments than its list names")
	}
	*at++
	return list[*at-1], nil
}

func (w *writer) segment(m byte) error {
	f := w.file
	switch {
	case m == sof0 || m == sof1 || m == sof2:
		f.Progressive = m == sof2
		return w.sof(m)
	case m == dht:
		return w.dht()
	case m == dqt:
		return w.dqt()
	case m == dri:
		w.restarts = true
		w.out = append(w.out, 0xff, m, 0, 4, byte(f.Restart>>8), byte(f.Restart))
	case m == sos:
		s, err := next(f.Scans, &w.scans)
		if err != nil {
			return err
		}
		return w.scan(&s)
	case m >= rst0 && m <= rst7:
		w.out = append(w.out, 0xff, m)
	case m == eoi:
		w.out = append(append(w.out, 0xff, m), f.Tail...)
	case m >= app0 && m <= app0+15:
		b, err := next(f.Apps, &w.app)
		w.out = append(append(w.out, 0xff), b...)
		return err
	case m == com:
		b, err := next(f.Comments, &w.comment)
		w.out = append(append(w.out, 0xff), b...)
		return err
	case m == between:
		b, err := next(f.Between, &w.gap)
		w.out = append(w.out, b...)
		return err
	default:
		return malformed("it names the marker %#x", m)
	}
	return nil
}

// length sets the length of the segment whose marker is at a place of the file.
func (w *writer) length(at int) error {
	n := len(w.out) - at - 2
	if n > 65535 {
		return malformed("a segment has %d bytes", n)
	}
	binary.BigEndian.PutUint16(w.out[at+2:], uint16(n))
	return nil
}

func (w *writer) sof(m byte) error {
	f := w.file
	at := len(w.out)
	w.out = append(w.out, 0xff, m, 0, 0, 8, byte(f.Height>>8), byte(f.Height), byte(f.Width>>8), byte(f.Width), byte(len(f.Components)))
	for _, c := range f.Components {
		w.out = append(w.out, c.ID, byte(c.H<<4|c.V), f.Quant[c.Quant].Index)
	}
	return w.length(at)
}

func (w *writer) dqt() error {
	at := len(w.out)
	w.out = append(w.out, 0xff, dqt, 0, 0)
	for {
		t, err := next(w.file.Quant, &w.quant)
		if err != nil {
			return err
		}
		w.out = append(w.out, t.Precision<<4|t.Index)
		for _, v := range t.Values {
			if t.Precision == 1 {
				w.out = append(w.out, byte(v>>8))
			}
			w.out = append(w.out, byte(v))
		}
		if t.Last {
			return w.length(at)
		}
	}
}

func (w *writer) dht() error {
	at := len(w.out)
	w.out = append(w.out, 0xff, dht, 0, 0)
	for {
		t, err := next(w.file.Huffman, &w.huffman)
		if err != nil {
			return err
		}
		if len(t.Symbols) == 0 { // an empty segment
			return w.length(at)
		}
		longest := 0
		for n, c := range t.Counts {
			if c > 0 {
				longest = n
			}
		}
		class := byte(0)
		if t.AC {
			class = 1 << 4
			w.ac[t.Index] = newEncoder(&t)
		} else {
			w.dc[t.Index] = newEncoder(&t)
		}
		w.out = append(w.out, class|t.Index)
		for n := 1; n <= 16; n++ {
			c := t.Counts[n]
			if n == longest {
				c--
			}
			w.out = append(w.out, byte(c))
		}
		for _, s := range t.Symbols[:len(t.Symbols)-1] {
			w.out = append(w.out, byte(s))
		}
		if t.Last {
			return w.length(at)
		}
	}
}

// pad fills the byte at the end of an interval, with ones or as the file has it.
func (w *writer) pad() error {
	n := w.room()
	v := uint64(1)<<n - 1
	if w.file.Padding != nil {
		if len(w.padding) < int(n) {
			return malformed("it has fewer padding bits than its scans")
		}
		v = 0
		for _, b := range w.padding[:n] {
			v = v<<1 | uint64(b)
		}
		w.padding = w.padding[n:]
	}
	w.bits(v, n)
	w.align()
	return nil
}
