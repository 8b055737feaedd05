package neuquant

import (
	"context"
	"encoding/binary"

	"github.com/pelmill/pelmill/codecs/neuquant/internal/deflate"
	"github.com/pelmill/pelmill/gpu"
)

const (
	// mostStream bytes bound the time of a launch, since a stream is parsed by one warp.
	mostStream = 1 << 21

	// What one byte takes to parse, in nanoseconds: on a core, and on a device, on which all
	// streams of a batch are parsed at the same time.
	coreByte   = 36
	deviceByte = 250

	// batchBytes of streams take 13 times as much memory of a device (place).
	batchBytes = 1 << 28

	// freeSteps in chains, and one for each byte, are what a parse on a device may take: those
	// of a photograph need less, and where there are more strings alike, cores are sooner.
	freeSteps = 1 << 16
)

// worthParsing decides whether a device is sooner than the cores.
func (d *deviceSteps) worthParsing(list [][]byte, items []int) bool {
	all, longest := 0, 0
	for _, i := range items {
		all, longest = all+len(list[i]), max(longest, len(list[i]))
	}
	return d.parseAll || all/d.pool.Size()*coreByte > longest*deviceByte
}

// parse parses the rows of a batch's files together.
func (d *deviceSteps) parse(ctx context.Context, list [][]byte) []parsedRows {
	out := make([]parsedRows, len(list))
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
			b := &streamBatch{lane: l, staging: gpu.Staging{Lane: l, Spans: d.pool.Spans}}
			for _, i := range items {
				b.rows = append(b.rows, list[i])
			}
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			parsed, err := b.parse()
			for j, p := range parsed {
				out[items[j]].tokens = p
			}
			return err
		},
		CPU: func([]int) {}, // who makes the stream parses
		Failed: func(items []int, err error) {
			for _, i := range items {
				out[i] = parsedRows{err: err}
			}
		},
	})
	return out
}

// streamBatch is rows that a lane parses together.
type streamBatch struct {
	lane    *gpu.Lane
	staging gpu.Staging
	rows    [][]byte
	entry   []deviceStream // of each

	data, tables, keys, tokens, segments, counts *gpu.Buffer

	up                       []gpu.Part
	upBytes                  int
	tokenBytes, segmentBytes int
}

// parse returns the tokens of each stream; nil of those that a device is not to parse.
func (b *streamBatch) parse() ([]*deflate.Parsed, error) {
	if err := b.place(); err != nil {
		return nil, err
	}
	s := b.lane.Stream(0)
	// Zero is where tables begin, and what is read and not written.
	for _, buffer := range []*gpu.Buffer{b.data, b.tables, b.tokens, b.segments, b.counts} {
		if err := s.Fill(buffer, 0, buffer.Size, 0); err != nil {
			return nil, err
		}
	}
	list, err := s.Put(gpu.Bytes(b.entry))
	if err != nil {
		return nil, err
	}
	if err := b.staging.Upload(b.data, b.upBytes, b.up); err != nil {
		return nil, err
	}
	for _, kernel := range []string{"nq_look", "nq_parse"} {
		if err := gpu.LaunchFor(&streamKernels, s, kernel, b.entry, &listParams{list.Ptr}); err != nil {
			return nil, err
		}
	}
	return b.fetch()
}

// place takes memory.
func (b *streamBatch) place() error {
	var data, tables, keys, tokens, segments gpu.Layout
	b.entry = make([]deviceStream, len(b.rows))
	for i, rows := range b.rows {
		e, n := &b.entry[i], len(rows)
		e.N, e.Most, e.Steps = uint32(n), uint32(deflate.SegmentsOf(n)), uint32(n+freeSteps)
		at := data.Take(n + 8) // words are read whole
		e.Data = gpu.Ptr(at)
		b.up = append(b.up, gpu.Part{At: at, Bytes: rows})
		e.Tables = gpu.Ptr(tables.Take(hashTables))
		e.Near, e.Chained = gpu.Ptr(keys.Take(4*n)), gpu.Ptr(keys.Take(4*n))
		e.Tokens = gpu.Ptr(tokens.Take(4 * n))
		e.Segments = gpu.Ptr(segments.Take(segmentSize * int(e.Most)))
	}
	b.upBytes, b.tokenBytes, b.segmentBytes = data.Size, tokens.Size, segments.Size
	for _, r := range []struct {
		buffer **gpu.Buffer
		size   int
	}{
		{&b.data, data.Size}, {&b.tables, tables.Size}, {&b.keys, keys.Size},
		{&b.tokens, tokens.Size}, {&b.segments, segments.Size}, {&b.counts, 8 * len(b.rows)},
	} {
		if err := b.lane.Room(r.buffer, r.size); err != nil {
			return err
		}
	}
	for i := range b.entry {
		e := &b.entry[i]
		e.Data, e.Tables, e.Tokens, e.Segments = e.Data+b.data.Ptr, e.Tables+b.tables.Ptr, e.Tokens+b.tokens.Ptr, e.Segments+b.segments.Ptr
		e.Near, e.Chained = e.Near+b.keys.Ptr, e.Chained+b.keys.Ptr
		e.Counts = b.counts.Ptr + gpu.Ptr(8*i)
	}
	return nil
}

// fetch brings the tokens to the host.
func (b *streamBatch) fetch() ([]*deflate.Parsed, error) {
	counts := make([]byte, 8*len(b.rows))
	if err := b.staging.Download([]gpu.Part{{Bytes: counts}}, b.counts, len(counts)); err != nil {
		return nil, err
	}
	out := make([]*deflate.Parsed, len(b.rows))
	var tokens, segments []gpu.Part
	for i := range b.entry {
		e := &b.entry[i]
		n, of := binary.NativeEndian.Uint32(counts[8*i:]), binary.NativeEndian.Uint32(counts[8*i+4:])
		if n == 0 || n > e.N || of == 0 || of > e.Most {
			continue
		}
		p := &deflate.Parsed{Tokens: make([]uint32, n), Segments: make([]deflate.Segment, of)}
		tokens = append(tokens, gpu.Part{At: int(e.Tokens - b.tokens.Ptr), Bytes: gpu.Bytes(p.Tokens)})
		segments = append(segments, gpu.Part{At: int(e.Segments - b.segments.Ptr), Bytes: gpu.Bytes(p.Segments)})
		out[i] = p
	}
	if len(tokens) == 0 {
		return out, nil
	}
	if err := b.staging.Download(tokens, b.tokens, b.tokenBytes); err != nil {
		return nil, err
	}
	return out, b.staging.Download(segments, b.segments, b.segmentBytes)
}
