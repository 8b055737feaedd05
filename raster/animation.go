package raster

import (
	"encoding/binary"
	"time"
)

// Animation says how the frames of an image follow each other, where a file says so: the pages of a TIFF
// file have none. The zero value says nothing.
type Animation struct {
	Delays []time.Duration // of each frame, of at most MaxDelay
	Plays  int             // how often it is shown, at most MaxPlays; 0: for ever
}

// What every format of animations can hold.
const (
	MaxDelay = 65535 * 10 * time.Millisecond // GIF89a specification, 23
	MaxPlays = 65535                         // RFC 9649, 2.7.1.1
)

// delayTolerance is how far a delay may be off that another format has rounded: GIF counts hundredths of
// a second.
const delayTolerance = 5 * time.Millisecond

// same reports whether b shows what a shows.
func (a Animation) same(b Animation) bool {
	if a.Plays != b.Plays || len(a.Delays) != len(b.Delays) {
		return false
	}
	for i, d := range a.Delays {
		if (d - b.Delays[i]).Abs() > delayTolerance {
			return false
		}
	}
	return true
}

// data are the plays and the delays in microseconds, as little-endian uint64; nil where nothing is said.
func (a Animation) data() []byte {
	if len(a.Delays) == 0 {
		return nil
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(a.Plays))
	for _, d := range a.Delays {
		data = binary.LittleEndian.AppendUint64(data, uint64(d.Microseconds()))
	}
	return data
}
