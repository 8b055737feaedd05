package worker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
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
		if r.SHA256 != sumOf(data) {
			t.Errorf("%s: SHA-256 %q of the source, want %s", key, r.SHA256, sumOf(data))
		}
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

// faultySource is a codec on a machine that flips a bit of some of what it makes and restores, another one each time.
type faultySource struct {
	jpegxl.Codec
	flipsMade, flipsBack func(call int64) bool // calls from 1; nil: none
	made, back           atomic.Int64
}

func (f *faultySource) Encode(ctx context.Context, run codec.Run, items []codec.Item, opts codec.Options) []codec.Encoded {
	out := f.Codec.Encode(ctx, run, items, opts)
	if n := f.made.Add(1); f.flipsMade != nil && f.flipsMade(n) {
		data := out[0].Data
		data[len(data)-8*int(n)] ^= 1 // the last hundred bytes hold nothing that restoring ignores
	}
	return out
}

func (f *faultySource) Restore(ctx context.Context, run codec.Run, files [][]byte) []codec.Encoded {
	out := f.Codec.Restore(ctx, run, files)
	if n := f.back.Add(1); f.flipsBack != nil && f.flipsBack(n) && out[0].Err == nil {
		out[0].Data[len(out[0].Data)/2] ^= 1
	}
	return out
}

// A bit that flips in a result, or while its source is restored, is a failure of the attempt and no verdict on the source:
// another attempt ends well, and what fails in each of them can be retried.
func TestFlippedBitsAreNoVerdictOnASource(t *testing.T) {
	source, err := os.ReadFile("../imageio/testdata/good/progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	once := func(call int64) bool { return call == 1 }
	always := func(int64) bool { return true }
	for _, test := range []struct {
		name     string
		codec    *faultySource
		outcome  jobs.Outcome
		attempts int
	}{
		{"in a result", &faultySource{flipsMade: once}, jobs.OutcomeCompressed, 2},
		{"in each result", &faultySource{flipsMade: always}, jobs.OutcomeFailed, maxAttempts},
		{"in a source that is restored", &faultySource{flipsBack: once}, jobs.OutcomeCompressed, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := newJob(t, "mem://source", "mem://target", test.codec, nil)
			j.put("sound.jpg", source)
			j.plan()
			j.compress(test.codec)
			r := j.results()["sound.jpg"]
			if r.Outcome != test.outcome || r.Attempts != test.attempts || r.Verdict != "" {
				t.Errorf("%s after %d attempts, verdict %q (%s); want %s after %d and no verdict", r.Outcome, r.Attempts, r.Verdict, r.Error, test.outcome, test.attempts)
			}
			if r.Outcome == jobs.OutcomeFailed && r.Class != class.Verify {
				t.Errorf("class %q, want %q", r.Class, class.Verify)
			}
		})
	}
}
