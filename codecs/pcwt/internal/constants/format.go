package constants

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
)

// The sets of the format, for planes with 0, 1 and 2 earlier planes, then their fast kinds, as
// [Append] writes them, deflated. Made by the command train.
//
//go:embed format.bin
var formatData []byte

// Variants is the number of sets of the format of one kind: by the earlier planes that a
// plane looks at.
const Variants = 3

var formatSets = sync.OnceValue(func() (sets [2 * Variants]*Set) {
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(formatData)))
	if err != nil {
		panic("constants: " + err.Error())
	}
	for i := range sets {
		sets[i], data = read(data, i >= Variants)
	}
	if len(data) > 0 {
		panic("constants: bytes after the last set")
	}
	return sets
})

// Format is the set of the format with number n, 0 to 2.
func Format(n int, fast bool) *Set {
	if fast {
		n += Variants
	}
	return formatSets()[n]
}

// Append writes a set as the sets of the format are stored.
func Append(data []byte, s *Set) []byte {
	add := func(v any) {
		var err error
		if data, err = binary.Append(data, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	add(s.Thresholds)
	if s.Predict != nil {
		add(s.Predict)
	}
	add(&s.Scale)
	add(&s.Bias)
	add(&s.Tables)
	return data
}

func read(data []byte, fast bool) (*Set, []byte) {
	s := new(Set)
	take := func(v any) {
		n, err := binary.Decode(data, binary.LittleEndian, v)
		if err != nil {
			panic("constants: " + err.Error())
		}
		data = data[n:]
	}
	take(&s.Thresholds)
	if !fast {
		s.Predict = new([PredictKeys]Weights)
		take(s.Predict)
	}
	take(&s.Scale)
	take(&s.Bias)
	take(&s.Tables)
	return s, data
}
