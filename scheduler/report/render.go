package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/internal/quantity"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// Job is what the page says beside the records.
type Job struct {
	Spec     jobs.Spec
	Report   jobs.Report
	HashKeys bool   // show hashes in place of keys
	Version  string // of the program that makes the page
}

//go:embed report.css
var style string

//go:embed report.html
var source string

var page = template.Must(template.New("report").Parse(source))

// Render gives the page.
func (p *Page) Render(job Job) ([]byte, error) {
	v := view{p: p, job: job, hashed: job.HashKeys || p.medical, Style: template.CSS(style)}
	v.fill()
	var out bytes.Buffer
	if err := page.Execute(&out, &v); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if out.Len() >= MaxBytes {
		return nil, fmt.Errorf("report: the page has %d bytes, want less than %d", out.Len(), MaxBytes)
	}
	return out.Bytes(), nil
}

// view is what the template shows.
type view struct {
	p      *Page
	job    Job
	hashed bool

	Style    template.CSS
	Title    string
	Verdict  verdict
	Facts    []row // of the job, at the top
	Figures  []row // the numbers that people want first
	Hashed   bool
	Outcomes []outcomeRow
	Verified []row
	Folders  []groupRow
	Types    []groupRow
	Charts   []chart
	Courses  []chart
	Stages   []stageRow
	Devices  []deviceRow
	Rankings []rankingView
	Reasons  []reasonRow
	Failures []failureRow
	Unlisted string // how many failures are not listed
	Files    []fileRow
	Unnamed  string // how many files are not listed
	Spec     []row
}

// row is a name and a value.
type row struct{ Name, Value string }

// widest is how many characters of a name or a value are shown.
const widest = 120

// name renders a key. hash is that of the key of a medical image.
func (v *view) name(key, hash string) string {
	if v.hashed {
		return cmp.Or(hash, Hashed(key))
	}
	return plain.Shorten(plain.Name(key), widest)
}

// Hashed is what stands for a key where keys are hashed that name no patient.
func Hashed(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

func line(s string) string { return plain.Shorten(plain.Line(s), 4*widest) }

func (v *view) fill() {
	r := &v.job.Report
	v.Title, v.Hashed = "pelmill report "+r.Job, v.hashed
	v.Verdict = v.verdict()
	v.facts()
	v.outcomes()
	v.groups()
	v.charts()
	v.work()
	v.rankings()
	v.reasons()
	for _, f := range v.p.files {
		v.Files = append(v.Files, fileRow{plain.Shorten(plain.Name(f.key), 80), quantity.Bytes(f.size), f.sum})
	}
	if v.p.moreFiles > 0 {
		v.Unnamed = quantity.Plural(int64(v.p.moreFiles), "more file")
	}
}

// facts are what the job was, and its most important numbers.
func (v *view) facts() {
	r, s := &v.job.Report, &v.job.Spec
	v.Facts = []row{{"Job", r.Job}, {"Source", line(r.Source)}, {"Target", line(r.Target)}, {"Codec", line(codecText(r))}}
	if !r.Started.IsZero() {
		v.Facts = append(v.Facts, row{"Started", clock(r.Started.UTC())})
	}
	v.Facts = append(v.Facts, row{"Finished", clock(r.Finished.UTC())})
	c := r.Counts
	v.Figures = []row{{"objects", quantity.Count(c.Objects)}}
	if c.BytesIn > 0 {
		v.Figures = append(v.Figures, row{"saved", quantity.Percent(c.Saving())},
			row{"from", quantity.Bytes(c.BytesIn)}, row{"to", quantity.Bytes(c.BytesOut)})
	}
	if r.Seconds > 0 {
		v.Figures = append(v.Figures, row{"time", quantity.Seconds(r.Seconds)})
		if worked := c.Objects - c.Skipped; worked > 0 {
			v.Figures = append(v.Figures, row{"objects a second", fmt.Sprintf("%.1f", float64(worked)/r.Seconds)},
				row{"of sources a second", quantity.Bytes(int64(float64(c.BytesAttempted) / r.Seconds))})
		}
	}
	v.spec(s)
}

func codecText(r *jobs.Report) string {
	text := fmt.Sprintf("%s, version %d", r.Codec, r.Version)
	if r.Options != "" {
		text += ", " + r.Options
	}
	return text
}

// spec is how the job was submitted, as far as it says something.
func (v *view) spec(s *jobs.Spec) {
	add := func(name, value string, said bool) {
		if said {
			v.Spec = append(v.Spec, row{name, line(value)})
		}
	}
	add("Verification", s.Verify, s.Verify != "")
	add("Floor of PSNR", fmt.Sprintf("%g dB", s.MinPSNR), s.MinPSNR > 0)
	add("Device", s.Device, s.Device != "")
	add("Where the result would be larger", s.Larger+" the source", s.Larger != "")
	add("Unsupported and rejected sources", s.Others, s.Others != "")
	add("Replaces what it finds in the target", "yes", s.Overwrite)
	add("Retries the failures of", s.Parent, s.Parent != "")
	add("Submitted", clock(s.Created.UTC()), !s.Created.IsZero())
	add("Version of pelmill", v.job.Version, v.job.Version != "")
}

type outcomeRow struct {
	Outcome, Count, Share, Meaning string
	Meter                          template.HTML
}

var outcomeMeanings = map[jobs.Outcome]string{
	jobs.OutcomeCompressed: "a result is in the target", jobs.OutcomeKept: "the result would have been larger than the source",
	jobs.OutcomeSkipped: "done before", jobs.OutcomeUnsupported: "no picture, or not for this codec",
	jobs.OutcomeRejected: "damaged or over a limit", jobs.OutcomeFailed: "failed after retries",
}

func (v *view) outcomes() {
	total := float64(max(v.job.Report.Counts.Objects, 1))
	for outcome, n := range v.job.Report.Counts.Outcomes() {
		if n > 0 || outcome == jobs.OutcomeCompressed {
			share := float64(n) / total
			v.Outcomes = append(v.Outcomes, outcomeRow{string(outcome), quantity.Count(n), quantity.Percent(share), outcomeMeanings[outcome], meter(share)})
		}
	}
	for _, how := range []string{"full", "device", "off"} {
		if n := v.p.verified[how]; n > 0 {
			v.Verified = append(v.Verified, row{hows[how], quantity.Count(n)})
		}
	}
	if n := v.p.identical; n > 0 {
		v.Verified = append(v.Verified, row{"of them the same as their source, sample by sample", quantity.Count(n)})
	}
	if s := v.p.second; s.Of > 0 {
		v.Verified = append(v.Verified, row{"of them decoded to the same picture by a second decoder, of other authors", quantity.Count(s.Checked) + " of " + quantity.Count(s.Of)})
	}
}

type groupRow struct {
	Name, Objects, In, Out, Saving string
	Meter                          template.HTML
}

func groupView(name string, g *group) groupRow {
	row := groupRow{Name: name, Objects: quantity.Count(g.objects), In: quantity.Bytes(g.in), Out: quantity.Bytes(g.out), Saving: "–", Meter: meter(0)}
	if g.in > 0 {
		saving := 1 - float64(g.out)/float64(g.in)
		row.Saving, row.Meter = quantity.Percent(saving), meter(saving)
	}
	return row
}

// groups shows the folders at the depth where there is more than one, unless keys are
// hashed, and the types.
func (v *view) groups() {
	at := &v.p.folders[0]
	for i := range v.p.folders {
		f := &v.p.folders[i]
		f.close()
		if at.count < 2 && f.count > at.count {
			at = f
		}
	}
	if !v.hashed {
		for _, g := range at.top {
			v.Folders = append(v.Folders, groupView(v.name(g.name, ""), &g))
		}
		if n := at.count - int64(len(at.top)); n > 0 {
			v.Folders = append(v.Folders, groupView(quantity.Plural(n, "more folder"), &at.rest))
		}
	}
	var types []group
	unread := group{name: "not read"}
	for name, g := range v.p.types {
		if g.name = name; v.hashed && strings.HasPrefix(name, ".") {
			unread.plus(*g) // the end of a key may be a part of a name
			continue
		}
		types = append(types, *g)
	}
	if unread.objects > 0 {
		types = append(types, unread)
	}
	slices.SortFunc(types, larger)
	var rest group
	for i := range types {
		if i < listed {
			v.Types = append(v.Types, groupView(plain.Shorten(plain.Name(types[i].name), 30), &types[i]))
			continue
		}
		rest.plus(types[i])
	}
	if n := int64(len(types) - listed); n > 0 {
		v.Types = append(v.Types, groupView(quantity.Plural(n, "more type"), &rest))
	}
}

func (v *view) charts() {
	p, floor := v.p, v.job.Spec.MinPSNR
	if p.ratio.n > 0 {
		v.Charts = append(v.Charts, distribution("Ratio of samples to result", &p.ratio, func(v float64) string { return fmt.Sprintf("%.3g", math.Exp2(v)) }, 0, "1"))
	}
	if p.psnr.n > 0 {
		name := ""
		if floor > 0 {
			name = fmt.Sprintf("floor %g dB", floor)
		}
		c := distribution("PSNR", &p.psnr, func(v float64) string { return fmt.Sprintf("%.1f dB", v) }, floor, name)
		if name != "" {
			c.Text += " The job's " + name + "; results below it were rejected."
		}
		if n := p.lossy - p.psnr.n; n > 0 {
			c.Text += " " + quantity.Plural(n, "result") + " without any loss not counted."
		}
		v.Charts = append(v.Charts, c)
	}
	if p.ssim.n > 0 {
		v.Charts = append(v.Charts, distribution("SSIM", &p.ssim, func(v float64) string { return fmt.Sprintf("%.3f", v) }, 0, ""))
	}
	if len(p.timeline.bins) > 0 {
		v.Courses = []chart{
			p.timeline.course("Objects a second", func(w work) float64 { return w.objects }, func(v float64) string { return fmt.Sprintf("%.1f objects/s", v) }),
			p.timeline.course("Bytes of sources a second", func(w work) float64 { return w.bytes }, func(v float64) string { return quantity.Bytes(int64(v)) + "/s" }),
		}
	}
}

type stageRow struct {
	Name, Seconds, Share, Each string
	Meter                      template.HTML
}

type deviceRow struct{ Name, Objects, In, Rate string }

// stageOrder is the order in which an object goes through the stages.
var stageOrder = []string{"fetch", "read", "encode", "verify", "store"}

func place(stage string) int {
	if i := slices.Index(stageOrder, stage); i >= 0 {
		return i
	}
	return len(stageOrder)
}

// work shows where the time went.
func (v *view) work() {
	var total float64
	for _, s := range v.p.stages {
		total += s
	}
	names := slices.SortedFunc(maps.Keys(v.p.stages), func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b)) })
	for _, name := range names {
		s := v.p.stages[name]
		share := s / max(total, 1e-9)
		v.Stages = append(v.Stages, stageRow{plain.Shorten(plain.Name(name), 30), quantity.Seconds(s), quantity.Percent(share),
			fmt.Sprintf("%.1f ms", 1000*s/float64(max(v.p.records, 1))), meter(share)})
	}
	for _, name := range slices.Sorted(maps.Keys(v.p.devices)) {
		d := v.p.devices[name]
		rate := "–"
		if d.seconds > 0 {
			rate = quantity.Bytes(int64(float64(d.raw)/d.seconds)) + "/s"
		}
		v.Devices = append(v.Devices, deviceRow{plain.Shorten(plain.Name(name), 60), quantity.Count(d.objects), quantity.Bytes(d.in), rate})
	}
}

type rankingView struct {
	Title string
	Rows  []rankingRow
	Lossy bool
}

type rankingRow struct{ Key, In, Out, Saving, PSNR, SSIM, Seconds string }

func (v *view) rankings() {
	lossy := v.p.lossy > 0
	for _, k := range []struct {
		title string
		list  []object
	}{
		{"Largest sources", v.p.largest.list}, {"Least saving", v.p.worst.list},
		{"Lowest PSNR", v.p.lowest.list}, {"Slowest", v.p.slowest.list},
	} {
		if len(k.list) == 0 {
			continue
		}
		r := rankingView{Title: k.title, Lossy: lossy}
		for _, o := range k.list {
			row := rankingRow{Key: v.name(o.key, o.hash), In: quantity.Bytes(o.size), Out: "–", Saving: "–", PSNR: "–", SSIM: "–", Seconds: quantity.Seconds(o.seconds)}
			if o.target > 0 && o.size > 0 {
				row.Out, row.Saving = quantity.Bytes(o.target), quantity.Percent(o.saving())
			}
			if identical(o.psnr) {
				row.PSNR, row.SSIM = "identical", "1"
			} else if o.psnr > 0 {
				row.PSNR, row.SSIM = fmt.Sprintf("%.2f dB", o.psnr), fmt.Sprintf("%.4f", o.ssim)
			}
			r.Rows = append(r.Rows, row)
		}
		v.Rankings = append(v.Rankings, r)
	}
}

type reasonRow struct{ Outcome, Class, Meaning, Objects, Bytes string }

type failureRow struct{ Key, Class, Text, Attempts string }

// failureBytes is how much of the page the list of failures may take.
const failureBytes = 80_000

// reasons shows why objects were not compressed, and the first of those that failed, as
// many of each class as fit.
func (v *view) reasons() {
	list := slices.SortedFunc(maps.Values(v.p.reasons), func(a, b *reason) int {
		return cmp.Or(cmp.Compare(b.objects, a.objects), strings.Compare(string(a.outcome), string(b.outcome)), strings.Compare(a.class, b.class))
	})
	var bad, shown int64
	for _, r := range list {
		name := plain.Shorten(plain.Name(cmp.Or(r.class, "–")), 30)
		v.Reasons = append(v.Reasons, reasonRow{string(r.outcome), name, class.Meaning(r.class), quantity.Count(r.objects), quantity.Bytes(r.bytes)})
		if r.bad() {
			bad += r.objects
		}
	}
	left := failureBytes
	for i := 0; i < failures && shown < failures && left > 0; i++ {
		for _, r := range list {
			if i >= len(r.first) || shown >= failures || left <= 0 {
				continue
			}
			f := r.first[i]
			row := failureRow{v.name(f.key, f.hash), plain.Shorten(plain.Name(r.class), 30), plain.Shorten(plain.Line(f.text), 2*widest), quantity.Count(int64(f.attempts))}
			if v.hashed {
				row.Text = class.Meaning(r.class) // the text may have the key
			}
			left -= len(template.HTMLEscapeString(row.Key)) + len(template.HTMLEscapeString(row.Text)) + 100
			v.Failures = append(v.Failures, row)
			shown++
		}
	}
	slices.SortStableFunc(v.Failures, func(a, b failureRow) int { return strings.Compare(a.Class, b.Class) })
	if bad > shown {
		v.Unlisted = quantity.Count(bad - shown)
	}
}

type fileRow struct{ Key, Size, Sum string }
