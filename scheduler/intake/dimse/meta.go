package dimse

import "encoding/binary"

// fileMeta is what stands before a data set in a file (PS3.10, 7.1). It says nothing of the association, so that the same
// instance makes the same file whoever sends it.
func fileMeta(class, instance, syntax string) []byte {
	var b []byte
	long := func(number uint16, vr string, v []byte) {
		b = binary.LittleEndian.AppendUint16(append(b, 2, 0), number)
		b = append(append(b, vr...), 0, 0)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	short := func(number uint16, vr string, v []byte) {
		b = binary.LittleEndian.AppendUint16(append(b, 2, 0), number)
		b = binary.LittleEndian.AppendUint16(append(b, vr...), uint16(len(v)))
		b = append(b, v...)
	}
	version := ImplementationVersion
	if len(version)%2 == 1 {
		version += " "
	}
	long(1, "OB", []byte{0, 1})
	short(2, "UI", padded(class))
	short(3, "UI", padded(instance))
	short(0x10, "UI", padded(syntax))
	short(0x12, "UI", padded(ImplementationClass))
	short(0x13, "SH", []byte(version))
	group := b
	b = append(make([]byte, 128), "DICM"...)
	short(0, "UL", binary.LittleEndian.AppendUint32(nil, uint32(len(group))))
	return append(b, group...)
}
