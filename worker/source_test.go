package worker

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
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
	damaged := map[string][]byte{
		"sound.jpg": source,
		"loses.jpg": flipped(1944), // other bytes come back
		"fails.jpg": flipped(2388), // none do
	}
	// Whatever is damaged: what is kept comes back to the last byte, and the rest has no result.
	for bit := 0; bit < 8*len(source); bit += 29 {
		damaged[fmt.Sprintf("flips/%05d.jpg", bit)] = flipped(bit)
	}
	for key, data := range damaged {
		j.put(key, data)
	}
	j.plan()
	j.compress(jpegxl.Codec{})
	records, kept := j.results(), 0
	for key, data := range damaged {
		r := records[key]
		if r.Outcome != jobs.OutcomeCompressed {
			if r.Target != "" || r.Outcome != jobs.OutcomeUnsupported && r.Outcome != jobs.OutcomeRejected && r.Outcome != jobs.OutcomeKept {
				t.Errorf("%s: %s, %q in the target: %s", key, r.Outcome, r.Target, r.Error)
			}
			continue
		}
		kept++
		file, err := j.target.ReadAll(j.ctx, r.Target)
		if err != nil {
			t.Fatal(err)
		}
		if back := (jpegxl.Codec{}).Restore(j.ctx, codec.Run{}, [][]byte{file}); !bytes.Equal(back[0].Data, data) {
			t.Errorf("%s: other bytes come back from what was kept (%v)", key, back[0].Err)
		}
	}
	if kept < len(damaged)/10 {
		t.Errorf("%d of %d sources were kept", kept, len(damaged))
	}
	for _, key := range []string{"sound.jpg", "loses.jpg", "fails.jpg"} {
		r := records[key]
		sound := key == "sound.jpg"
		if sound && (r.Outcome != jobs.OutcomeCompressed || r.Exact != "jpeg" || r.Verified != "full") ||
			!sound && (r.Outcome != jobs.OutcomeUnsupported || r.Class != class.Image || r.Target != "" || !strings.Contains(r.Error, "come back")) {
			t.Errorf("%s: %s %s, %q, exact %q", key, r.Outcome, r.Class, r.Error, r.Exact)
		}
	}
}
