//go:build fuzzloop && linux

package fuzzloop

import (
	"reflect"
	"unsafe"
)

// corpusEntry is fuzz.CorpusEntry.
type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

//go:linkname newMutator internal/fuzz.newMutator
func newMutator() unsafe.Pointer

// mutate changes one of vals. A string or slice of bytes becomes at most maxBytes/len(vals)-100 long; a slice is the mutator's own
// until the next call.
//
//go:linkname mutate internal/fuzz.(*mutator).mutate
func mutate(m unsafe.Pointer, vals []any, maxBytes int)

// coverage has a counter for each edge of the instrumented code.
//
//go:linkname coverage internal/fuzz.coverage
func coverage() []byte

//go:linkname marshalCorpusFile internal/fuzz.marshalCorpusFile
func marshalCorpusFile(vals ...any) []byte

//go:linkname readCorpus internal/fuzz.ReadCorpus
func readCorpus(dir string, types []reflect.Type) ([]corpusEntry, error)
