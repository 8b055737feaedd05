package worker

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/jpegxl"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// A JPEG file that does not come back from what is made of it stays as it is, and is no fault of the job.
func TestSourcesThatDoNotComeBack(t *testing.T) {
	source, err := os.ReadFile("../imageio/testdata/good/progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(bit int) []byte {
		data := bytes.Clone(source)
		data[bit/8] ^= 1 << (bit % 8)
		return data
	}
	j := newJob(t, "mem://source", "mem://target", jpegxl.Codec{}, func(s *jobs.Spec) { s.Verify = "off" })
	j.put("sound.jpg", source)
	j.put("loses.jpg", flipped(1944)) // other bytes come back
	j.put("fails.jpg", flipped(2388)) // none do
	j.plan()
	j.compress(jpegxl.Codec{})
	for key, r := range j.results() {
		sound := key == "sound.jpg"
		if sound && (r.Outcome != jobs.OutcomeCompressed || r.Exact != "jpeg" || r.Verified != "full") ||
			!sound && (r.Outcome != jobs.OutcomeUnsupported || r.Class != class.Image || r.Target != "" || !strings.Contains(r.Error, "come back")) {
			t.Errorf("%s: %s %s, %q, exact %q", key, r.Outcome, r.Class, r.Error, r.Exact)
		}
	}
}
