package vq

import (
	"context"

	"github.com/pelmill/pelmill/gpu"
)

// putBooks brings the codebooks to the device, each once, and notes where.
func (b *batch) putBooks() error {
	var room gpu.Layout
	at := make(map[*codebook]int)
	for _, s := range b.sets {
		if _, ok := at[s.book]; !ok {
			at[s.book] = room.Take(len(s.book.words))
		}
	}
	all := make([]byte, room.Size)
	for book, at := range at {
		copy(all[at:], book.words)
	}
	words, err := b.stream.Put(all)
	if err != nil {
		return err
	}
	for i, s := range b.sets {
		b.entries[i].Words, b.entries[i].N = words.Ptr+gpu.Ptr(at[s.book]), uint32(s.book.n())
	}
	return nil
}

// assign gives every block its index, and drops the codewords of the images' own
// codebooks that no block chose.
func (b *batch) assign(context.Context) error {
	if err := b.search(); err != nil || b.options.books != nil {
		return err
	}
	counts, err := b.count()
	if err != nil {
		return err
	}
	return b.renumber(counts)
}

// search makes the index tables.
func (b *batch) search() (err error) {
	b.entries = make([]deviceIndex, len(b.sets))
	if err := b.putBooks(); err != nil {
		return err
	}
	var tables gpu.Layout
	for i, s := range b.sets {
		e := &b.entries[i]
		e.Table, e.M, e.Most = gpu.Ptr(tables.Take(2*s.m)), uint32(s.m), e.N
	}
	if b.tables, err = b.stream.Zeros(tables.Size); err != nil {
		return err
	}
	list := make([]deviceSearch, len(b.sets))
	for i, s := range b.sets {
		e := &b.entries[i]
		e.Table += b.tables.Ptr
		list[i] = deviceSearch{Table: e.Table, Blocks: b.at(s), Words: e.Words, M: e.M, N: e.N}
	}
	searches, err := b.putSearches(list)
	if err != nil {
		return err
	}
	return b.searchAll(b.options.block.k(), searches, b.extents(), maxCodewords)
}

// searches are the searches of a batch.
type searches struct {
	one  deviceSearch
	list *gpu.Buffer // nil: there is one
}

func (d *deviceSteps) putSearches(list []deviceSearch) (s searches, err error) {
	if len(list) == 1 {
		return searches{one: list[0]}, nil
	}
	s.list, err = put(d, list)
	return s, err
}

// searchAll runs searches for the nearest of at most most codewords of each.
func (d *deviceSteps) searchAll(k int, s searches, sizes []extent, most int) error {
	names := map[int]string{4: "vq_search_4", 8: "vq_search_8", 16: "vq_search_16", 64: "vq_search_64"}
	name, p := names[k], &searchParams{One: s.one, Most: uint32(most)}
	if s.list != nil {
		p.List = s.list.Ptr
	}
	if d.many(k, sizes) {
		// It is not worth while to ask the device whether a long search is needed.
		p.One.Rest = 0
	} else {
		name += "_few"
	}
	return launch(d, name, sizes, p)
}

// many says whether the kernels for many blocks serve: with two blocks of threads for each
// multiprocessor, of which not many threads are idle.
func (d *deviceSteps) many(k int, sizes []extent) bool {
	per := searchMany
	if k == maxBlock {
		per = searchMany64
	}
	blocks, filled := 0, 0
	for i := range sizes {
		n := sizes[i].blocks
		blocks, filled = blocks+n, filled+(n+per-1)/per*per
	}
	return blocks >= 2*per*d.lane.Card().Multiprocessors && filled <= blocks+blocks/8
}

// count is how many blocks of each set chose each of its codewords.
func (b *batch) count() ([][]uint32, error) {
	var room gpu.Layout
	for i := range b.entries {
		b.entries[i].Counts = gpu.Ptr(room.Take(int(4 * b.entries[i].N)))
	}
	counts, err := b.stream.Zeros(room.Size)
	if err != nil {
		return nil, err
	}
	for i := range b.entries {
		b.entries[i].Counts += counts.Ptr
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return nil, err
	}
	if err := launch(b.deviceSteps, "vq_count", b.extents(), &listParams{list.Ptr}); err != nil {
		return nil, err
	}
	all, err := b.download(counts, room.Size)
	if err != nil {
		return nil, err
	}
	out := make([][]uint32, len(b.sets))
	for i, e := range b.entries {
		out[i] = gpu.View[uint32](all[e.Counts-counts.Ptr:][:4*e.N])
	}
	return out, nil
}

// renumber drops the codewords of which the count is 0.
func (b *batch) renumber(counts [][]uint32) error {
	var room gpu.Layout
	at, to := make([]int, len(b.sets)), make([][]uint16, len(b.sets))
	for i, s := range b.sets {
		less, numbers := used(s.book, counts[i])
		if n := s.book.n(); less.n() < n {
			s.book, to[i], at[i] = less, numbers, room.Take(2*n)
		}
	}
	if room.Size == 0 {
		return nil
	}
	all := make([]byte, room.Size)
	for i, numbers := range to {
		copy(all[at[i]:], gpu.Bytes(numbers))
	}
	numbers, err := b.stream.Put(all)
	if err != nil {
		return err
	}
	for i := range to {
		if to[i] != nil {
			b.entries[i].To = numbers.Ptr + gpu.Ptr(at[i])
		}
	}
	list, err := put(b.deviceSteps, b.entries)
	if err != nil {
		return err
	}
	if err := launch(b.deviceSteps, "vq_renumber", b.extents(), &listParams{list.Ptr}); err != nil {
		return err
	}
	return b.putBooks()
}

// sides makes, once for each codebook, what the index coder has to know of neighbours.
func (b *batch) sides() error {
	var room gpu.Layout
	first := make(map[*codebook]int) // set with the codebook
	var sets []int
	for i, s := range b.sets {
		if _, ok := first[s.book]; ok {
			continue
		}
		first[s.book], sets = i, append(sets, i)
		n, e := s.book.n(), &b.entries[i]
		e.Up, e.Left, e.Spans = gpu.Ptr(room.Take(4*n*n)), gpu.Ptr(room.Take(4*n*n)), gpu.Ptr(room.Take(4*n))
	}
	side, err := b.lane.Device(room.Size)
	if err != nil {
		return err
	}
	all := b.extents()
	var own []deviceIndex
	var sizes []extent
	for _, i := range sets {
		e := &b.entries[i]
		e.Up, e.Left, e.Spans = e.Up+side.Ptr, e.Left+side.Ptr, e.Spans+side.Ptr
		e.P, e.Q = uint32(b.options.block.p), uint32(b.options.block.q)
		own, sizes = append(own, *e), append(sizes, all[i])
	}
	for i, s := range b.sets {
		e, from := &b.entries[i], &b.entries[first[s.book]]
		e.Up, e.Left, e.Spans = from.Up, from.Left, from.Spans
	}
	list, err := put(b.deviceSteps, own)
	if err != nil {
		return err
	}
	return launch(b.deviceSteps, "vq_sides", sizes, &listParams{list.Ptr})
}
