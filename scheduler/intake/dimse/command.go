package dimse

import (
	"encoding/binary"
	"fmt"
)

// Elements of a command set, all of group 0000 (PS3.7, E).
const (
	cmdLength    = 0x0000
	cmdClass     = 0x0002 // Affected SOP Class UID
	cmdReqClass  = 0x0003 // Requested SOP Class UID
	cmdField     = 0x0100
	cmdID        = 0x0110
	cmdAnswers   = 0x0120 // Message ID Being Responded To
	cmdDataSet   = 0x0800 // Command Data Set Type
	cmdStatus    = 0x0900
	cmdInstance  = 0x1000 // Affected SOP Instance UID
	cmdReqInst   = 0x1001 // Requested SOP Instance UID
	cmdEventType = 0x1002
	cmdAction    = 0x1008
)

// Command fields.
const (
	cStore       = 0x0001
	cEcho        = 0x0030
	nEventReport = 0x0100
	nAction      = 0x0130
	cCancel      = 0x0FFF
	answer       = 0x8000 // of any of them
)

// noDataSet is the Command Data Set Type of a message without one.
const noDataSet = 0x0101

// Statuses (PS3.7, C; PS3.4, B.2.3).
const (
	statusOK           = 0x0000
	statusProcessing   = 0x0110
	statusNoSuchClass  = 0x0118
	statusNoAction     = 0x0123
	statusUnrecognized = 0x0211
	statusNoRoom       = 0xA700
	statusOther        = 0xA900
	statusUnreadable   = 0xC000
)

const (
	mostCommand  = 64 << 10 // bytes of a command set
	mostElements = 200
)

// command is a command set: values by element number.
type command map[uint16][]byte

// parseCommand reads a command set, which is in implicit VR little endian (PS3.7, 6.3.1).
func parseCommand(b []byte) (command, error) {
	c := command{}
	for len(b) > 0 {
		if len(b) < 8 || len(c) == mostElements {
			return nil, fmt.Errorf("%w: command set", errProtocol)
		}
		group, number, n := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint32(b[4:])
		if group != 0 || uint64(n) > uint64(len(b)-8) {
			return nil, fmt.Errorf("%w: element of group %04X with %d bytes in a command set", errProtocol, group, n)
		}
		c[number] = b[8 : 8+n]
		b = b[8+n:]
	}
	return c, nil
}

// short is a value of VR US; 0 where there is none.
func (c command) short(number uint16) uint16 {
	if v := c[number]; len(v) >= 2 {
		return binary.LittleEndian.Uint16(v)
	}
	return 0
}

func (c command) uid(number uint16) string { return uid(c[number]) }

func (c command) setShort(number, v uint16) { c[number] = binary.LittleEndian.AppendUint16(nil, v) }

func (c command) setUID(number uint16, text string) { c[number] = padded(text) }

func padded(text string) []byte {
	if len(text)%2 == 1 {
		text += "\x00"
	}
	return []byte(text)
}

// order is that of elements in a command set.
var order = []uint16{cmdClass, cmdReqClass, cmdField, cmdID, cmdAnswers, cmdDataSet, cmdStatus, cmdInstance, cmdReqInst, cmdEventType, cmdAction}

// bytes is the command set with its length.
func (c command) bytes() []byte {
	var b []byte
	for _, number := range order {
		if v, ok := c[number]; ok {
			b = appendCommand(b, number, v)
		}
	}
	return append(appendCommand(nil, cmdLength, binary.LittleEndian.AppendUint32(nil, uint32(len(b)))), b...)
}

func appendCommand(b []byte, number uint16, v []byte) []byte {
	b = binary.LittleEndian.AppendUint16(append(b, 0, 0), number)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
}

// answerTo is the start of an answer.
func answerTo(c command, status uint16) command {
	r := command{}
	r.setShort(cmdField, c.short(cmdField)|answer)
	r.setShort(cmdAnswers, c.short(cmdID))
	r.setShort(cmdDataSet, noDataSet)
	r.setShort(cmdStatus, status)
	for _, from := range [][2]uint16{{cmdClass, cmdClass}, {cmdReqClass, cmdClass}, {cmdInstance, cmdInstance}, {cmdReqInst, cmdInstance}} {
		if v, ok := c[from[0]]; ok && len(v) <= 64 {
			r[from[1]] = v
		}
	}
	return r
}
