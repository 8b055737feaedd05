package worker

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"strings"
	"testing"

	"github.com/pelmill/pelmill/imageio"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
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

// The record of an animation says how its frames follow each other, and that of pages does not.
func TestRecordKeepsTheAnimation(t *testing.T) {
	var frames bytes.Buffer
	p := image.NewPaletted(image.Rect(0, 0, 4, 3), color.Palette{color.Black, color.White})
	q := image.NewPaletted(p.Rect, p.Palette)
	q.Pix[5] = 1
	if err := gif.EncodeAll(&frames, &gif.GIF{Image: []*image.Paletted{p, q}, Delay: []int{7, 12}, LoopCount: 2}); err != nil {
		t.Fatal(err)
	}
	pages := raster.New(4, 3, 2, 3, 8)
	pages.Frames = true
	tiff, err := imageio.Encode(pages, "tiff")
	if err != nil {
		t.Fatal(err)
	}
	j := newJob(t, "mem://source", "mem://target", &fake{}, func(s *jobs.Spec) { s.Options = "level=3" }) // takes frames
	j.put("frames.gif", frames.Bytes())
	j.put("pages.tiff", tiff)
	j.plan()
	if err := j.chunk(j.worker(Options{}, &fake{}), 0); err != nil {
		t.Fatal(err)
	}
	got := j.results()
	if a := got["frames.gif"].Animation; a == nil || a.Plays != 3 || !slices.Equal(a.Seconds, []float64{0.07, 0.12}) {
		t.Errorf("frames: %+v, %+v", got["frames.gif"], a)
	}
	if r := got["pages.tiff"]; r.Animation != nil || r.Depth != 2 {
		t.Errorf("pages: %+v", r)
	}
}
