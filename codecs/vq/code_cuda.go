package vq

import (
	"context"
	"unsafe"

	"github.com/pelmill/pelmill/gpu"
)

// code brings the index tables to the host as they are, and where they are to be coded also coded.
func (b *batch) code(context.Context) error {
	if err := b.takeTables(); err != nil || b.options.raw {
		return err
	}
	symbols, err := b.ranks()
	if err != nil {
		return err
	}
	if coded, err := b.codeSegments(); err != nil || coded {
		return err
	}
	return b.takeSymbols(symbols)
}

// takeTables brings the index tables to the host.
func (b *batch) takeTables() error {
	parts := make([]gpu.Part, len(b.sets))
	for i, s := range b.sets {
		s.table = make([]uint16, s.m)
		parts[i] = gpu.Part{At: int(b.entries[i].Table - b.tables.Ptr), Bytes: gpu.Bytes(s.table)}
	}
	return b.staging.Download(parts, b.tables, b.tables.Size)
}

// ranks makes the symbols of the sets.
func (b *batch) ranks() (*gpu.Buffer, error) {
	if err := b.sides(); err != nil {
		return nil, err
	}
	var room gpu.Layout
	for i, s := range b.sets {
		b.entries[i].Symbols = gpu.Ptr(room.Take(4 * s.m))
	}
	symbols, err := b.stream.Zeros(room.Size)
	if err != nil {
		return nil, err
	}
	for i, s := range b.sets {
		e := &b.entries[i]
		e.Symbols += symbols.Ptr
		e.Rows, e.Cols, e.Step = uint32(s.grid.rows), uint32(s.grid.cols), uint32(s.grid.segmentRows())
		e.Shift = uint32(bestShift(s.book.n()))
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return nil, err
	}
	return symbols, launch(b.deviceSteps, "vq_ranks", b.extents(), &listParams{list.Ptr})
}

// takeSymbols brings the symbols to the host, which codes them.
func (b *batch) takeSymbols(symbols *gpu.Buffer) error {
	parts := make([]gpu.Part, len(b.sets))
	for i, s := range b.sets {
		s.symbols = make([]symbol, s.m)
		parts[i] = gpu.Part{At: int(b.entries[i].Symbols - symbols.Ptr), Bytes: gpu.Bytes(s.symbols)}
	}
	return b.staging.Download(parts, symbols, symbols.Size)
}

// streamRoom is how many bytes the stream of a segment may have: as many as its symbols, which
// is more than any but a made-up table needs, and what ends it.
func streamRoom(blocks int) int { return 4*blocks + 8 }

// codeSegments makes the streams of the segments of all sets. It reports whether all have
// had room.
func (b *batch) codeSegments() (bool, error) {
	var room gpu.Layout
	var list []deviceSegment
	parts, words := make([]gpu.Part, 1+len(b.sets)), 0
	streams := make([][]byte, len(b.sets))
	for i, s := range b.sets {
		words = max(words, codeWords(s.book.n()))
		bytes := 0
		for at := 0; at < s.m; at += s.grid.blocks() {
			for _, part := range s.grid.segments() {
				n := part.rows * s.grid.cols
				list = append(list, deviceSegment{
					Out: gpu.Ptr(room.Size + bytes), Room: uint32(streamRoom(n)),
					Symbols: b.entries[i].Symbols + gpu.Ptr(4*(at+part.first*s.grid.cols)), Blocks: uint32(n), Cols: uint32(s.grid.cols),
					N: uint32(s.book.n()), Contexts: uint32(codeContexts(s.book.n())),
				})
				bytes += streamRoom(n)
			}
		}
		streams[i] = make([]byte, bytes)
		parts[i] = gpu.Part{At: room.Take(bytes), Bytes: streams[i]}
	}
	lengths := make([]uint32, len(list))
	parts[len(b.sets)] = gpu.Part{At: room.Take(4 * len(list)), Bytes: gpu.Bytes(lengths)}
	out, err := b.stream.Zeros(room.Size)
	if err != nil {
		return false, err
	}
	for i := range list {
		list[i].Out += out.Ptr
	}
	p := &codeParams{Lengths: out.Ptr + gpu.Ptr(parts[len(b.sets)].At), Count: uint32(len(list)), Words: uint32(words)}
	if err := b.launchCode(p, list); err != nil {
		return false, err
	}
	if err := b.staging.Download(parts, out, room.Size); err != nil {
		return false, err
	}
	for i, length := range lengths {
		if length > list[i].Room {
			return false, nil
		}
	}
	next := 0
	for i, s := range b.sets {
		for stream := streams[i]; len(stream) > 0; next++ {
			n, end := lengths[next], list[next].Room
			s.coded, stream = append(s.coded, stream[:n:n]), stream[end:]
		}
	}
	return true, nil
}

// launchCode launches the index coder for the segments.
func (b *batch) launchCode(p *codeParams, list []deviceSegment) error {
	coder := extent{coders: min(len(list), 4*b.lane.Card().Multiprocessors), shared: int(unsafe.Sizeof(deviceCoder{}))}
	estimates, err := b.lane.Device(max(1, 4*int(p.Words)*coder.coders)) // books of one codeword need none
	if err != nil {
		return err
	}
	p.Estimates = estimates.Ptr
	segments, err := put(b.deviceSteps, list)
	if err != nil {
		return err
	}
	tables, err := put(b.deviceSteps, []deviceTables{coderTables})
	if err != nil {
		return err
	}
	p.List, p.Tables = segments.Ptr, tables.Ptr
	return launch(b.deviceSteps, "vq_code", []extent{coder}, p)
}
