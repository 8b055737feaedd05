package dimse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Types of PDUs (PS3.8, 9.3).
const (
	pduAssociateRQ = 0x01
	pduAssociateAC = 0x02
	pduAssociateRJ = 0x03
	pduData        = 0x04
	pduReleaseRQ   = 0x05
	pduReleaseRP   = 0x06
	pduAbort       = 0x07
)

// Bounds of PDUs in bytes.
const (
	mostData      = 128 << 10 // of a P-DATA-TF, which peers are told
	mostAssociate = 1 << 20   // of an A-ASSOCIATE: 128 contexts with dozens of transfer syntaxes
	mostOther     = 1 << 10
	leastData     = 4 << 10 // that a peer must take
)

// errProtocol means that a peer does not keep to PS3.8. The association is aborted.
var errProtocol = errors.New("dimse: the peer does not keep to the protocol")

// readPDU reads a PDU into buf, which it may grow.
func readPDU(r io.Reader, buf []byte) (kind byte, body []byte, err error) {
	var head [6]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, buf, err
	}
	n, most := binary.BigEndian.Uint32(head[2:]), uint32(mostOther)
	switch head[0] {
	case pduData:
		most = mostData
	case pduAssociateRQ, pduAssociateAC:
		most = mostAssociate
	case pduAssociateRJ, pduReleaseRQ, pduReleaseRP, pduAbort:
	default:
		return 0, buf, fmt.Errorf("%w: PDU of type %#x", errProtocol, head[0])
	}
	if n > most {
		return 0, buf, fmt.Errorf("%w: PDU of %d bytes, more than %d", errProtocol, n, most)
	}
	if cap(buf) < int(n) {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err = io.ReadFull(r, buf)
	return head[0], buf, err
}

// writePDU writes a PDU at once.
func writePDU(w io.Writer, kind byte, body []byte) error {
	out := make([]byte, 0, 6+len(body))
	out = binary.BigEndian.AppendUint32(append(out, kind, 0), uint32(len(body)))
	_, err := w.Write(append(out, body...))
	return err
}

// pdv is a presentation data value (PS3.8, 9.3.5.1 and E.2): a fragment of a command or of a data set.
type pdv struct {
	context byte
	command bool
	last    bool
	data    []byte
}

// nextPDV takes a value from the body of a P-DATA-TF.
func nextPDV(body []byte) (v pdv, rest []byte, err error) {
	if len(body) < 6 {
		return v, nil, fmt.Errorf("%w: PDV of %d bytes", errProtocol, len(body))
	}
	n := binary.BigEndian.Uint32(body)
	if n < 2 || uint64(n) > uint64(len(body)-4) {
		return v, nil, fmt.Errorf("%w: PDV of %d bytes in %d", errProtocol, n, len(body)-4)
	}
	v = pdv{context: body[4], command: body[5]&1 != 0, last: body[5]&2 != 0, data: body[6 : 4+n]}
	return v, body[4+n:], nil
}

// appendPDV adds a value to the body of a P-DATA-TF.
func appendPDV(body []byte, v pdv) []byte {
	body = binary.BigEndian.AppendUint32(body, uint32(len(v.data)+2))
	flags := byte(0)
	if v.command {
		flags |= 1
	}
	if v.last {
		flags |= 2
	}
	return append(append(body, v.context, flags), v.data...)
}
