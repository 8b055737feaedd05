package neuquant

import (
	"context"
	"crypto/subtle"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/gpu"
)

const (
	// mostStream bytes bound the time of a launch, since a stream is parsed by one block.
	mostStream = 1 << 21

	// What one byte takes, in nanoseconds: on a core to parse, and on a device to deflate, on
	// which all streams of a batch are parsed at the same time (BenchmarkCardDeflate, 64).
	coreByte   = 36
	deviceByte = 100

	// batchBytes of streams take 30 times as much memory of a device (place).
	batchBytes = 1 << 27

	// freeSteps, and one for so many bytes, are what a device may take to find where chunks
	// begin: those of a photograph need less, and where there are more long matches, cores are
	// sooner.
	freeSteps = 1 << 12
	stepBytes = 16
)

// worthParsing decides whether a device is sooner than the cores.
func (d *deviceSteps) worthParsing(list [][]byte, items []int) bool {
	all, longest := 0, 0
	for _, i := range items {
		all, longest = all+len(list[i]), max(longest, len(list[i]))
	}
	return d.parseAll || coresShared*all/d.pool.Size()*coreByte > longest*deviceByte
}

// deflate deflates the rows of a batch's files together.
func (d *deviceSteps) deflate(ctx context.Context, list [][]byte) []deflated {
	out := make([]deflated, len(list))
	var items []int
	for i, rows := range list {
		if len(rows) > 0 && len(rows) <= mostStream {
			items = append(items, i)
		}
	}
	if len(items) == 0 || !d.worthParsing(list, items) {
		return out
	}
	batches := gpu.Batching{Most: batchBytes}.Divide(items, func(i int) int { return len(list[i]) })
	d.device.Run(ctx, batches, gpu.Work{
		Device: func(l *gpu.Lane, items []int) error {
			b := &streamBatch{deviceSteps: d, lane: l, staging: gpu.Staging{Lane: l, Spans: d.pool.Spans}}
			for _, i := range items {
				b.rows = append(b.rows, list[i])
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			streams, err := b.deflate()
			if err != nil {
				return err // nothing stays of streams whose tokens are missing, when smaller batches follow
			}
			for j, l := range streams {
				if l != nil {
					out[items[j]] = deflated{data: l.Stream, laid: l}
				}
			}
			return nil
		},
		CPU: func([]int) {}, // who writes the file deflates
		Failed: func(items []int, err error) {
			for _, i := range items {
				out[i] = deflated{err: err}
			}
		},
	})
	return out
}

// streamBatch is rows that a lane deflates together.
type streamBatch struct {
	*deviceSteps
	lane    *gpu.Lane
	staging gpu.Staging
	rows    [][]byte
	entry   []deviceStream // of each

	data, hashes, keys, chunks, tokens, segments, counts, packed, codes *gpu.Buffer

	up                    []gpu.Part
	upBytes, segmentBytes int

	laid []*deflate.Laid // of each, without its tokens at first; nil where a device is not to parse the rows
}

// deflate returns the stream of each of the rows; nil of those that a device is not to parse.
func (b *streamBatch) deflate() ([]*deflate.Laid, error) {
	if err := b.parse(); err != nil {
		return nil, err
	}
	if err := b.lay(); err != nil {
		return nil, err
	}
	if err := b.pack(); err != nil {
		return nil, err
	}
	return b.laid, nil
}

// parse makes tokens of the rows.
func (b *streamBatch) parse() error {
	if err := b.place(); err != nil {
		return err
	}
	s := b.lane.Stream(0)
	// What is read and not written is zero.
	for _, buffer := range []*gpu.Buffer{b.data, b.segments, b.counts} {
		if err := s.Fill(buffer, 0, buffer.Size, 0); err != nil {
			return err
		}
	}
	list, err := s.Put(gpu.Bytes(b.entry))
	if err != nil {
		return err
	}
	if err := b.staging.Upload(b.data, b.upBytes, b.up); err != nil {
		return err
	}
	if err := b.mark(b.lane, "upload"); err != nil {
		return err
	}
	for _, kernel := range parseKernels {
		if err := gpu.LaunchFor(&streamKernels, s, kernel, b.entry, &listParams{list.Ptr}); err != nil {
			return err
		}
		if err := b.mark(b.lane, kernel); err != nil {
			return err
		}
	}
	return nil
}

// place takes memory.
func (b *streamBatch) place() error {
	var data, hashes, keys, chunks, tokens, segments gpu.Layout
	b.entry = make([]deviceStream, len(b.rows))
	for i, rows := range b.rows {
		e, n := &b.entry[i], len(rows)
		e.N, e.Most, e.Steps = uint32(n), uint32(deflate.SegmentsOf(n)), uint32(n/stepBytes+freeSteps)
		e.Room = uint32(n+7) &^ 7
		at := data.Take(n + 16) // words are read whole
		e.Data = gpu.Ptr(at)
		b.up = append(b.up, gpu.Part{At: at, Bytes: rows})
		e.Hashes = gpu.Ptr(hashes.Take(2 * hashesOfPlace * int(e.Room)))
		e.Places = gpu.Ptr(hashes.Take(2 * hashesOfPlace * int(e.Room)))
		e.Near, e.Chained, e.Longest = gpu.Ptr(keys.Take(4*n)), gpu.Ptr(keys.Take(4*n)), gpu.Ptr(keys.Take(4*n))
		e.Good = gpu.Ptr(chunks.Take(n/8 + 4))
		e.Chunks = gpu.Ptr(chunks.Take(chunkSize * (n/deflate.GoodMatch + 2)))
		e.Tokens = gpu.Ptr(tokens.Take(4 * n))
		e.Segments = gpu.Ptr(segments.Take(segmentSize * int(e.Most)))
	}
	b.upBytes, b.segmentBytes = data.Size, segments.Size
	for _, r := range []struct {
		buffer **gpu.Buffer
		size   int
	}{
		{&b.data, data.Size}, {&b.hashes, hashes.Size}, {&b.keys, keys.Size}, {&b.chunks, chunks.Size},
		{&b.tokens, tokens.Size}, {&b.segments, segments.Size}, {&b.counts, countsSize * len(b.rows)},
	} {
		if err := b.lane.Room(r.buffer, r.size); err != nil {
			return err
		}
	}
	for i := range b.entry {
		e := &b.entry[i]
		e.Data, e.Tokens, e.Segments = e.Data+b.data.Ptr, e.Tokens+b.tokens.Ptr, e.Segments+b.segments.Ptr
		e.Hashes, e.Places = e.Hashes+b.hashes.Ptr, e.Places+b.hashes.Ptr
		e.Near, e.Chained, e.Longest = e.Near+b.keys.Ptr, e.Chained+b.keys.Ptr, e.Longest+b.keys.Ptr
		e.Good, e.Chunks = e.Good+b.chunks.Ptr, e.Chunks+b.chunks.Ptr
		e.Counts = b.counts.Ptr + gpu.Ptr(countsSize*i)
	}
	return nil
}

// lay makes the streams but for their tokens.
func (b *streamBatch) lay() error {
	counts := make([]byte, countsSize*len(b.rows))
	if err := b.staging.Download([]gpu.Part{{Bytes: counts}}, b.counts, len(counts)); err != nil {
		return err
	}
	segments := make([][]deflate.Segment, len(b.rows))
	var down []gpu.Part
	for i := range b.entry {
		e := &b.entry[i]
		n, of := binary.NativeEndian.Uint32(counts[countsSize*i:]), binary.NativeEndian.Uint32(counts[countsSize*i+4:])
		if n == 0 || n > e.N || of == 0 || of > e.Most {
			continue
		}
		segments[i] = make([]deflate.Segment, of)
		down = append(down, gpu.Part{At: int(e.Segments - b.segments.Ptr), Bytes: gpu.Bytes(segments[i])})
	}
	if err := b.staging.Download(down, b.segments, b.segmentBytes); err != nil {
		return err
	}
	b.laid = make([]*deflate.Laid, len(b.rows))
	b.pool.Each(len(b.rows), func(i int) {
		list := segments[i]
		tokens := 0
		for j := range list {
			tokens += int(list[j].Tokens)
		}
		if tokens != int(binary.NativeEndian.Uint32(counts[countsSize*i:])) || tokens == 0 {
			return
		}
		e := encoders.Get().(*deflate.Encoder)
		defer encoders.Put(e)
		l := laidStreams.Get().(*deflate.Laid)
		if !e.Lay(l, b.rows[i], list) {
			laidStreams.Put(l)
			return
		}
		b.laid[i] = l
	})
	return b.mark(b.lane, "lay")
}

// pack writes the tokens of the streams.
func (b *streamBatch) pack() error {
	var words, blocks gpu.Layout
	var entry []devicePack
	var up, down []gpu.Part
	packed := make([][]byte, len(b.laid))
	for i, l := range b.laid {
		if l == nil {
			continue
		}
		n := (len(l.Stream) + 3) / 4
		packed[i] = codec.Uncleared(len(l.Stream))
		at := words.Take(4 * n)
		down = append(down, gpu.Part{At: at, Bytes: packed[i]})
		if len(l.Blocks) == 0 { // all are stored
			continue
		}
		list := gpu.Bytes(l.Blocks)
		first := blocks.Take(len(list))
		up = append(up, gpu.Part{At: first, Bytes: list})
		for j := range l.Blocks {
			entry = append(entry, devicePack{
				Tokens: b.entry[i].Tokens, Out: gpu.Ptr(at), Block: gpu.Ptr(first + j*len(list)/len(l.Blocks)), Words: uint32(n),
			})
		}
	}
	if len(entry) == 0 {
		return nil
	}
	s := b.lane.Stream(0)
	if err := b.lane.Room(&b.packed, words.Size); err != nil {
		return err
	}
	if err := b.lane.Room(&b.codes, blocks.Size); err != nil {
		return err
	}
	for i := range entry {
		e := &entry[i]
		e.Out, e.Block = e.Out+b.packed.Ptr, e.Block+b.codes.Ptr
	}
	if err := s.Fill(b.packed, 0, b.packed.Size, 0); err != nil {
		return err
	}
	list, err := s.Put(gpu.Bytes(entry))
	if err != nil {
		return err
	}
	if err := b.staging.Upload(b.codes, blocks.Size, up); err != nil {
		return err
	}
	if err := gpu.LaunchFor(&packKernels, s, "nq_pack", entry, &listParams{list.Ptr}); err != nil {
		return err
	}
	if err := b.mark(b.lane, "nq_pack"); err != nil {
		return err
	}
	if err := b.staging.Download(down, b.packed, words.Size); err != nil {
		return err
	}
	b.pool.Each(len(b.laid), func(i int) {
		if l := b.laid[i]; l != nil {
			subtle.XORBytes(l.Stream, l.Stream, packed[i]) // one of the two is 0 wherever the other is not
		}
	})
	return b.mark(b.lane, "download")
}
