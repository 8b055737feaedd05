package worker

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/jobs"
)

// What the reader leaves out of an image stands in its record.
func TestRecordSaysWhatWasLeftOut(t *testing.T) {
	j := newJob(t, "mem://source", "mem://target", &fake{}, nil)
	whole := png(t, photo(1, 20, 20, 3))
	const signatureAndIHDR = 33
	control := append([]byte("acTL"), 0, 0, 0, 2, 0, 0, 0, 0)
	chunk := append(binary.BigEndian.AppendUint32(nil, 8), control...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(control))
	j.put("whole.png", whole)
	j.put("animated.png", append(append(append([]byte(nil), whole[:signatureAndIHDR]...), chunk...), whole[signatureAndIHDR:]...))
	j.plan()
	if err := j.chunk(j.worker(Options{}, &fake{}), 0); err != nil {
		t.Fatal(err)
	}
	got := j.results()
	if r := got["animated.png"]; r.Outcome != jobs.OutcomeCompressed || !strings.Contains(r.Note, "animation of 2 pictures") {
		t.Errorf("animation: %s, note %q", r.Outcome, r.Note)
	}
	if r := got["whole.png"]; r.Note != "" {
		t.Errorf("a whole picture has the note %q", r.Note)
	}
}
