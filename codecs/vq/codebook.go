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

// freshNumbers is the state before any number.
var freshNumbers = func() (m numberModel) {
	for i := range m.length {
		m.length[i] = bit{zero: 1 << 15}
		for j := range m.below[i] {
			m.below[i][j] = bit{zero: 1 << 15}
		}
	}
	return m
}()

// encode is e.encode for each decision of v, with the state of e out of memory, where every
// decision would wait for the one before to be written and read.
func (m *numberModel) encode(e *rangeEncoder, v int) {
	l := bits.Len(uint(v))
	low, width := e.low, e.width
	for i := range l {
		b := &m.length[i]
		bound := uint32(uint64(width) * uint64(b.zero) >> 16)
		low, width = low+uint64(bound), width-bound
		if width < 1<<24 {
			low, width = e.renew(low, width)
		}
		b.updateOne()
	}
	if l < 16 {
		b := &m.length[l]
		width = uint32(uint64(width) * uint64(b.zero) >> 16)
		if width < 1<<24 {
			low, width = e.renew(low, width)
		}
		b.updateZero()
	}
	for i := l - 2; i >= 0; i-- {
		b := &m.below[l][i]
		low, width = widen(low, width, uint32(b.zero), v>>i&1)
		if width < 1<<24 {
			low, width = e.renew(low, width)
		}
		b.update(v >> i & 1)
	}
	e.low, e.width = low, width
}

func (m *numberModel) decode(d *rangeDecoder) int {
	l, v := 0, 0
	width, code := d.width, d.code
	for l < 16 {
		b := &m.length[l]
		bound := uint32(uint64(width) * uint64(b.zero) >> 16)
		if code < bound {
			if width = bound; width < 1<<24 {
				width, code = d.refill(width, code)
			}
			b.updateZero()
			break
		}
		width, code = width-bound, code-bound
		if width < 1<<24 {
			width, code = d.refill(width, code)
		}
		b.updateOne()
		l++
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

// bookModel is the adaptive state for one codebook. The functions in assembly know that the models lie one behind the other.
type bookModel struct {
	step     numberModel
	residual [bookContexts]numberModel
}

const bookContexts = 8

func newBookModel() *bookModel {
	m := &bookModel{step: freshNumbers}
	for i := range m.residual {
		m.residual[i] = freshNumbers
	}
	return m
}

// position is where in its codeword a sample is, as predict needs it.
type position struct {
	row, column bool   // whether there is one before
	rest, known uint32 // reciprocals of how many samples there are from here on, and up to here: see divide
}

// positions are those of all samples of a codeword.
func (s shape) positions() []position {
	list := make([]position, s.k())
	for j := range list {
		list[j] = position{row: j >= s.q, column: j%s.q > 0, rest: reciprocal(s.k() - j), known: reciprocal(j + 1)}
	}
	return list
}

// reciprocal is 1/n in 1/2^24, rounded up, for n of at most 64.
func reciprocal(n int) uint32 { return uint32((1<<24 + n - 1) / n) }

// divide is x/n by the reciprocal of n: rounding up makes it too great by less than x*n/2^24/n, which no quotient of
// an x of at most mostDivided notices. A division takes longer than all the rest of a guess.
func divide(x int, reciprocal uint32) int { return int(uint64(x) * uint64(reciprocal) >> 24) }

const mostDivided = 1<<18 - 1

// predict guesses sample j of a codeword whose samples before j are known and
// whose samples add up to total; it also gives the context of the error. The
// guess is the mean of what is left of the total and of the neighbours' forecast,
// left + up - upper left limited to the two (MED, as in LOCO-I).
func predict(w []byte, q, j int, at *position, left, size int) (guess, context int) {
	rest := divide(min(left, mostDivided), at.rest) // more is in damaged files only, where the guess is 255 anyway
	local := rest
	switch {
	case at.row && at.column:
		a, b, x := int(w[j-1]), int(w[j-q]), int(w[j-q-1])
		local = min(max(a+b-x, min(a, b)), max(a, b))
	case at.column:
		local = int(w[j-1])
	case at.row:
		local = int(w[j-q])
	}
	guess = min((local+rest+1)>>1, 255)
	return guess, min(bits.Len(uint(divide(size, at.known))), bookContexts-1)
}

// number is one that the coder of a codebook codes: in the lower 16 bits, and above them 0 for a step and 1 + i for a residual in
// context i.
type number uint32

// encodeBook codes a finished codebook: for each codeword the step of its sum from
// the one before, and the errors of the guesses for all samples but the last,
// which the sum gives.
func encodeBook(e *rangeEncoder, b *codebook) {
	m := newBookModel()
	positions := b.positions()
	last := 0
	var numbers [maxBlock]number
	var room []decision
	if vectorRanks {
		room = make([]decision, maxBlock*mostOfNumber+16)
	}
	for i := range b.n() {
		w := b.word(i)
		total := int(sum(w))
		numbers[0] = number(total - last)
		last = total
		left, size := total, 0
		for j := range len(w) - 1 {
			guess, ctx := predict(w, b.q, j, &positions[j], left, size)
			d := int(w[j]) - guess
			numbers[j+1] = number((1+ctx)<<16 | fold(d))
			size += max(d, -d)
			left -= int(w[j])
		}
		m.encode(e, numbers[:len(w)], room)
	}
}

// mostOfNumber is how many decisions a number takes at most.
const mostOfNumber = 16 + 15

// encode codes numbers. room is for their decisions on machines with vectorRanks, where those are worked out for a number at once, and
// the coder, in which each waits for the one before, has nothing else to do.
func (m *bookModel) encode(e *rangeEncoder, numbers []number, room []decision) {
	if vectorRanks {
		e.putAll(room[:decideNumbers(m, numbers, room)])
		return
	}
	m.encodeOneByOne(e, numbers)
}

func (m *bookModel) encodeOneByOne(e *rangeEncoder, numbers []number) {
	for _, v := range numbers {
		model := &m.step
		if kind := v >> 16; kind > 0 {
			model = &m.residual[kind-1]
		}
		model.encode(e, int(v&0xffff))
	}
}

// decodeBook is the inverse of encodeBook. It fails where the numbers are not those
// of a finished codebook.
func decodeBook(d *rangeDecoder, s shape, n int) (*codebook, error) {
	m := newBookModel()
	k, positions := s.k(), s.positions()
	b := &codebook{shape: s, words: make([]byte, n*k)}
	last := 0
	for i := range n {
		total := last + m.step.decode(d)
		w := b.word(i)
		left, size := total, 0
		for j := range k - 1 {
			guess, ctx := predict(w, s.q, j, &positions[j], left, size)
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
