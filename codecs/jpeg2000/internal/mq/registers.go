package mq

// Registers are what a [Decoder] holds, for loops in assembly that keep it in registers.
type Registers struct {
	A, C uint64 // as in the standard, at the place of Qe in a [State]
	T    int    // bits of C behind the 16 in front that come from the stream
	Data []byte // what is not read yet
	FF   bool   // the byte read last was 0xFF
}

// Registers returns what m holds.
func (m *Decoder) Registers() Registers {
	d := uint64(m.d)
	return Registers{m.a + d, m.c + d, m.t, m.data, m.ff}
}

// SetRegisters is the inverse of Registers.
func (m *Decoder) SetRegisters(r Registers) {
	d := min(r.C, r.A-half)
	*m = Decoder{int64(d), r.A - d, r.C - d, r.T, r.Data, r.FF}
}

// Following is the table of the states that follow on others: entry 2s for the MPS and 2s+1 for the LPS, where s is
// the low byte of a state.
func Following() *[512]State { return &next }
