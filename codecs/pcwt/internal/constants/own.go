package constants

import (
	"fmt"
	"math/bits"
)

// Form says which weights and tables an own set tells apart.
type Form uint8

// Bits of a form.
const (
	PredictTextures   Form = 1 << iota // prediction weights for every texture
	PredictDirections                  // prediction weights for every direction
	ScaleDirections                    // scale weights for every direction
	TableFractions                     // tables for every fraction
	formEnd
)

// predictSpan is how many textures share weights, scaleSpan how many directions.
func (f Form) predictSpan() int {
	switch {
	case f&PredictTextures != 0:
		return 1
	case f&PredictDirections != 0:
		return Diagonals * Activities
	}
	return Textures
}

func (f Form) scaleSpan() int {
	if f&ScaleDirections != 0 {
		return 1
	}
	return Directions
}

func (f Form) fractions() int {
	if f&TableFractions != 0 {
		return Fractions
	}
	return 1
}

// Steps are what weights of an own set are multiples of: 1 << Predict and 1 << Scale in 1/4096.
type Steps struct{ Predict, Scale uint }

// Shape is how the tables of an own set are described: for each fraction of the form and
// context the logarithms g of the weights of tokens, nil where the table of constants 0 is taken.
type Shape [][]uint8

// rootWeights are 2^(14 + i/4).
var rootWeights = [4]uint64{16384, 19484, 23170, 27554}

// MaxLog is the greatest logarithm in a [Shape].
const MaxLog = 63

// TableOf makes the frequencies that logarithms describe.
func TableOf(logs []uint8) (t Table) {
	var weights [Tokens]uint64
	sum := uint64(0)
	for i, g := range logs {
		if g > 0 {
			weights[i] = rootWeights[g&3] << (g >> 2)
			sum += weights[i]
		}
	}
	left, most := 1<<Bits, 0
	for i, w := range weights {
		f := uint64(1)
		if sum > 0 {
			f += w * (1<<Bits - Tokens) / sum
		}
		t[i] = uint16(f)
		left -= int(f)
		if t[i] > t[most] {
			most = i
		}
	}
	t[most] += uint16(left)
	return t
}

// spread gives all keys of a span the weights of its first.
func (s *Set) spread(form Form) {
	if s.Predict != nil {
		n := form.predictSpan()
		for i := range s.Predict {
			s.Predict[i] = s.Predict[i/n*n]
		}
	}
	n := form.scaleSpan()
	for i := range s.Scale {
		s.Scale[i], s.Bias[i] = s.Scale[i/n*n], s.Bias[i/n*n]
	}
}

func (s *Set) setTables(form Form, shape Shape, fast bool) {
	base := Format(0, fast)
	for i := range s.Tables {
		at := i
		if form&TableFractions == 0 {
			at %= Contexts
		}
		if shape[at] == nil {
			s.Tables[i] = base.Tables[at]
		} else {
			s.Tables[i] = TableOf(shape[at])
		}
	}
}

// Write returns the description of an own set, whose weights are rounded to the steps first, and the
// set as [Read] will give it.
func Write(s *Set, form Form, steps Steps, shape Shape) ([]byte, *Set) {
	fast := s.Predict == nil
	w := &bitWriter{}
	w.put(uint64(form), 8)
	for _, t := range s.Thresholds {
		w.put(uint64(t), 15)
	}
	if !fast {
		var list []int
		for i := 0; i < PredictKeys; i += form.predictSpan() {
			for _, v := range s.Predict[i] {
				list = append(list, rounded(int(v), steps.Predict))
			}
		}
		w.list(list, nil, steps.Predict)
	}
	var list, biases []int
	for i := 0; i < ScaleKeys; i += form.scaleSpan() {
		for _, v := range s.Scale[i] {
			list = append(list, rounded(int(v), steps.Scale))
		}
		biases = append(biases, rounded(int(s.Bias[i]), steps.Scale))
	}
	w.list(list, biases, steps.Scale)
	for _, logs := range shape {
		if logs == nil {
			w.put(0, 1)
			continue
		}
		w.put(1, 1)
		w.put(uint64(len(logs)), 7)
		for i, g := range logs {
			before := uint8(0)
			if i >= 2 {
				before = logs[i-2]
			}
			w.golomb(int(g)-int(before), 1)
		}
	}
	data := w.end()
	again, err := Read(data, fast)
	if err != nil {
		panic(err)
	}
	return data, again
}

func rounded(v int, step uint) int {
	if step == 0 {
		return v
	}
	return (v + 1<<(step-1)) >> step
}

// list writes numbers, and after every Slots of them one of tails, which may be nil.
func (w *bitWriter) list(list, tails []int, step uint) {
	order, least := uint(0), -1
	for k := range uint(16) {
		n := 0
		for _, v := range list {
			n += golombBits(v, k)
		}
		if least < 0 || n < least {
			order, least = k, n
		}
	}
	w.put(uint64(step), 4)
	w.put(uint64(order), 4)
	for i, v := range list {
		w.golomb(v, order)
		if tails != nil && i%Slots == Slots-1 {
			w.golomb(tails[i/Slots], biasOrder)
		}
	}
}

// biasOrder is the order of the code of biases.
const biasOrder = 10

// Read reads an own set.
func Read(data []byte, fast bool) (*Set, error) {
	r := &bitReader{data: data}
	form := Form(r.get(8))
	s := new(Set)
	for i := range s.Thresholds {
		s.Thresholds[i] = int16(r.get(15))
	}
	if form >= formEnd || form&(PredictTextures|PredictDirections) == PredictTextures|PredictDirections {
		return nil, fmt.Errorf("form %#x of constants", uint8(form))
	}
	if !fast {
		s.Predict = new([PredictKeys]Weights)
		step, order := uint(r.get(4)), uint(r.get(4))
		for i := 0; i < PredictKeys; i += form.predictSpan() {
			if err := r.weights(&s.Predict[i], step, order); err != nil {
				return nil, err
			}
		}
	}
	step, order := uint(r.get(4)), uint(r.get(4))
	for i := 0; i < ScaleKeys; i += form.scaleSpan() {
		if err := r.weights(&s.Scale[i], step, order); err != nil {
			return nil, err
		}
		bias := r.golomb(biasOrder) << step
		if max(bias, -bias) > MaxBias {
			return nil, fmt.Errorf("a bias of %d", bias)
		}
		s.Bias[i] = int32(bias)
	}
	s.spread(form)
	shape := make(Shape, form.fractions()*Contexts)
	for i := range shape {
		if r.get(1) == 0 {
			continue
		}
		n := int(r.get(7))
		if n > Tokens {
			return nil, fmt.Errorf("a table of %d tokens", n)
		}
		logs := make([]uint8, n)
		for j := range logs {
			g := r.golomb(1)
			if j >= 2 {
				g += int(logs[j-2])
			}
			if g < 0 || g > MaxLog {
				return nil, fmt.Errorf("a frequency of 2^(%d/4)", g)
			}
			logs[j] = uint8(g)
		}
		shape[i] = logs
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	s.setTables(form, shape, fast)
	return s, nil
}

func (r *bitReader) weights(w *Weights, step, order uint) error {
	sum := 0
	for i := range w {
		v := r.golomb(order) << step
		if max(v, -v) > 32767 {
			return fmt.Errorf("a weight of %d", v)
		}
		w[i] = int16(v)
		sum += max(v, -v)
	}
	if sum > MaxWeights {
		return fmt.Errorf("weights that add up to %d", sum)
	}
	return nil
}

type bitWriter struct {
	data []byte
	free uint // bits of the last byte
}

func (w *bitWriter) put(v uint64, n uint) {
	for ; n > 0; n-- {
		if w.free == 0 {
			w.data, w.free = append(w.data, 0), 8
		}
		w.free--
		w.data[len(w.data)-1] |= byte(v>>(n-1)&1) << w.free
	}
}

func unsigned(v int) uint64 {
	if v > 0 {
		return uint64(2*v - 1)
	}
	return uint64(-2 * v)
}

func golombBits(v int, order uint) int {
	return 2*bits.Len64(unsigned(v)+1<<order) - 1 - int(order)
}

func (w *bitWriter) golomb(v int, order uint) {
	u := unsigned(v) + 1<<order
	n := uint(bits.Len64(u))
	w.put(0, n-1-order)
	w.put(u, n)
}

func (w *bitWriter) end() []byte { return w.data }

type bitReader struct {
	data []byte
	at   int
}

func (r *bitReader) get(n uint) (v uint64) {
	for range n {
		v <<= 1
		if r.at < 8*len(r.data) {
			v |= uint64(r.data[r.at>>3] >> (7 - r.at&7) & 1)
		}
		r.at++
	}
	return v
}

// golomb reads a number below 2^31; longer ones become 2^31.
func (r *bitReader) golomb(order uint) int {
	zeros := uint(0)
	for r.get(1) == 0 {
		if zeros++; zeros+order > 30 {
			return 1 << 31
		}
	}
	n := zeros + order
	u := uint64(1)<<n + r.get(n) - 1<<order
	return signed(u)
}

func signed(u uint64) int {
	if u&1 != 0 {
		return int(u/2) + 1
	}
	return -int(u / 2)
}

// end reports bits that are missing, or bytes or ones left over.
func (r *bitReader) end() error {
	if r.at > 8*len(r.data) {
		return fmt.Errorf("constants that are cut short")
	}
	for r.at&7 != 0 {
		if r.get(1) != 0 {
			return fmt.Errorf("bits after constants")
		}
	}
	if r.at != 8*len(r.data) {
		return fmt.Errorf("bytes after constants")
	}
	return nil
}
