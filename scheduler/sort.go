package scheduler

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// pair is one record of a sort. Its bytes belong to the stream that gave it and
// are valid until the next call.
type pair struct{ key, value []byte }

// stream gives pairs in key order; ok false ends it.
type stream interface {
	next() (p pair, ok bool, err error)
}

const (
	sortMemory = 32 << 20 // bytes that a sorter holds before it writes a run
	sortFanIn  = 64       // runs that are merged at once; each is an open file
)

// sorter sorts pairs by key in bounded memory, with runs in temporary files
// without names, so that a killed process leaves none.
// Equal keys stay in the order of add.
type sorter struct {
	memory int // 0: sortMemory
	arena  []byte
	index  []span
	runs   []*os.File
}

// span is where a pair lies in the arena: key, then value.
type span struct{ at, key, value int }

func (s *sorter) add(key, value []byte) error {
	limit := s.memory
	if limit == 0 {
		limit = sortMemory
	}
	if len(s.index) > 0 && len(s.arena)+len(key)+len(value)+24*len(s.index) > limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.index = append(s.index, span{len(s.arena), len(key), len(value)})
	s.arena = append(append(s.arena, key...), value...)
	return nil
}

func (s *sorter) pair(sp span) pair {
	mid := sp.at + sp.key
	return pair{s.arena[sp.at:mid:mid], s.arena[mid : mid+sp.value : mid+sp.value]}
}

func (s *sorter) order() {
	slices.SortStableFunc(s.index, func(a, b span) int { return bytes.Compare(s.pair(a).key, s.pair(b).key) })
}

// spill writes what is in memory as a run.
func (s *sorter) spill() error {
	s.order()
	if err := s.write(&inMemory{s: s}); err != nil {
		return err
	}
	s.arena, s.index = s.arena[:0], s.index[:0]
	if len(s.runs) < sortFanIn {
		return nil
	}
	old := s.runs
	s.runs = nil
	err := func() error {
		m, err := merged(files(old))
		if err != nil {
			return err
		}
		return s.write(m)
	}()
	for _, f := range old {
		err = errors.Join(err, f.Close())
	}
	return err
}

// write makes a run of a stream.
func (s *sorter) write(from stream) error {
	f, err := openTemp("sort")
	if err != nil {
		return fmt.Errorf("scheduler: sort: %w", temporary(err))
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, 256<<10)
	var head [2 * binary.MaxVarintLen64]byte
	for {
		p, ok, err := from.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		h := binary.AppendUvarint(head[:0], uint64(len(p.key)))
		h = binary.AppendUvarint(h, uint64(len(p.value)))
		w.Write(h)
		w.Write(p.key)
		w.Write(p.value)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("scheduler: sort: write a run: %w", temporary(err))
	}
	return nil
}

// sorted ends adding and gives the pairs in order, as often as it is called.
func (s *sorter) sorted() (stream, error) {
	if len(s.runs) > 0 && len(s.index) > 0 {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	if len(s.runs) == 0 {
		s.order()
		return &inMemory{s: s}, nil
	}
	s.arena, s.index = nil, nil
	return merged(files(s.runs))
}

// close removes the runs.
func (s *sorter) close() {
	for _, f := range s.runs {
		f.Close()
	}
	s.runs, s.arena, s.index = nil, nil, nil
}

// inMemory streams the ordered index.
type inMemory struct {
	s *sorter
	i int
}

func (m *inMemory) next() (pair, bool, error) {
	if m.i == len(m.s.index) {
		return pair{}, false, nil
	}
	m.i++
	return m.s.pair(m.s.index[m.i-1]), true, nil
}

// run streams one run file.
type run struct {
	r   *bufio.Reader
	buf []byte
}

func files(runs []*os.File) []stream {
	var out []stream
	for _, f := range runs {
		out = append(out, &run{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)})
	}
	return out
}

func (r *run) next() (pair, bool, error) {
	k, err := binary.ReadUvarint(r.r)
	if err == io.EOF {
		return pair{}, false, nil
	}
	v, err2 := binary.ReadUvarint(r.r)
	if err = errors.Join(err, err2); err == nil {
		r.buf = slices.Grow(r.buf[:0], int(k+v))[:k+v]
		_, err = io.ReadFull(r.r, r.buf)
	}
	if err != nil {
		return pair{}, false, fmt.Errorf("scheduler: sort: read a run: %w", err)
	}
	return pair{r.buf[:k:k], r.buf[k:]}, true, nil
}

// merger is a k-way merge; of equal keys the one of the earlier stream is first.
type merger struct {
	from  []stream
	heads []head
	last  int // stream whose head was given and is to be replaced; -1 at first
}

type head struct {
	pair
	from int
}

func merged(from []stream) (*merger, error) {
	m := &merger{from: from, last: -1}
	for i, s := range from {
		p, ok, err := s.next()
		if err != nil {
			return nil, err
		}
		if ok {
			m.heads = append(m.heads, head{p, i})
		}
	}
	heap.Init(m)
	return m, nil
}

func (m *merger) Len() int { return len(m.heads) }
func (m *merger) Less(i, j int) bool {
	if c := bytes.Compare(m.heads[i].key, m.heads[j].key); c != 0 {
		return c < 0
	}
	return m.heads[i].from < m.heads[j].from
}
func (m *merger) Swap(i, j int) { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }
func (m *merger) Push(x any)    { m.heads = append(m.heads, x.(head)) }
func (m *merger) Pop() any {
	x := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return x
}

func (m *merger) next() (pair, bool, error) {
	if m.last >= 0 {
		p, ok, err := m.from[m.last].next()
		if err != nil {
			return pair{}, false, err
		}
		if ok {
			m.heads[0].pair = p
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	if len(m.heads) == 0 {
		m.last = -1
		return pair{}, false, nil
	}
	m.last = m.heads[0].from
	return m.heads[0].pair, true, nil
}
