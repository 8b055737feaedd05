package report

import (
	"fmt"

	"github.com/pelmill/pelmill/internal/quantity"
	"github.com/pelmill/pelmill/jobs"
)

// verdict is the answer to whether all went well.
type verdict struct {
	Level string // good, attention or bad
	Word  string // of the level
	Head  string
	Text  []string
}

// hows says what the ways of verification did.
var hows = map[string]string{
	"full":   "decoded on the CPU and compared with the source",
	"device": "decoded on the card and compared with the source",
	"off":    "not verified, as the job asked",
}

// verdict says first how many results were verified, and then what is missing.
func (v *view) verdict() verdict {
	r, c := &v.job.Report, v.job.Report.Counts
	checked := v.p.verified["full"] + v.p.verified["device"]
	all := checked + v.p.verified["off"]
	d := verdict{Level: "good", Word: "Good", Head: fmt.Sprintf("%s of %s verified", quantity.Count(checked), quantity.Plural(all, "result"))}
	lower := func(level, word string) {
		if d.Level != "bad" {
			d.Level, d.Word = level, word
		}
	}
	switch {
	case all == 0:
		d.Head = "No new results"
	case checked < all:
		lower("attention", "Attention")
	}
	v.how(&d, checked)
	if r.State != jobs.StateDone {
		lower("bad", "Not finished")
		text := "The job was cancelled before its end."
		if r.State == jobs.StateFailed {
			text = "The job stopped itself before its end."
		}
		if r.Reason != "" && !v.hashed {
			text += " " + line(r.Reason)
		}
		d.Text = append(d.Text, text)
	}
	if bad := c.Bad(); bad > 0 {
		lower("attention", "Attention")
		d.Text = append(d.Text, fmt.Sprintf("%s of %s failed or were rejected; their sources are untouched. They are listed below, and all of them in failed.jsonl.",
			quantity.Count(bad), quantity.Plural(c.Objects, "object")))
	}
	if c.Mismatched > 0 {
		lower("bad", "Not all well")
		d.Text = append(d.Text, quantity.Plural(c.Mismatched, "result")+" did not decode to the picture and so was not stored.")
	}
	if r.Left != nil && c.Objects > 0 {
		d.Text = append(d.Text, fmt.Sprintf("%s of %s have a result or a copy in the target.", quantity.Count(r.InTarget()), quantity.Plural(c.Objects, "object")))
	}
	if c.Dropped > 0 {
		d.Text = append(d.Text, quantity.Plural(c.Dropped, "result")+" could not keep all metadata of the source.")
	}
	return d
}

// how says what was done to verify.
func (v *view) how(d *verdict, checked int64) {
	for _, how := range []string{"full", "device"} {
		if n := v.p.verified[how]; n > 0 {
			d.Text = append(d.Text, quantity.Plural(n, "result")+" "+hows[how]+".")
		}
	}
	switch n := v.p.identical; {
	case checked > 0 && n >= checked:
		d.Text = append(d.Text, "Every one of them is the same as its source, sample by sample.")
	case v.p.lossy > 0 && v.job.Spec.MinPSNR > 0:
		d.Text = append(d.Text, fmt.Sprintf("Every one of them has a PSNR of %g dB or more.", v.job.Spec.MinPSNR))
	}
	if s := v.p.second; s.Of > 0 {
		d.Text = append(d.Text, fmt.Sprintf("A second decoder, of other authors, made the same picture of %s of %s.", quantity.Count(s.Checked), quantity.Plural(s.Of, "result")))
	}
	if n := v.p.verified["off"]; n > 0 {
		d.Text = append(d.Text, quantity.Plural(n, "result")+" "+hows["off"]+".")
	}
}
