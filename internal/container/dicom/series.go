package dicom

import "github.com/pelmill/pelmill/internal/container"

// seriesInstance is Series Instance UID.
const seriesInstance Tag = 0x0020000e

// SeriesBytes is how much of the beginning of a file has, in nearly all of them, the
// elements up to Rows.
const SeriesBytes = 64 << 10

// SeriesUID reads the Series Instance UID of a native image of which data are the beginning,
// [SeriesBytes] or all. It is empty where there is none, and for what no volume is made of:
// a file without Rows, and one whose data set is compressed in part or deflated.
func SeriesUID(data []byte) (uid string, err error) {
	m, err := ReadMeta(data)
	if err != nil {
		return "", err
	}
	s, ok := SyntaxOf(m.Syntax)
	if !ok {
		s.Encoding = explicitLittle
	}
	if s.Deflated || s.Coding != Native {
		return "", nil
	}
	w := walker{data: data, enc: s.Encoding}
	for at := m.End; len(data)-at >= 12; {
		e, err := w.header(at, len(data))
		switch {
		case err != nil:
			return "", err
		case e.Tag == rows:
			return uid, nil
		case e.Tag > rows, e.Tag > seriesInstance && uid == "":
			return "", nil
		case e.Tag == seriesInstance && (e.Undefined || e.End > len(data)):
			return "", container.ErrCutShort
		case e.Tag == seriesInstance:
			uid = text(data[e.Value:e.End])
		}
		if at = e.End; e.Undefined || e.VR == "SQ" && e.End <= len(data) {
			if at, err = w.skip(&e, len(data)); err != nil {
				if uid != "" && len(data) >= SeriesBytes {
					break // the sequence goes on behind data
				}
				return "", err
			}
		}
	}
	if len(data) < SeriesBytes {
		return "", nil // it is all of the file
	}
	return uid, nil
}
