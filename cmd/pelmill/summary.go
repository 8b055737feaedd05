package main

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelmill/pelmill/internal/plain"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/raster"
)

// summary prints what a job has come to and what to do next: a table, or with
// --json the last event.
func (p *program) summary(r jobs.Report) error {
	if p.json {
		e := summaryEvent{
			Type: "summary", Job: r.Job, State: r.State, Reason: r.Reason, Counts: r.Counts, Attributes: r.Dropped, Saving: r.Counts.Saving(),
			InTarget: r.InTarget(), Left: r.Left, Known: r.Known, Why: nothingCompressed(r), Links: r.Links, Strict: r.Strict,
			PSNR: r.PSNR, SSIM: r.SSIM, Second: r.Second, Seconds: r.Seconds, Device: strings.Join(r.Devices, ", "),
			Report: place(r.Target, jobs.Folder(r.Job).Report()),
		}
		if r.FailedList != "" {
			e.FailedList = place(r.Target, r.FailedList)
		}
		return p.emit(e)
	}
	if p.quiet {
		return nil
	}
	options := r.Options
	if options != "" {
		options = " (" + options + ")"
	}
	fmt.Fprintln(p.stdout, plain.Line(fmt.Sprintf("%s: %s, %s%s", r.Job, r.State, r.Codec, options)))
	table := countRows(r.Counts)
	if r.Counts.Objects > 0 && r.State == jobs.StateDone && r.Left != nil {
		table = append(table, []string{"  target", completeness(r)})
	}
	switch {
	case r.PSNR == raster.Identical:
		table = append(table, []string{"  quality", "identical"})
	case r.PSNR > 0:
		table = append(table, []string{"  quality", fmt.Sprintf("PSNR %.2f dB, SSIM %.4f (means)", r.PSNR, r.SSIM)})
	}
	if s := r.Second; s.Of > 0 {
		table = append(table, []string{"  checked", fmt.Sprintf("by a second decoder too: %s of %s", countText(s.Checked), countText(s.Of))})
	}
	if r.Counts.Dropped > 0 {
		table = append(table, []string{"  dropped", droppedText(r.Counts.Dropped, r.Dropped)})
	}
	if r.Links > 0 {
		table = append(table, []string{"  links", linksText(r.Links)})
	}
	table = append(table, []string{"  time", timeText(r.Counts, r.Seconds, r.Devices)})
	table = append(table, []string{"  report", place(r.Target, jobs.Folder(r.Job).Report())})
	if r.FailedList != "" {
		table = append(table, []string{"  failures", place(r.Target, r.FailedList)})
	}
	if r.Reason != "" {
		table = append(table, []string{"  reason", r.Reason})
	}
	rows(p.stdout, table)
	if next := nextStep(r); next != "" {
		fmt.Fprintln(p.stdout, "next: "+plain.Line(next))
	}
	if why := nothingCompressed(r); why != "" {
		fmt.Fprintln(p.stdout, plain.Line(why))
	}
	return nil
}

// completeness says what of the source is in the target and what is not.
func completeness(r jobs.Report) string {
	in := r.InTarget()
	text := fmt.Sprintf("%s of %s in the target", countText(in), countText(r.Counts.Objects))
	if in == r.Counts.Objects {
		return text
	}
	text += fmt.Sprintf("; %s left out, see report --outcome %s", countText(r.Counts.Objects-in), strings.Join(leftOut(r), ","))
	if known := knownText(r.Known); known != "" {
		text += " (" + known + " known from before, --again judges anew)"
	}
	return text
}

// leftOut are the outcomes of objects that have nothing in the target.
func leftOut(r jobs.Report) (names []string) {
	for _, o := range jobs.Outcomes() {
		if r.Left[o] > 0 {
			names = append(names, string(o))
		}
	}
	return names
}

func knownText(known map[jobs.Outcome]int64) string {
	var list []string
	for _, o := range jobs.Outcomes() {
		if n := known[o]; n > 0 {
			list = append(list, countText(n)+" "+string(o))
		}
	}
	return strings.Join(list, ", ")
}

// whyLeft says of the outcomes of objects without a result what they mean.
var whyLeft = map[jobs.Outcome]string{
	jobs.OutcomeKept: "the results would have been larger", jobs.OutcomeUnsupported: "no pictures, or not for this codec",
	jobs.OutcomeRejected: "damaged or over a limit", jobs.OutcomeFailed: "see their errors",
}

// nothingCompressed says that a job which is done has brought nothing into the target
// and why; empty where that is not so.
func nothingCompressed(r jobs.Report) string {
	if r.State != jobs.StateDone || r.Left == nil || r.Counts.Objects == 0 || r.Counts.Compressed > 0 || r.InTarget() > 0 {
		return ""
	}
	var list []string
	for _, o := range jobs.Outcomes() {
		if n := r.Left[o]; n > 0 {
			list = append(list, fmt.Sprintf("%s %s (%s)", countText(n), o, whyLeft[o]))
		}
	}
	return fmt.Sprintf("nothing was compressed: %s; pelmill report --outcome %s %s %s", strings.Join(list, ", "),
		strings.Join(leftOut(r), ","), shellQuote(short(r.Target)), r.Job)
}

// countRows is what became of the objects; outcomes that did not occur are
// left out, except the first.
func countRows(c jobs.Counts) [][]string {
	table := [][]string{{"  objects", countText(c.Objects)}}
	for _, o := range []struct {
		outcome jobs.Outcome
		n       int64
		note    string
	}{
		{jobs.OutcomeCompressed, c.Compressed, ""},
		{jobs.OutcomeKept, c.Kept, "the result would have been larger"},
		{jobs.OutcomeSkipped, c.Skipped, "done before"},
		{jobs.OutcomeUnsupported, c.Unsupported, "not for this codec"},
		{jobs.OutcomeRejected, c.Rejected, "damaged or over a limit"},
		{jobs.OutcomeFailed, c.Failed, failedNote(c)},
	} {
		if o.n == 0 && o.outcome != jobs.OutcomeCompressed {
			continue
		}
		text := countText(o.n)
		if o.note != "" {
			text += " (" + o.note + ")"
		}
		table = append(table, []string{"  " + string(o.outcome), text})
	}
	if c.BytesIn > 0 {
		table = append(table, []string{"  size", fmt.Sprintf("%s to %s, saving %s; %s of samples",
			bytesText(c.BytesIn), bytesText(c.BytesOut), percent(c.Saving()), bytesText(c.BytesRaw))})
	}
	return table
}

// droppedText says what the files could not keep of n sources, by attribute.
func droppedText(n int64, attributes map[string]int64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		list = append(list, fmt.Sprintf("%s %s", name, countText(attributes[name])))
	}
	return fmt.Sprintf("the files cannot hold metadata of %s: %s", countText(n), strings.Join(list, ", "))
}

func failedNote(c jobs.Counts) string {
	if c.Mismatched > 0 {
		return countText(c.Mismatched) + " did not decode to their picture"
	}
	return ""
}

// timeText is how long it took, how fast it was and on what.
func timeText(c jobs.Counts, seconds float64, devices []string) string {
	s := secondsText(seconds)
	if worked := c.Objects - c.Skipped; worked > 0 && seconds > 0 {
		s += fmt.Sprintf(", %.1f objects/s, %s/s", float64(worked)/seconds, bytesText(int64(float64(c.BytesIn)/seconds)))
	}
	if len(devices) > 0 {
		slices.Sort(devices)
		s += " on " + strings.Join(slices.Compact(devices), ", ")
	}
	return s
}

// nextStep is the command that a user will want next, if there is one.
func nextStep(r jobs.Report) string {
	ref := shellQuote(short(r.Target)) + " " + r.Job
	switch {
	case r.State == jobs.StateFailed:
		return "pelmill report --failed " + ref + "; then compress again with --fail-ratio 1, or on a cluster pelmill resume --force " + ref
	case r.Counts.Bad() > 0:
		return "pelmill report --failed " + ref + "; then pelmill retry " + ref
	}
	return ""
}

// place is where an object is, for people: a path in a folder, else a URL.
func place(bucket, key string) string {
	u, err := url.Parse(bucket)
	if err != nil {
		return bucket + "/" + key
	}
	if u.Scheme == "file" {
		return strings.TrimSuffix(u.Path, "/") + "/" + key
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/" + key
	return u.String()
}

// short is a bucket for people: a path for a folder, else its URL.
func short(bucket string) string {
	if u, err := url.Parse(bucket); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return bucket
}

// shellQuote quotes s for a POSIX shell where it needs it. What cannot be printed
// is escaped in a $'...' string, which every byte can be copied from.
func shellQuote(s string) string {
	if plain.Line(s) != s {
		return "$'" + shellEscape(s) + "'"
	}
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellEscape renders s for a $'...' string, with three octal digits for each byte
// of what cannot be printed: the form that no following digit can lengthen.
func shellEscape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		_, n := utf8.DecodeRuneInString(s[i:])
		switch part := s[i : i+n]; {
		case part == "'" || part == `\`:
			out.WriteString(`\` + part)
		case plain.Line(part) == part:
			out.WriteString(part)
		default:
			for _, b := range []byte(part) {
				fmt.Fprintf(&out, `\%03o`, b)
			}
		}
		i += n
	}
	return out.String()
}
