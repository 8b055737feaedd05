package vardct

import (
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
	"github.com/pelmill/pelmill/codecs/jpegxl/internal/entropy"
	"github.com/pelmill/pelmill/codecs/pool"
)

// An ICC profile is coded as bytes of a form in which much of it is predicted (E.4): the
// sizes of the profile and of the commands, the commands, then what they use. The
// context of a byte is made of the two before it.
const (
	iccContexts = 41
	iccHeader   = 128 // bytes of a profile's header
	maxICC      = 1 << 22

	iccInsert   = 1
	iccShuffle2 = 2
	iccShuffle4 = 3
	iccPredict  = 4
	iccXYZ      = 10
	iccType     = 16 // and the following: a type of data
)

var (
	iccTags  = []string{"cprt", "wtpt", "bkpt", "rXYZ", "gXYZ", "bXYZ", "kXYZ", "rTRC", "gTRC", "bTRC", "kTRC", "chad", "desc", "chrm", "dmnd", "dmdd", "lumi"}
	iccTypes = []string{"XYZ ", "desc", "text", "mluc", "para", "curv", "sf32", "gbd "}
)

func iccContext(i int, b1, b2 byte) int {
	if i <= iccHeader {
		return 0
	}
	kind1 := func(b byte) int {
		switch {
		case b|0x20 >= 'a' && b|0x20 <= 'z' && b >= 'A':
			return 0
		case b >= '0' && b <= '9' || b == '.' || b == ',':
			return 1
		case b <= 1:
			return 2 + int(b)
		case b < 16:
			return 4
		case b == 255:
			return 6
		case b > 240:
			return 5
		}
		return 7
	}
	kind2 := func(b byte) int {
		switch {
		case b|0x20 >= 'a' && b|0x20 <= 'z' && b >= 'A':
			return 0
		case b >= '0' && b <= '9' || b == '.' || b == ',':
			return 1
		case b < 16:
			return 2
		case b > 240:
			return 3
		}
		return 4
	}
	return 1 + kind1(b1) + 8*kind2(b2)
}

// predictedHeader is what the first bytes of a profile are before those that were read
// are known.
func predictedHeader(size int) (h [iccHeader]byte) {
	binary.BigEndian.PutUint32(h[:], uint32(size))
	h[8] = 4
	copy(h[12:], "mntrRGB XYZ ")
	copy(h[36:], "acsp")
	copy(h[70:], []byte{246, 214, 0, 1, 0, 0, 0, 0, 211, 45})
	return h
}

// predictHeader brings the prediction up to date when i bytes are known.
func predictHeader(h *[iccHeader]byte, icc []byte, i int) {
	switch {
	case i == 8:
		copy(h[80:84], icc[4:8])
	case i == 41 && icc[40] == 'A':
		copy(h[41:], "PPL")
	case i == 41 && icc[40] == 'M':
		copy(h[41:], "SFT")
	case i == 42 && icc[40] == 'S' && icc[41] == 'G':
		copy(h[42:], "I ")
	case i == 42 && icc[40] == 'S' && icc[41] == 'U':
		copy(h[42:], "NW")
	}
}

// writeICC writes a profile: its header is predicted, the rest stands as it is.
func writeICC(w *bits.Writer, icc []byte) {
	var form, data, commands []byte
	h := predictedHeader(len(icc))
	for i := range min(len(icc), iccHeader) {
		predictHeader(&h, icc, i)
		data = append(data, icc[i]-h[i])
	}
	if len(icc) > iccHeader {
		commands = append(commands, 0, iccInsert) // no list of tags
		commands = binary.AppendUvarint(commands, uint64(len(icc)-iccHeader))
		data = append(data, icc[iccHeader:]...)
	}
	form = binary.AppendUvarint(form, uint64(len(icc)))
	form = binary.AppendUvarint(form, uint64(len(commands)))
	form = append(append(form, commands...), data...)

	tokens := make([]entropy.Token, len(form))
	var b1, b2 byte
	for i, b := range form {
		tokens[i] = entropy.MakeToken(iccContext(i, b1, b2), uint32(b))
		b1, b2 = b, b1
	}
	w.U64(uint64(len(form)))
	code := entropy.NewCode(pool.Of(1), nil, iccContexts, tokens)
	code.WriteHeader(w)
	code.WriteTokens(w, tokens)
}

// readICC reads a profile of at most limit bytes.
func readICC(r *bits.Reader, limit int64) ([]byte, error) {
	n := r.U64()
	if n > uint64(min(limit, maxICC)) {
		return nil, malformed("an ICC profile is coded with %d bytes", n)
	}
	code, err := entropy.ReadCode(r, iccContexts)
	if err != nil {
		return nil, err
	}
	d := code.Decoder(r, 0)
	var form []byte
	var b1, b2 byte
	for i := range int(n) {
		b := byte(d.Read(iccContext(i, b1, b2)))
		form = append(form, b)
		b1, b2 = b, b1
		if i&1023 == 0 && r.Err() != nil {
			return nil, r.Err()
		}
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	p := &iccReader{commands: form}
	size := p.number()
	commands := p.number()
	if p.failed || size > uint64(min(limit, maxICC)) || commands > uint64(len(p.commands)) {
		return nil, malformed("an ICC profile is not valid")
	}
	p.commands, p.data = p.commands[:commands], p.commands[commands:]
	p.size = int(size)
	p.run()
	if p.failed || len(p.out) != p.size || len(p.data) > 0 || len(p.commands) > 0 {
		return nil, malformed("an ICC profile is not valid")
	}
	return p.out, nil
}

// iccReader undoes the prediction of a profile.
type iccReader struct {
	commands, data []byte
	out            []byte
	size           int
	failed         bool
}

func (p *iccReader) number() uint64 {
	v, n := binary.Uvarint(p.commands)
	if n <= 0 {
		p.failed = true
		return 0
	}
	p.commands = p.commands[n:]
	return v
}

func (p *iccReader) command() byte {
	c := p.commands[0]
	p.commands = p.commands[1:]
	return c
}

// take returns the next n bytes of data. A profile never has more than it promises.
func (p *iccReader) take(n uint64) []byte {
	if n > uint64(len(p.data)) || n > uint64(p.size) {
		p.failed = true
		return nil
	}
	d := p.data[:n]
	p.data = p.data[n:]
	return d
}

func (p *iccReader) word(v uint64) {
	if v > 1<<32-1 {
		p.failed = true
	}
	p.out = binary.BigEndian.AppendUint32(p.out, uint32(v))
}

func (p *iccReader) run() {
	h := predictedHeader(p.size)
	for i := range min(p.size, iccHeader) {
		predictHeader(&h, p.out, i)
		b := p.take(1)
		if p.failed {
			return
		}
		p.out = append(p.out, b[0]+h[i])
	}
	if p.size <= iccHeader {
		return
	}
	p.tags()
	for !p.failed && len(p.commands) > 0 {
		if len(p.out) > p.size {
			p.failed = true
			return
		}
		p.content()
	}
}

// tags reads the list of tags (E.4.4).
func (p *iccReader) tags() {
	n := p.number()
	if n == 0 || p.failed {
		return
	}
	n--
	p.word(n)
	start, size := iccHeader+n*12, uint64(0)
	for !p.failed && len(p.commands) > 0 && len(p.out) <= p.size {
		c := p.command()
		var tag string
		switch code := int(c & 63); {
		case code == 0:
			return
		case code == 1:
			tag = string(p.take(4))
		case code == 2:
			tag = "rTRC"
		case code == 3:
			tag = "rXYZ"
		case code-4 < len(iccTags):
			tag = iccTags[code-4]
		default:
			p.failed = true
			return
		}
		before := size
		switch tag {
		case "rXYZ", "gXYZ", "bXYZ", "kXYZ", "wtpt", "bkpt", "lumi":
			size = 20
		}
		if start += before; c&64 != 0 {
			start = p.number()
		}
		if c&128 != 0 {
			size = p.number()
		}
		entry := func(tag string, start uint64) {
			p.out = append(p.out, tag...)
			p.word(start)
			p.word(size)
		}
		entry(tag, start)
		switch c & 63 {
		case 2:
			entry("gTRC", start)
			entry("bTRC", start)
		case 3:
			entry("gXYZ", start+size)
			entry("bXYZ", start+2*size)
		}
	}
}

// content reads one command of the main part (E.4.5).
func (p *iccReader) content() {
	switch c := p.command(); {
	case c == iccInsert:
		p.out = append(p.out, p.take(p.number())...)
	case c == iccShuffle2 || c == iccShuffle4:
		p.out = append(p.out, shuffled(p.take(p.number()), 2*int(c-1))...)
	case c == iccPredict:
		p.predict()
	case c == iccXYZ:
		p.out = append(p.out, "XYZ \x00\x00\x00\x00"...)
		p.out = append(p.out, p.take(12)...)
	case c >= iccType && int(c-iccType) < len(iccTypes):
		p.out = append(p.out, iccTypes[c-iccType]...)
		p.out = append(p.out, 0, 0, 0, 0)
	default:
		p.failed = true
	}
}

// shuffled turns the bytes of numbers that stand apart, all highest ones first, into
// numbers.
func shuffled(data []byte, width int) []byte {
	out := make([]byte, len(data))
	rows := (len(data) + width - 1) / width
	j, s := 0, 0
	for i := range out {
		out[i] = data[j]
		if j += rows; j >= len(data) {
			s++
			j = s
		}
	}
	return out
}

// predict reads numbers of 1, 2 or 4 bytes as differences from what those before predict.
func (p *iccReader) predict() {
	if len(p.commands) < 2 {
		p.failed = true
		return
	}
	flags := p.command()
	width, order := int(flags&3)+1, int(flags>>2&3)
	stride := uint64(width)
	if flags&16 != 0 {
		stride = p.number()
	}
	if width == 3 || order == 3 || stride < uint64(width) || len(p.out) == 0 || uint64(len(p.out)-1)>>2 < stride {
		p.failed = true
		return
	}
	data := p.take(p.number())
	if width > 1 {
		data = shuffled(data, width)
	}
	start, s := len(p.out), int(stride)
	for i, d := range data {
		at := start + i&^(width-1)
		number := func(back int) uint32 {
			v := uint32(0)
			for _, b := range p.out[at-back*s:][:width] {
				v = v<<8 | uint32(b)
			}
			return v
		}
		var v uint32
		switch order {
		case 0:
			v = number(1)
		case 1:
			v = 2*number(1) - number(2)
		case 2:
			v = 3*number(1) - 3*number(2) + number(3)
		}
		p.out = append(p.out, d+byte(v>>(8*(width-1-i&(width-1)))))
	}
}
