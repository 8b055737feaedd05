// Package sha256pair computes two SHA-256 digests at once on one core.
//
// Each round of SHA-256 (FIPS 180-4, 6.2.2) depends on the one before, so that a
// processor with instructions for them waits for their results most of the time. The
// rounds of a second message fit in between. Where there are no such instructions, the
// digests are computed one after the other.
package sha256pair

import (
	"crypto/fips140"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"
)

// Write is a.Write(p) and b.Write(q). The hashes are two of [sha256.New], which may have
// got any number of bytes before.
func Write(a, b hash.Hash, p, q []byte) {
	// In FIPS 140 mode digests are to be those of the validated module.
	if k := bestKernel; k != kernelGo && min(len(p), len(q)) >= leastBlocks*sha256.BlockSize && !fips140.Enabled() {
		p, q = k.write(a, b, p, q)
	}
	a.Write(p)
	b.Write(q)
}

// kernel is a way to take blocks of two messages.
type kernel int

const (
	kernelGo kernel = iota // by the standard library
	kernelSHANI
	kernelAVX512 // and SHA-NI
)

// leastBlocks is how many blocks make up for taking the states out of the hashes and
// putting them back.
const leastBlocks = 64

// write takes from p and q the blocks that both have, and returns what is left of them.
func (k kernel) write(a, b hash.Hash, p, q []byte) (restP, restQ []byte) {
	var s, t State
	p, okP := s.Take(a, p)
	q, okQ := t.Take(b, q)
	blocks := min(len(p), len(q)) / sha256.BlockSize
	if !okP || !okQ || blocks == 0 {
		return p, q
	}
	k.blocks(&s.Words, &t.Words, p, q, blocks)
	n := blocks * sha256.BlockSize
	s.Put(a, n)
	t.Put(b, n)
	return p[n:], q[n:]
}

// State is that of a hash of [sha256.New] between two blocks, for whoever takes blocks in another way.
type State struct {
	Words   [8]uint32
	encoded [encodedSize]byte // as it was taken
}

// crypto/sha256 encodes a state as
//
//	"sha\x03" | 8 words | the block that has begun, of 64 bytes | length of the message
//
// with big-endian numbers.
const (
	magic       = "sha\x03"
	wordsAt     = len(magic)
	lengthAt    = wordsAt + sha256.Size + sha256.BlockSize
	encodedSize = lengthAt + 8
)

// Take writes to h what completes a block that has begun, as far as p goes, and takes the
// state. It returns what is left of p. It reports false where the state has another form.
func (s *State) Take(h hash.Hash, p []byte) (rest []byte, ok bool) {
	if !s.encode(h) {
		return p, false
	}
	if begun := int(s.length() % sha256.BlockSize); begun > 0 {
		n := min(sha256.BlockSize-begun, len(p))
		h.Write(p[:n])
		if p = p[n:]; !s.encode(h) {
			return p, false
		}
	}
	for i := range s.Words {
		s.Words[i] = binary.BigEndian.Uint32(s.encoded[wordsAt+4*i:])
	}
	return p, true
}

func (s *State) encode(h hash.Hash) bool {
	from, ok := h.(encoding.BinaryAppender)
	if !ok {
		return false
	}
	data, err := from.AppendBinary(s.encoded[:0])
	return err == nil && len(data) == encodedSize && string(data[:wordsAt]) == magic
}

// length is that of the message at the time when the state was taken, in bytes.
func (s *State) length() uint64 { return binary.BigEndian.Uint64(s.encoded[lengthAt:]) }

// Put gives the state to the hash from which it was taken, n bytes later.
func (s *State) Put(h hash.Hash, n int) {
	for i, w := range s.Words {
		binary.BigEndian.PutUint32(s.encoded[wordsAt+4*i:], w)
	}
	binary.BigEndian.PutUint64(s.encoded[lengthAt:], s.length()+uint64(n))
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(s.encoded[:]); err != nil {
		panic(err) // it is of the form that the hash gave
	}
}
