package ht

// melReader decodes the events of the MEL stream (T.814, 7.3.3).
type melReader struct {
	in    []byte
	at    int
	bits  uint32 // of the byte before at
	count uint   // of them unread
	last  byte   // the byte before at
	state int
	zeros uint32 // events 0 to come
	one   bool   // followed by an event 1
}

func (m *melReader) bit() uint32 {
	if m.count == 0 {
		m.count = 8
		if m.last == 0xff {
			m.count = 7 // after ones
		}
		m.last = 0xff // behind the end
		if m.at < len(m.in) {
			m.last = m.in[m.at]
			m.at++
		}
		m.bits = uint32(m.last)
	}
	m.count--
	return m.bits >> m.count & 1
}

// zero says whether the next event is 0, which most are.
func (m *melReader) zero() bool {
	if m.zeros > 0 {
		m.zeros--
		return true
	}
	return !m.event()
}

// event decodes the next event.
func (m *melReader) event() bool {
	if m.zeros == 0 && !m.one {
		m.run()
	}
	if m.zeros > 0 {
		m.zeros--
		return false
	}
	m.one = false
	return true
}

// run decodes a run of events 0: as many as the state expects, or fewer and then an
// event 1.
func (m *melReader) run() {
	e := uint(melExponent[m.state])
	if m.bit() == 1 {
		m.zeros = 1 << e
		m.state = min(m.state+1, len(melExponent)-1)
		return
	}
	for ; e > 0; e-- {
		m.zeros = m.zeros<<1 | m.bit()
	}
	m.one = true
	m.state = max(m.state-1, 0)
}
