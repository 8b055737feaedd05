package worker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpeg2000"
	"github.com/pelmill/pelmill/internal/container/dicom"
	"github.com/pelmill/pelmill/jobs"
)

// A file that claims more frames than it has, or than there are numbers for, costs no memory for them: it is
// rejected, or left alone with a reason.
func TestDICOMClaimsFrames(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", jpeg2000.Codec{}, nil)
	encapsulated := []byte("\xe0\x7f\x10\x00OB\x00\x00\xff\xff\xff\xff" + "\xfe\xff\x00\xe0\x00\x00\x00\x00" + "\xfe\xff\x00\xe0\x42\x00\x00\x00\x01\x00\x00\x00\x40\x00\x00\x00")
	encapsulated = append(append(encapsulated, make([]byte, 58)...), "\xfe\xff\xdd\xe0\x00\x00\x00\x00"...)
	for _, frames := range []int{1 << 16, 1<<31 - 1, 1 << 31, 1 << 32, 1<<63 - 1} {
		i := mr(65535, 1)
		i.frames = frames
		j.put(fmt.Sprint("native ", frames), i.file())
		i.rows, i.pix = 65535, i.pix[:64]
		j.put(fmt.Sprint("large ", frames), i.file())
		i.samples, i.signed, i.photometric, i.pix = 3, 0, "RGB", nil
		rle := bytes.Replace(i.file(), []byte(dicom.ExplicitLittle+"\x00"), []byte("1.2.840.10008.1.2.5\x00"), 1)
		j.put(fmt.Sprint("rle ", frames), append(rle, encapsulated...))
		table := binary.LittleEndian.AppendUint32([]byte("\xe0\x7f\x01\x00OV\x00\x00"), 16)
		j.put(fmt.Sprint("table ", frames), append(append(append(rle, table...), make([]byte, 16)...), encapsulated...))
	}
	j.plan()
	j.compress(jpeg2000.Codec{})
	records := j.results()
	for key, r := range records {
		if r.Outcome != jobs.OutcomeRejected && r.Outcome != jobs.OutcomeUnsupported || r.Error == "" {
			t.Errorf("%s: %s %s", key, r.Outcome, r.Error)
		}
	}
	if len(records) != 20 {
		t.Errorf("%d records", len(records))
	}
}
