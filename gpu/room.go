package gpu

// Follow lets what is put into the stream from now on wait for what the other stream
// holds so far.
func (s *Stream) Follow(other *Stream) error {
	e, err := s.lane.Event()
	if err != nil {
		return err
	}
	defer e.Free() // the wait is for the event as it is now
	if err := other.Record(e); err != nil {
		return err
	}
	return s.Wait(e)
}

// Put returns device memory of the lane that holds src, from this point of the stream on.
// It is for lists and tables of some KiB; [Staging] is faster for more.
func (s *Stream) Put(src []byte) (*Buffer, error) {
	b, err := s.lane.Device(max(1, len(src)))
	if err != nil {
		return nil, err
	}
	return b, s.Upload(b, 0, src)
}

// Zeros returns n bytes of device memory of the lane that are zero from this point of the
// stream on.
func (s *Stream) Zeros(n int) (*Buffer, error) {
	b, err := s.lane.Device(max(1, n))
	if err != nil {
		return nil, err
	}
	return b, s.Fill(b, 0, n, 0)
}

// Room makes *b hold at least n bytes: it stays where it does, and else another one takes
// its place, whose contents are undefined. A nil *b holds nothing. See [Buffer.Free] for
// when the memory of the old one may be used again.
func (l *Lane) Room(b **Buffer, n int) error {
	if *b != nil {
		if (*b).Size >= n {
			return nil
		}
		(*b).Free()
		*b = nil
	}
	var err error
	*b, err = l.Device(max(1, n))
	return err
}
