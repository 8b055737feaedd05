package vq

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math/bits"
	"strconv"

	"github.com/pelmill/pelmill/codecs/codec"
)

// bookPair is the codebooks of a file: of luma (or grey) and, for RGB, of chroma,
// which Co and Cg share.
type bookPair struct {
	luma, chroma *codebook // chroma nil for grey
}

func (b *bookPair) list() []*codebook {
	if b.chroma == nil {
		return []*codebook{b.luma}
	}
	return []*codebook{b.luma, b.chroma}
}

// numberModel is the adaptive state for numbers of up to 16 bits: the bit length
// in unary, then the bits below the leading one.
type numberModel struct {
	length [17]bit
	below  [17][16]bit
}

func (m *numberModel) reset() {
	for i := range m.length {
		m.length[i] = bit{zero: 1 << 15}
		for j := range m.below[i] {
			m.below[i][j] = bit{zero: 1 << 15}
		}
	}
}

func (m *numberModel) encode(e *rangeEncoder, v int) {
	l := bits.Len(uint(v))
	for i := range l {
		e.encode(&m.length[i], 1)
	}
	if l < 16 {
		e.encode(&m.length[l], 0)
	}
	for i := l - 2; i >= 0; i-- {
		e.encode(&m.below[l][i], v>>i&1)
	}
}

func (m *numberModel) decode(d *rangeDecoder) int {
	l, v := 0, 1
	width, code := d.width, d.code
	for l < 16 && v == 1 {
		b := &m.length[l]
		width, code, v = narrow(width, code, uint32(b.zero))
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
		b.update(v)
		l += v
	}
	n := 1
	for i := l - 2; i >= 0; i-- {
		b := &m.below[l][i]
		width, code, v = narrowEvenly(width, code, uint32(b.zero))
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
		b.update(v)
		n = n<<1 | v
	}
	d.width, d.code = width, code
	if l == 0 {
		return 0
	}
	return n
}

// bookModel is the adaptive state for one codebook.
type bookModel struct {
	step     numberModel
	residual [bookContexts]numberModel
}

const bookContexts = 8

func newBookModel() *bookModel {
	m := new(bookModel)
	m.step.reset()
	for i := range m.residual {
		m.residual[i].reset()
	}
	return m
}

// predict guesses sample j of a codeword whose samples before j are known and
// whose samples add up to total; it also gives the context of the error. The
// guess is the mean of what is left of the total and of the neighbours' forecast,
// left + up - upper left limited to the two (MED, as in LOCO-I).
func predict(w []byte, s shape, j int, left int, size int) (guess, context int) {
	rest := left / (s.k() - j)
	r, c := j/s.q, j%s.q
	local := rest
	switch {
	case r > 0 && c > 0:
		a, b, x := int(w[j-1]), int(w[j-s.q]), int(w[j-s.q-1])
		local = min(max(a+b-x, min(a, b)), max(a, b))
	case c > 0:
		local = int(w[j-1])
	case r > 0:
		local = int(w[j-s.q])
	}
	guess = min((local+rest+1)>>1, 255)
	return guess, min(bits.Len(uint(size/(j+1))), bookContexts-1)
}

// encodeBook codes a finished codebook: for each codeword the step of its sum from
// the one before, and the errors of the guesses for all samples but the last,
// which the sum gives.
func encodeBook(e *rangeEncoder, b *codebook) {
	m := newBookModel()
	last := 0
	for i := range b.n() {
		w := b.word(i)
		total := int(sum(w))
		m.step.encode(e, total-last)
		last = total
		left, size := total, 0
		for j := range len(w) - 1 {
			guess, ctx := predict(w, b.shape, j, left, size)
			d := int(w[j]) - guess
			m.residual[ctx].encode(e, fold(d))
			size += max(d, -d)
			left -= int(w[j])
		}
	}
}

// decodeBook is the inverse of encodeBook. It fails where the numbers are not those
// of a finished codebook.
func decodeBook(d *rangeDecoder, s shape, n int) (*codebook, error) {
	m := newBookModel()
	k := s.k()
	b := &codebook{shape: s, words: make([]byte, n*k)}
	last := 0
	for i := range n {
		total := last + m.step.decode(d)
		w := b.word(i)
		left, size := total, 0
		for j := range k - 1 {
			guess, ctx := predict(w, s, j, left, size)
			v := guess + unfold(m.residual[ctx].decode(d))
			if v < 0 || v > 255 || v > left {
				return nil, codec.Malformedf("vq: codeword %d: sample %d is out of range", i, j)
			}
			size += max(v-guess, guess-v)
			w[j] = byte(v)
			left -= v
		}
		if left > 255 {
			return nil, codec.Malformedf("vq: codeword %d: last sample is out of range", i)
		}
		w[k-1] = byte(left)
		if i > 0 && !before(b.word(i-1), w) {
			return nil, codec.Malformedf("vq: codeword %d is out of order", i)
		}
		last = total
	}
	return b, nil
}

// fold maps 0, -1, 1, -2, 2 ... to 0, 1, 2, 3, 4 ...
func fold(d int) int {
	if d < 0 {
		return -2*d - 1
	}
	return 2 * d
}

func unfold(v int) int {
	if v&1 == 1 {
		return -(v + 1) / 2
	}
	return v / 2
}

// encodeBooks is the codebook section of a file or asset.
func encodeBooks(b *bookPair) []byte {
	e := newRangeEncoder(nil)
	for _, book := range b.list() {
		encodeBook(e, book)
	}
	return e.finish()
}

// decodeBooks reads a codebook section of n luma and chroma codewords; none of
// chroma for grey.
func decodeBooks(in []byte, s shape, n, chroma int) (*bookPair, error) {
	d := newRangeDecoder(in)
	b := new(bookPair)
	var err error
	if b.luma, err = decodeBook(d, s, n); err != nil {
		return nil, err
	}
	if chroma > 0 {
		if b.chroma, err = decodeBook(d, s, chroma); err != nil {
			return nil, err
		}
	}
	if !d.exact() {
		return nil, codec.Malformedf("vq: codebook section of %d bytes, %d used", len(in), d.pos)
	}
	return b, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b ...[]byte) uint32 {
	var c uint32
	for _, p := range b {
		c = crc32.Update(c, castagnoli, p)
	}
	return c
}

const assetHeader = 24

// marshalAsset is the codebook file of b; the layout is in README.md.
func marshalAsset(b *bookPair) []byte {
	section := encodeBooks(b)
	out := make([]byte, assetHeader, assetHeader+len(section)+4)
	copy(out, assetSignature)
	out[8], out[10], out[11] = formatVersion, byte(b.luma.p), byte(b.luma.q)
	binary.LittleEndian.PutUint16(out[12:], uint16(b.luma.n()))
	if b.chroma != nil {
		binary.LittleEndian.PutUint16(out[14:], uint16(b.chroma.n()))
	}
	binary.LittleEndian.PutUint32(out[16:], uint32(len(section)))
	binary.LittleEndian.PutUint32(out[20:], checksum(out[:20]))
	out = append(out, section...)
	return binary.LittleEndian.AppendUint32(out, checksum(section))
}

// parseAsset reads a codebook file.
func parseAsset(data []byte) (*bookPair, error) {
	if len(data) < assetHeader+4 || string(data[:8]) != assetSignature {
		return nil, codec.Malformedf("vq: not a codebook file (%d bytes)", len(data))
	}
	if data[8] != formatVersion {
		return nil, codec.Unsupportedf("vq: codebook file of version %d; this program reads %d", data[8], formatVersion)
	}
	if binary.LittleEndian.Uint32(data[20:]) != checksum(data[:20]) {
		return nil, codec.Malformedf("vq: codebook file: the header's checksum is wrong")
	}
	s := shape{int(data[10]), int(data[11])}
	if _, ok := shapes[s.String()]; !ok || data[9] != 0 {
		return nil, codec.Unsupportedf("vq: codebook file: blocks of %s, flags %#x are not known", s, data[9])
	}
	n, chroma := int(binary.LittleEndian.Uint16(data[12:])), int(binary.LittleEndian.Uint16(data[14:]))
	if n < 1 || n > maxCodewords || chroma > maxCodewords {
		return nil, codec.Malformedf("vq: codebook file: %d and %d codewords", n, chroma)
	}
	size := int64(binary.LittleEndian.Uint32(data[16:]))
	if size != int64(len(data)-assetHeader-4) {
		return nil, codec.Malformedf("vq: codebook file: section of %d bytes in a file of %d", size, len(data))
	}
	section := data[assetHeader : len(data)-4]
	if binary.LittleEndian.Uint32(data[len(data)-4:]) != checksum(section) {
		return nil, codec.Malformedf("vq: codebook file: the section's checksum is wrong")
	}
	return decodeBooks(section, s, n, chroma)
}

// Asset describes a codebook file.
func (Codec) Asset(data []byte) ([]codec.Field, error) {
	books, err := parseAsset(data)
	if err != nil {
		return nil, err
	}
	colours := "grey"
	if books.chroma != nil {
		colours = "RGB"
	}
	fields := []codec.Field{
		{Name: "format", Value: "codebook of vq"}, {Name: "for", Value: colours + " pictures"}, {Name: "block", Value: books.luma.shape.String()},
		{Name: "codewords", Value: strconv.Itoa(books.luma.n())},
	}
	if books.chroma != nil {
		fields = append(fields, codec.Field{Name: "chroma codewords", Value: strconv.Itoa(books.chroma.n())})
	}
	return append(fields, codec.Field{Name: "sha256", Value: assetHash(data)}), nil
}

func assetHash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
