package gpu

import "slices"

// Spans calls f for the spans of at most size of n items, on all cores that are free.
// The method of that name of a pool of goroutines is one.
type Spans func(n, size int, f func(lo, hi int))

// Part is a piece of host memory, and its place in a buffer that it is copied to or from.
type Part struct {
	At    int // bytes
	Bytes []byte
}

// Staging copies between host memory and buffers of a lane through two pinned staging
// buffers, which is several times as fast as a copy of memory that is not pinned: while
// the device copies one of them, the host fills or empties the other one on all cores.
// All copies go through stream 0, as one engine does those of a direction one after the other
// anyway: streams of all lanes share the queues of a card, and one that waits for another one
// keeps a queue from others meanwhile. It belongs to one batch.
type Staging struct {
	Lane  *Lane
	Spans Spans

	pair [2]*Host
	busy [2]bool   // a copy from or to buffer i may still be under way
	over [2]*Event // behind that copy; nil: there was none yet
}

const (
	// A staging buffer has an eighth of the data, so that the first and the last copy of
	// the host, which nothing hides, are short, within these limits in bytes: starting a
	// copy and waiting for it takes about 20 microseconds, in which a link of 55 GB/s moves
	// 1 MiB, and copies of 16 MiB reach its full speed (BenchmarkCardLink on an H200).
	leastStaging = 4 << 20
	mostStaging  = 16 << 20

	spanBytes = 256 << 10 // that a goroutine copies at a time
)

// size is how much of n bytes goes through a staging buffer at a time. Those that are
// needed hold that much afterwards.
func (s *Staging) size(n int) (int, error) {
	size := min(n, max(leastStaging, min(mostStaging, n/8)))
	for i, h := range s.pair[:min(2, (n+size-1)/size)] {
		if h != nil && len(h.Bytes) >= size {
			continue
		}
		if h != nil {
			if err := s.rest(i); err != nil {
				return 0, err
			}
			h.Free()
			s.pair[i] = nil
		}
		var err error
		if s.pair[i], err = s.Lane.Host(size); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// copies has stream 0 copy from or to staging buffer i.
func (s *Staging) copies(i int, copy func(*Stream) error) error {
	if s.over[i] == nil {
		var err error
		if s.over[i], err = s.Lane.Event(); err != nil {
			return err
		}
	}
	stream := s.Lane.Stream(0)
	s.busy[i] = true
	if err := copy(stream); err != nil {
		return err
	}
	return stream.Record(s.over[i])
}

// rest waits until staging buffer i is not in use.
func (s *Staging) rest(i int) error {
	if !s.busy[i] {
		return nil
	}
	s.busy[i] = false
	return s.over[i].Sync()
}

// each calls f with what the parts, which ascend, have of bytes lo to hi-1 of a buffer,
// and with its place behind lo.
func (s *Staging) each(parts []Part, lo, hi int, f func(bytes []byte, at int)) {
	s.Spans(hi-lo, spanBytes, func(a, b int) {
		a, b = a+lo, b+lo
		i, _ := slices.BinarySearchFunc(parts, a, func(p Part, at int) int {
			if p.At+len(p.Bytes) <= at {
				return -1
			}
			return 1
		})
		for ; i < len(parts) && parts[i].At < b; i++ {
			p := parts[i]
			from, to := max(a, p.At), min(b, p.At+len(p.Bytes))
			f(p.Bytes[from-p.At:to-p.At], from-lo)
		}
	})
}

// Upload copies parts, which ascend and end within n bytes, to b. The bytes between them
// are undefined afterwards. What is put into stream 0 later finds the parts there. They may
// change as soon as Upload returns, unless all lie in memory of [Device.Host]: then they are
// copied from there, and stay as they are until the stream has come to rest.
func (s *Staging) Upload(b *Buffer, n int, parts []Part) error {
	if s.pinned(parts) {
		return s.Lane.Stream(0).UploadParts(b, parts)
	}
	if n == 0 {
		return nil
	}
	size, err := s.size(n)
	if err != nil {
		return err
	}
	for i := 0; i*size < n; i++ {
		if err := s.rest(i % 2); err != nil {
			return err
		}
		lo, hi, to := i*size, min(n, (i+1)*size), s.pair[i%2].Bytes
		s.each(parts, lo, hi, func(bytes []byte, at int) { copy(to[at:], bytes) })
		if err := s.copies(i%2, func(stream *Stream) error { return stream.Upload(b, lo, to[:hi-lo]) }); err != nil {
			return err
		}
	}
	return nil
}

// pinned says whether all parts lie in memory of [Device.Host].
func (s *Staging) pinned(parts []Part) bool {
	for _, p := range parts {
		if len(p.Bytes) > 0 && !s.Lane.Pinned(p.Bytes) {
			return false
		}
	}
	return true
}

// Download fills parts, which ascend and end within n bytes, from b, after all that
// stream 0 holds, and waits for them. It reads all n bytes of b: where no kernel writes
// those between the parts, a checker of uninitialised memory asks for a Fill before.
func (s *Staging) Download(parts []Part, b *Buffer, n int) error {
	if n == 0 {
		return nil
	}
	size, err := s.size(n)
	if err != nil {
		return err
	}
	pieces := (n + size - 1) / size
	for i := range pieces + 1 {
		if i < pieces {
			lo, hi := i*size, min(n, (i+1)*size)
			if err := s.copies(i%2, func(stream *Stream) error { return stream.Download(s.pair[i%2].Bytes[:hi-lo], b, lo) }); err != nil {
				return err
			}
		}
		if i == 0 {
			continue
		}
		if err := s.rest((i - 1) % 2); err != nil {
			return err
		}
		from := s.pair[(i-1)%2].Bytes
		s.each(parts, (i-1)*size, min(n, i*size), func(bytes []byte, at int) { copy(bytes, from[at:]) })
	}
	return nil
}

// joined is a and b as one, where b follows a in memory.
func joined(a, b []byte) ([]byte, bool) {
	n := len(a) + len(b)
	if cap(a) < n || len(b) == 0 || &a[:n][len(a)] != &b[0] {
		return nil, false
	}
	return a[:n], true
}

// eachCopy calls f for the parts, with those that lie one after the other on both sides as one.
func eachCopy(parts []Part, f func(p Part) error) error {
	for i := 0; i < len(parts); {
		p := parts[i]
		for i++; i < len(parts) && parts[i].At == p.At+len(p.Bytes); i++ {
			both, ok := joined(p.Bytes, parts[i].Bytes)
			if !ok {
				break
			}
			p.Bytes = both
		}
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}
