package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pelmill/pelmill/jobs"
)

func (p *program) plan() *cobra.Command {
	cmd := p.jobVerb("plan DST [JOB] | JOB", "Show what a job is going to do",
		"Show what a job is going to do: how many objects, what is done already, and the\nexpected saving and time, from compressing a sample.",
		func(cmd *cobra.Command, c *cluster, r ref) error {
			s, err := c.jobs.Status(cmd.Context(), r.target, r.id)
			if err != nil {
				return err
			}
			if !planned(s.State.State) {
				return fmt.Errorf("job %s has no plan yet, it is %s", r.id, s.State.State)
			}
			plan, err := c.jobs.Plan(cmd.Context(), r.target, r.id)
			if err != nil {
				return err
			}
			return p.showPlan(s.Spec, plan, false)
		})
	p.pricesFlag(cmd.Flags())
	return cmd
}

// showPlan prints a plan on stdout.
func (p *program) showPlan(s jobs.Spec, plan jobs.Plan, dry bool) error {
	e := newPlanEvent(s, plan)
	e.DryRun = dry
	if plan.Expect != nil && p.prices != nil {
		c := plan.Expect.Cost(*p.prices)
		e.Cost = &c
	}
	if p.json {
		return p.emit(e)
	}
	table := [][]string{
		{"source", short(s.Source)},
		{"target", short(s.Target)},
		{"codec", strings.TrimSpace(s.Codec+" "+s.Options) + floorOf(s)},
		{"objects", fmt.Sprintf("%s, %s", countText(plan.Objects), bytesText(plan.Bytes))},
	}
	if plan.Filtered > 0 {
		table = append(table, []string{"filtered", countText(plan.Filtered) + " left out"})
	}
	if plan.Links > 0 {
		table = append(table, []string{"links", linksText(plan.Links)})
	}
	if plan.Skipped > 0 {
		text := fmt.Sprintf("%s, %s", countText(plan.Skipped), bytesText(plan.SkippedBytes))
		if known := knownText(plan.Known); known != "" {
			text += "; of these " + known + ", as found before"
		}
		table = append(table, []string{"done before", text})
	}
	table = append(table, []string{"to do", fmt.Sprintf("%s, %s, in %s",
		countText(plan.Objects-plan.Skipped), bytesText(plan.Bytes-plan.SkippedBytes), plural(int64(len(plan.Chunks)), "chunk"))})
	if plan.Collisions > 0 {
		table = append(table, []string{"names", countText(plan.Collisions) + " keep their extension in the target, because others share their name"})
	}
	if plan.Unfit > 0 {
		table = append(table, []string{"no name", countText(plan.Unfit) + " will fail, because the target can hold no result under their name"})
	}
	if text := estimateText(plan.Estimate); text != "" {
		table = append(table, []string{"expected", text})
	}
	table = append(table, kindRows(plan.Estimate)...)
	table = append(table, expectRows(plan.Expect, p.prices)...)
	if dry {
		fmt.Fprintln(p.stdout, "dry run: nothing was written")
	}
	rows(p.stdout, table)
	return nil
}

// floorOf says what becomes of lossy results of low quality.
func floorOf(s jobs.Spec) string {
	if s.MinPSNR == 0 {
		return ""
	}
	return fmt.Sprintf("; results below %.4g dB are rejected", s.MinPSNR)
}

// showPlanOn shows a plan while progress is shown: in one line, or as an
// event.
func (p *program) showPlanOn(d *display, s jobs.Spec, plan jobs.Plan) error {
	if p.json {
		return p.emit(newPlanEvent(s, plan))
	}
	if p.quiet {
		return nil
	}
	text := fmt.Sprintf("job %s: %s, %s", plan.Job, plural(plan.Objects, "object"), bytesText(plan.Bytes))
	if plan.Skipped > 0 {
		text += fmt.Sprintf(", %s done before", countText(plan.Skipped))
	}
	if plan.Links > 0 {
		text += "; " + linksText(plan.Links)
	}
	if e := estimateText(plan.Estimate); e != "" {
		text += "; expected: " + e
	}
	d.say(text)
	for _, row := range kindRows(plan.Estimate) {
		d.say(strings.TrimSpace(row[0] + " " + row[1]))
	}
	return nil
}

// linksText says what became of symbolic links.
func linksText(n int64) string {
	return plural(n, "symbolic link") + " skipped (pelmill compress --copy-links follows them)"
}

// kindRows says what is expected of each kind of source, where each has a codec of its own.
func kindRows(e *jobs.Estimate) (table [][]string) {
	if e == nil {
		return nil
	}
	for _, k := range e.Kinds {
		name := map[string]string{"other": "other names", "nii": "NIfTI", "jpeg2000": "JPEG 2000", "webp": "WebP"}[k.Name]
		if name == "" {
			name = strings.ToUpper(k.Name)
		}
		text := fmt.Sprintf("%s, %s", plural(k.Objects, "object"), bytesText(k.Bytes))
		switch {
		case k.Sampled == 0:
			text += ", not in the sample"
		case k.Failed == k.Sampled:
			text += fmt.Sprintf(", no result for %s of the sample", countText(int64(k.Failed)))
		default:
			text += fmt.Sprintf(" to %s by %s", bytesText(k.BytesOut), strings.Join(k.Codecs, " and "))
			if k.Bytes > 0 {
				text += ", saving " + percent(1-float64(k.BytesOut)/float64(k.Bytes))
			}
			if k.Failed > 0 {
				text += fmt.Sprintf("; no result for %s of %s of the sample", countText(int64(k.Failed)), countText(int64(k.Sampled)))
			}
		}
		table = append(table, []string{"  " + name, text})
	}
	return table
}

func estimateText(e *jobs.Estimate) string {
	if e == nil || e.Objects == 0 {
		return ""
	}
	s := fmt.Sprintf("saving %s, %s on one core, from a sample of %s", percent(e.Saving), secondsText(e.CoreSeconds), countText(int64(e.Objects)))
	if e.Failed > 0 {
		s += fmt.Sprintf(" of which %s failed", countText(int64(e.Failed)))
	}
	return s
}
